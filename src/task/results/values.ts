/**
 * Owns the values of a task's environment in relation to its files: which values also appear in the text of
 * its base and so are not secret, and which files of its work contain the others. Files that `--dirty` copies
 * from a checkout are in no commit of the user, so they do not count as base: a value in them is found as in
 * work.
 */
import {
  belowCheckout,
  contentsInWork,
  textsInCommit,
  textsInWork,
  toText,
  type Work,
} from "../../capsule/index.ts";
import { HoldfastError, type Values } from "../../contract/index.ts";
import { secretsIn, variableOf } from "../../redaction/index.ts";
import {
  type Environment,
  readEnvironment,
  SECRET_IN_WORK,
  type SessionState,
  writeEnvironment,
} from "../../session/index.ts";
import { readWithheld } from "../home/withheld.ts";
import type { Room } from "../room/room.ts";
import type { Unpublished } from "./publishing.ts";

const NAMED_PATHS = 5;
const REVIEW = "review it, then publish it with holdfast branch --reviewed";

/**
 * The values for the command. It decides which of them are secret, once, before any of them can be in a file.
 */
export async function valuesFor(
  room: Room,
  {
    request,
    env = [],
    base,
  }: { readonly request: string; readonly env?: readonly string[]; readonly base: string | null },
): Promise<Values> {
  if (env.length === 0) return {};
  const { sessionDir, io, repo } = room;
  const environment = requireValues(sessionDir, request, env);
  const { values, public: decided } = environment;
  if (decided) return values;
  const secrets = secretsIn(values);
  const known = await textsInCommit(
    repo,
    await belowCheckout(repo, base),
    secrets.map(({ value }) => value),
  );
  const names = secrets.filter(({ value }) => known.has(value)).map(({ name }) => name);
  await writeEnvironment(io.disk, sessionDir, request, { ...environment, public: names });
  return values;
}

/** A task that was given variables does not run without their values. */
export function requireValues(sessionDir: string, request: string, env: readonly string[]): Environment {
  const there = readEnvironment(sessionDir, request);
  const missing = env.find((name) => !Object.hasOwn(there?.values ?? {}, name));
  if (there && missing === undefined) return there;
  throw new HoldfastError(
    "env_missing",
    `the value of ${missing} is not stored any more, so this task can't be continued: send it again with the variable`,
    { name: missing },
  );
}

/** Why work that contains a value is not published; undefined when it contains none. */
export async function valuesInWork(
  { session, sessionDir, repo }: Room,
  store: Parameters<typeof textsInWork>[1],
  base: string | null,
  work: Work,
): Promise<Unpublished | undefined> {
  // Without a repo of the user, nothing is published.
  if (repo.isStandIn) return undefined;
  const { secrets } = session;
  const texts = [...new Set(secrets.map(({ value }) => value))];
  // A file of HOME that contains a value of an earlier task may have been copied into the work.
  const withheld = readWithheld(sessionDir);
  if (texts.length === 0 && withheld.size === 0) return undefined;
  const below = await belowCheckout(repo, base);
  const withTexts = await textsInWork(repo, store, below, work, texts);
  const copied = await contentsInWork(repo, store, below, work, new Set(withheld.keys()));
  const names = new Set([
    ...secrets.filter(({ value }) => withTexts.some(({ text }) => text === value)).map(({ name }) => name),
    ...copied.flatMap(({ id }) => withheld.get(id) ?? []).map(variableOf),
  ]);
  const paths = [...new Set([...withTexts, ...copied].map(({ path }) => toText(path)))];
  if (paths.length === 0) return undefined;
  const more = paths.length > NAMED_PATHS ? `, and ${paths.length - NAMED_PATHS} more` : "";
  const where = `${paths.slice(0, NAMED_PATHS).join(", ")}${more}`;
  return { code: SECRET_IN_WORK, reason: `the value of ${[...names].join(", ")} is in ${where}: ${REVIEW}` };
}

/**
 * The same for work that a task began with: its values are not known any more, but what was found in it is.
 */
export function valuesBefore({ task }: Pick<SessionState, "task">): Unpublished | undefined {
  if (!task?.isHeld) return undefined;
  const reason = `a value of an environment was found in this work, and no person has reviewed it: ${REVIEW}`;
  return { code: SECRET_IN_WORK, reason };
}
