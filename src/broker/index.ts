export { bringKeys } from "./bringing.ts";
export { BrokerConnection, type ModelAnswer } from "./connection.ts";
export { brokerEnvironment, keeperVariables } from "./environment.ts";
export { type KeyNote, keyNotes } from "./notes.ts";
export { findProvider, keyVariables } from "./providers.ts";
export { chargedFor } from "./target.ts";
export { readVariables } from "./variables.ts";
