export { type ContactCounts, Contacts, contactFields } from "./contacts.ts";
export { Gate, type RefusedHost } from "./gate.ts";
export { isLoopbackName, parseHost, patternFor, reaches } from "./hosts.ts";
export type { Resolver } from "./resolving.ts";
export { type Service, TaskNetwork, type TaskNetworkOptions } from "./task-network.ts";
