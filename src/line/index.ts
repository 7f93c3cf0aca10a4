export type { HomeLimits } from "./admission.ts";
export { admitWaiting, enterLine, type PlaceWish } from "./admit.ts";
export { readLimits, writeLimits } from "./limits.ts";
export { hasProcess, type Place, placePath, readPlace, withLine } from "./line.ts";
export { addPeak } from "./peaks.ts";
export { holdPlace, leavePlace, takePlace } from "./place.ts";
