export * from "./budget.ts";
export * from "./errors.ts";
export * from "./events.ts";
export * from "./ids.ts";
export * from "./names.ts";
export * from "./record.ts";
export * from "./task-spec.ts";
export * from "./variables.ts";
