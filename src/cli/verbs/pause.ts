import { transition } from "../transition.ts";

export const command = () =>
  transition(
    "pause",
    "Pause a session. Nothing of it is lost, and it costs no process.",
    "paused",
    async (dispatcher, id, options) => void (await dispatcher.pause(id, options)),
  );
