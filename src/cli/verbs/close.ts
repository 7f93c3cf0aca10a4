import { transition } from "../transition.ts";

export const command = () =>
  transition(
    "close",
    "Close a session that is done. resume opens it again.",
    "closed",
    (dispatcher, id, scope) => dispatcher.close(id, scope),
  );
