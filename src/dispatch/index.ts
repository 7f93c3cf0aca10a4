export { type Asked, Dispatcher, type SessionView } from "./dispatcher.ts";
export type { FollowOptions, Happening } from "./following.ts";
export { noTask } from "./output.ts";
export type { Queue } from "./queueing.ts";
export { type Standing, standings } from "./standing.ts";
export type { StopOptions } from "./stopping.ts";
export type { SubmitOptions } from "./submitting.ts";
export { Supervisor } from "./supervising.ts";
