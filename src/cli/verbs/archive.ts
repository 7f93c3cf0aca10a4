import { transition } from "../transition.ts";

const summary =
  "Check and compress a session that is closed or paused. It stays readable; resume opens it again. Caches in its HOME are given back.";

export const command = () =>
  transition("archive", summary, "archived", (dispatcher, id, options) => dispatcher.archive(id, options), {
    what: "archive it",
  });
