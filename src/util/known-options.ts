/**
 * Owns the refusal of unknown options: a misspelt option must not be ignored silently.
 */
import { HoldfastError } from "../contract/index.ts";

export function assertKnown(options: object, names: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new HoldfastError(
    "invalid_data",
    `${unknown}: there is no such option; the options are ${names.join(", ")}`,
  );
}
