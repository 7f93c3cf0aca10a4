export { type ActionState, beginUnasked, outcomeOf } from "./actions.ts";
export { externalTools } from "./external-tools.ts";
export type { ActingPlace } from "./place.ts";
