export * from "./clock.ts";
export * from "./disk.ts";
export * from "./printable.ts";
export * from "./sealed-json.ts";
