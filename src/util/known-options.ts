/**
 * Owns the refusal of options that there are none of: a word that is misspelt must not be passed over in silence.
 */
import { HoldfastError } from "../contract/index.ts";

export function assertKnown(options: object, names: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new HoldfastError(
    "invalid_data",
    `${unknown}: there is no such option; there are ${names.join(", ")}`,
  );
}
