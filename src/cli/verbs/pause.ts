import { transition } from "../transition.ts";

export const command = () =>
  transition(
    "pause",
    "Pause a session. Nothing of it is lost, and it costs no process.",
    "paused",
    (home, id, scope) => home.pauseSession(id, scope),
  );
