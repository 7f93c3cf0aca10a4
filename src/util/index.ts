export * from "./clock.ts";
export * from "./deferred-disk.ts";
export * from "./disk.ts";
export * from "./file-lock.ts";
export * from "./present.ts";
export * from "./printable.ts";
export * from "./process-identity.ts";
export * from "./sealed-json.ts";
