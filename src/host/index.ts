export { shellSocket } from "./presence.ts";
export { type ProcessRecord, readProcessRecord } from "./process-record.ts";
export { readRefusals } from "./refusals.ts";
export { readServeRecord, removeServeRecord, writeServeRecord } from "./serve-record.ts";
export { assertWhole } from "./specs.ts";
export { CutOutput, type Frame, logDir, readFrames, spoolPath } from "./spool.ts";
export { lastWords, startHost } from "./start.ts";
export { encodeKeys, encodeSize } from "./terminal-socket.ts";
