import { transition } from "../transition.ts";

export const command = () =>
  transition(
    "close",
    "Close a session that is done. resume opens it again.",
    "closed",
    async (dispatcher, id, options) => void (await dispatcher.close(id, options)),
  );
