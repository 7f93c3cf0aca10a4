/**
 * Owns the refusal of options that do not exist, so that a misspelled one is not ignored.
 */
import { HoldfastError } from "../contract/index.ts";

/** `method`: what the options are for, by the name that a caller knows. */
export function assertKnown(method: string, options: object, names: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) throw unknownOption(method, unknown, names);
}

export const unknownOption = (method: string, name: string, names: readonly string[]) =>
  new HoldfastError(
    "invalid_data",
    `${method}: there is no option ${name}; ${names.length > 0 ? `the options are ${names.join(", ")}` : "it has no options"}`,
    { option: name },
  );
