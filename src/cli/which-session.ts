/**
 * Owns how a person names a session on the command line, and how it is called back to them: by its name, where it has
 * one.
 */
import { HoldfastError } from "../contract/index.ts";
import type { Holdfast } from "../library/index.ts";
import { present } from "../util/index.ts";
import { type CommonOptions, scope } from "./verb.ts";

/** The help of every argument that is a session. */
export const SESSION_HELP = "its name, its id or the beginning of that, or @ for the last one of this repo";

export interface NamedSession {
  readonly id: string;
  /** What it is called in what is said of it. */
  readonly label: string;
}

export const labelOf = ({ id, name }: { readonly id: string; readonly name: string | null }) => name ?? id;

export async function sessionOf(
  holdfast: Holdfast,
  text: string,
  options: CommonOptions,
): Promise<NamedSession> {
  const { id, name } = await holdfast.resolveSession(text, {
    ...scope(options),
    ...present({ here: here() }),
  });
  return { id, label: labelOf({ id, name }) };
}

/** Undefined where the directory was removed under the person's feet. */
export function here(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

/** For what takes something away: which session is the last one may have changed since the person looked. */
export async function namedSessionOf(
  holdfast: Holdfast,
  text: string,
  options: CommonOptions,
): Promise<NamedSession> {
  if (text === "@")
    throw new HoldfastError("usage", "@ is not enough where something is taken away: name the session");
  return sessionOf(holdfast, text, options);
}
