export type { AcceptedConfig } from "./accepted-config.ts";
export {
  hasTool,
  type Lane,
  type LaneChoice,
  laneWithin,
  listLanes,
  resolveLane,
} from "./lanes.ts";
export {
  type ActingContext,
  type ActingGrant,
  type ActingTool,
  type CallContext,
  isActing,
  type PlainTool,
  type Prepared,
  type Tool,
  type ToolDescription,
  type ToolOutcome,
} from "./tool.ts";
export { accepting, declining, type Judged, judge, noTrust, pinning, readWord, type Trust } from "./trust.ts";
export { changeTrust, readTrust, type TrustPlace } from "./trust-store.ts";
export { acceptedPart, concerns, type Widening, wideningsOf } from "./widening.ts";
