export { CutOutput } from "./cut-output.ts";
export {
  type Frame,
  isOfCommand,
  type OutputStream,
  readFrames,
  readFramesOf,
  spoolPath,
} from "./frames.ts";
export type { StartedProcess } from "./handover.ts";
export { shellSocket } from "./presence.ts";
export { readRefusals } from "./refusals.ts";
export { readServeRecord, removeServeRecord, writeServeRecord } from "./serve-record.ts";
export { readProgress } from "./spooled-progress.ts";
export { lastWords, startHost } from "./start.ts";
export { encodeKeys, encodeSize, encodeText, type TypedText } from "./terminal-frames.ts";
export { TerminalModes } from "./terminal-modes.ts";
