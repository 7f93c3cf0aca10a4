/**
 * Owns asking for a task, in an existing session or as the first task of a new one. What the task begins with
 * is decided here. The values of its variables are in nothing that is written to the journal or an envelope.
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
  /** Which files of the checkout the task does not see, as far as that is known. */
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
    throw new HoldfastError("no_repo", "the session was imported without its repo, so it can't run a task");
  const request = { session: found.id, path, open: () => open(home, path), state };
  const settled = await settleSpec(home, withNames(spec, options.env), request, options);
  const submitted = await submitTask(home, found, settled.spec, options);
  return { ...submitted, unseen: settled.unseen };
}

/** Opens a new session with its first task. Without a repo, the task gets an empty capsule. */
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
    // By the name that the session will have.
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

/**
 * Takes the values out of its title and name here: these are recorded before the session has a directory,
 * from which the redactor could read the values.
 */
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

/** The form that is recorded: the names of its variables, each of which has a value. */
function withNames(spec: TaskSpec, env: Values = {}): TaskSpec {
  assertValues(env);
  const missing = spec.env?.find((name) => !Object.hasOwn(env, name));
  if (missing !== undefined)
    throw new HoldfastError("env_missing", `${missing} has no value`, { name: missing });
  const names = Object.keys(env);
  return parseTaskSpec({ ...spec, ...(names.length > 0 && { env: names }) });
}
