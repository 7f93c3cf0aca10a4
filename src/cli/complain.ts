/**
 * Owns the form in which the command reports a failure: one line on stderr, with a code and a way out.
 */
import { printable } from "../util/index.ts";

export function complain(code: string, message: string, wayOut: string): void {
  process.stderr.write(`holdfast: ${code}: ${printable(message)} (${printable(wayOut)})\n`);
}
