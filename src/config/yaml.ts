/**
 * Owns the parser of YAML, in a file of its own: it is loaded where there is something to parse.
 */
export { LineCounter, parseDocument } from "yaml";
