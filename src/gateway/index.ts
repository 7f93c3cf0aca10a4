export { builtinTools } from "./builtin/index.ts";
export type { ToolPlace } from "./builtin/place.ts";
export { TaskPlace } from "./builtin/task-place.ts";
export { Gate } from "./gate.ts";
export { readOffered } from "./offered.ts";
export type { BegunOutcome, GatePlace } from "./place.ts";
