import { transition } from "../transition.ts";

export const command = () =>
  transition(
    "close",
    "Close a session that is done. holdfast resume opens it again. Asks before it ends a running agent.",
    "closed",
    async (dispatcher, id, options) => void (await dispatcher.close(id, options)),
    { what: "close it", dropsQueue: true },
  );
