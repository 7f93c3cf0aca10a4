import { transition } from "../transition.ts";

export const command = () =>
  transition(
    "close",
    "Close a session that is done. resume opens it again.",
    "closed",
    (dispatcher, id, options) => dispatcher.close(id, options),
  );
