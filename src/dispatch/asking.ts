/**
 * Owns the asking for a task: in a session that is there, or as the first of a new one. What it begins with is settled
 * here, and its values are in nothing that is written.
 */
import { resolve } from "node:path";
import { noRepoDir, openRepo, type Repo, type Unseen } from "../capsule/index.ts";
import {
  assertValues,
  HoldfastError,
  parseTaskSpec,
  type SessionId,
  type TaskSpec,
  telemetryIn,
  type Values,
} from "../contract/index.ts";
import { asFailure, type FoundSession, type Home, type NewSession, repoPathOf } from "../home/index.ts";
import { redactingValues, shortened, withoutSecrets } from "../redaction/index.ts";
import { emptyState, inspectSession, secretsOf } from "../session/index.ts";
import { present } from "../util/index.ts";
import { type Settled, settleSpec } from "./settling.ts";
import { type SubmitOptions, type Submitted, submitFirstTask, submitTask } from "./submitting.ts";

/** A task that was asked for. */
export interface Asked extends Submitted {
  /** What it does not see of the checkout that it begins with, as far as that is known. */
  readonly unseen: () => Promise<Unseen | undefined>;
}

export interface AskedFirst extends Asked {
  readonly id: string;
  readonly name: string | null;
  readonly user: string;
}

/** Queues a task in a session, and starts its process or puts it in the line. */
export async function askTask(
  home: Home,
  found: FoundSession,
  spec: TaskSpec,
  options: SubmitOptions,
): Promise<Asked> {
  const { state } = await inspectSession(found.dir);
  const path = repoPathOf(home, state);
  if (path === null)
    throw new HoldfastError(
      "no_repo",
      "the session was imported without its repo, so no task can be run in it",
    );
  const request = { session: found.id, path, open: () => open(home, path), state };
  const settled = await settleSpec(home, withNames(spec, options.env), request, options);
  const submitted = await submitTask(home, found, settled.spec, options);
  return { ...submitted, unseen: settled.unseen };
}

/** A new session, with its first task; without a repo, in an empty capsule. */
export async function askFirstTask(
  home: Home,
  session: NewSession,
  spec: TaskSpec,
  options: SubmitOptions,
): Promise<AskedFirst> {
  const { repo } = session;
  const asked = withNames(spec, options.env);
  let unseen: Settled["unseen"] = async () => undefined;
  const describe = async (id: SessionId) => {
    const opened = await open(home, repo === undefined ? noRepoDir(home) : resolve(repo));
    // By the name that the session will know it by.
    const path = opened.checkout ?? opened.gitDir;
    const request = { session: id, path, open: async () => opened, state: emptyState };
    const settled = await settleSpec(home, asked, request, options);
    unseen = settled.unseen;
    const without = await withoutValues(home, session, options);
    return { session: { ...without, ...(repo !== undefined && { repo: path }) }, spec: settled.spec };
  };
  const { found, ...task } = await submitFirstTask(home, describe, asked.definition, options);
  return { ...task, id: found.id, user: found.user, unseen };
}

/** Its title and its name are on record before it has a directory, and so before its values lie anywhere. */
async function withoutValues(
  home: Home,
  { title, nameFrom, ...session }: NewSession,
  { env = {} }: SubmitOptions,
): Promise<NewSession> {
  const secrets = secretsOf({ values: env, ...present({ telemetry: telemetryIn(process.env) }) });
  const redact = redactingValues(home.io.redact, () => secrets);
  const without = async (text: string | undefined) =>
    text === undefined ? undefined : withoutSecrets(redact, shortened(text, text.length, secrets));
  return { ...session, ...present({ title: await without(title), nameFrom: await without(nameFrom) }) };
}

async function open(home: Home, path: string): Promise<Repo> {
  try {
    return await openRepo(home, path);
  } catch (error) {
    throw asFailure(error, home.dir);
  }
}

/** As it goes on record: with the names of its variables, all of which are given. */
function withNames(spec: TaskSpec, env: Values = {}): TaskSpec {
  assertValues(env);
  const missing = spec.env?.find((name) => !Object.hasOwn(env, name));
  if (missing !== undefined)
    throw new HoldfastError("env_missing", `${missing} has no value`, { name: missing });
  const names = Object.keys(env);
  return parseTaskSpec({ ...spec, ...(names.length > 0 && { env: names }) });
}
