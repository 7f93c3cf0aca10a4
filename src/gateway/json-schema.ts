/**
 * Owns the reader of JSON schemas. It is loaded with the first call of a tool. It has a file of its own,
 * because a bundle that imports a package at run time contains all of the package.
 */
export { fromJSONSchema } from "zod";
