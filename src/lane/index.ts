export type { AcceptedConfig } from "./accepted-config.ts";
export { type Lane, type LaneChoice, type LaneInForce, laneWithin, listLanes, resolveLane } from "./lanes.ts";
export { accepting, declining, type Judged, judge, noTrust, readWord, type Trust } from "./trust.ts";
export { changeTrust, readTrust, type TrustPlace } from "./trust-store.ts";
export { acceptedPart, concerns, type Widening, wideningsOf } from "./widening.ts";
