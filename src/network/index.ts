export { type ContactCounts, Contacts } from "./contacts.ts";
export type { Refusal } from "./gate.ts";
export { patternFor, reaches } from "./hosts.ts";
export { type Service, TaskNetwork, type TaskNetworkOptions } from "./task-network.ts";
