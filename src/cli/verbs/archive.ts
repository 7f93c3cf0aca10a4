import { transition } from "../transition.ts";

const summary =
  "Check and compress a session that is closed or paused. You can still read it, and holdfast resume opens it again. The caches in its HOME are deleted.";

export const command = () =>
  transition("archive", summary, "archived", (dispatcher, id, options) => dispatcher.archive(id, options), {
    what: "archive it",
  });
