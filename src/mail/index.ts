export {
  type Bell,
  hangBell,
  knock,
  type Listening,
  listen,
  type RingAnswer,
  ring,
  whenBellGone,
} from "./bell.ts";
export {
  assertMessageSize,
  decodeEnvelope,
  type Envelope,
  type EnvelopeOf,
  encodeEnvelope,
  MAX_MESSAGE_BYTES,
} from "./envelope.ts";
export {
  idOf,
  MAX_ENVELOPE_BYTES,
  MAX_WAITING,
  MAX_WAITING_FROM_SESSIONS,
  Maildir,
  maildirDirs,
  type Put,
} from "./maildir.ts";
export { findHomeRuntimeDir, makeHomeRuntimeDir, makeRuntimeDir, removeRuntimeDir } from "./runtime-dir.ts";
