/**
 * Owns how a person names a session on the command line, and how it is printed for them: by its name, if it
 * has one.
 */
import { HoldfastError } from "../contract/index.ts";
import { type Dispatcher, whenSessionLeft } from "../dispatch/index.ts";
import type { LocalHome } from "../library/index.ts";
import { present } from "../util/index.ts";
import { type CommonOptions, scope } from "./verb.ts";

/** The help of every argument that is a session. */
export const SESSION_HELP =
  "its name, its id, or the first characters of its id; @ is the last session of this repo";

export interface NamedSession {
  readonly id: string;
  /** How the session is called in messages. */
  readonly label: string;
}

export const labelOf = ({ id, name }: { readonly id: string; readonly name: string | null }) => name ?? id;

export async function sessionOf(
  holdfast: LocalHome,
  text: string,
  options: CommonOptions,
): Promise<NamedSession> {
  const { id, name } = await holdfast.resolveSession(text, {
    ...scope(options),
    ...present({ here: here() }),
  });
  return { id, label: labelOf({ id, name }) };
}

/**
 * For verbs that own the session while they work: right after its last task, its process is about to let go of
 * it.
 */
export async function leftSessionOf(
  { holdfast, home }: Dispatcher,
  text: string,
  options: CommonOptions,
): Promise<NamedSession> {
  const session = await sessionOf(holdfast, text, options);
  await whenSessionLeft(home, session.id, options.user);
  return session;
}

/** Undefined if the current directory was removed. */
export function here(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

/** For verbs that take something away: `@` may have changed its meaning since the person looked. */
export async function namedSessionOf(
  holdfast: LocalHome,
  text: string,
  options: CommonOptions,
): Promise<NamedSession> {
  if (text === "@")
    throw new HoldfastError(
      "usage",
      "@ is not accepted by a verb that removes something: give the session's name or id",
    );
  return sessionOf(holdfast, text, options);
}
