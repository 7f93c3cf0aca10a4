import { transition } from "../transition.ts";

export const command = () =>
  transition(
    "pause",
    "Pause a session: its processes end, and everything is kept. holdfast resume continues it.",
    "paused",
    async (dispatcher, id, options) => void (await dispatcher.pause(id, options)),
  );
