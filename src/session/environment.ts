/**
 * Owns `env/` in a session's directory: the values that a task was given in its environment, a file for each request. They
 * are there before the task is asked for, and go when it is over: until then a restart needs them, and so does whoever
 * writes down what the command said.
 *
 * R5 As long as a value lies there, it is taken out of whatever is written for the session, whoever writes it.
 */
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { assertValues, MAX_VALUES_BYTES, telemetrySecrets, type Values } from "../contract/index.ts";
import { type Secret, secretsIn } from "../redaction/index.ts";
import {
  ageMs,
  type Disk,
  environmentsDir,
  errorCode,
  isPlainObject,
  parseObject,
  readPlainFile,
  replaceFile,
} from "../util/index.ts";

export interface Environment {
  readonly values: Values;
  /** Those whose values are text of the task's base; undefined while that is not decided. */
  readonly public?: readonly string[];
  /** Where its trace is sent, and with which headers. The session process goes by it; no command of the task gets it. */
  readonly telemetry?: Values;
}

const SUFFIX = ".json";
/** Every byte of a value may be escaped. */
const MAX_FILE_BYTES = 7 * MAX_VALUES_BYTES;
/** Younger, it may be of a task that is on its way into the inbox. */
const YOUNG_MS = 60_000;

const environmentPath = (sessionDir: string, request: string) =>
  join(environmentsDir(sessionDir), `${request}${SUFFIX}`);

/** On disk when this returns. */
export async function writeEnvironment(
  disk: Disk,
  sessionDir: string,
  request: string,
  environment: Environment,
): Promise<void> {
  assertValues(environment.values);
  await disk.mkdir(environmentsDir(sessionDir)).then(
    () => disk.syncDir(sessionDir),
    (error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
    },
  );
  const bytes = Buffer.from(`${JSON.stringify(environment)}\n`);
  await replaceFile(disk, environmentPath(sessionDir, request), bytes);
}

/** Undefined when it is not there, or is none of ours. */
export function readEnvironment(sessionDir: string, request: string): Environment | undefined {
  return readAt(environmentPath(sessionDir, request));
}

function readAt(path: string): Environment | undefined {
  const value = parseObject(readPlainFile(path, { maxBytes: MAX_FILE_BYTES })?.toString("utf8") ?? "");
  const { values, public: names, telemetry } = value ?? {};
  if (!areValues(values)) return undefined;
  const isDecided = Array.isArray(names) && names.every((name) => typeof name === "string");
  return { values, ...(isDecided && { public: names }), ...(areValues(telemetry) && { telemetry }) };
}

const areValues = (value: unknown): value is Values =>
  isPlainObject(value) && Object.values(value).every((one) => typeof one === "string");

export async function removeEnvironment(disk: Disk, sessionDir: string, request: string): Promise<void> {
  await removeFile(disk, environmentPath(sessionDir, request));
}

async function removeFile(disk: Disk, path: string): Promise<void> {
  try {
    await disk.unlink(path);
    await disk.syncDir(dirname(path));
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

/** What a kill left: drafts, and files of tasks that are over. */
export function oldEnvironments(sessionDir: string, isNeeded: (request: string) => boolean): string[] {
  const isOfNeeded = (name: string) => name.endsWith(SUFFIX) && isNeeded(name.slice(0, -SUFFIX.length));
  const paths = namesIn(sessionDir)
    .filter((name) => !isOfNeeded(name))
    .map((name) => join(environmentsDir(sessionDir), name));
  return paths.filter((path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat !== undefined && ageMs(stat) > YOUNG_MS;
  });
}

export async function removeOldEnvironments(
  disk: Disk,
  sessionDir: string,
  isNeeded: (request: string) => boolean,
): Promise<void> {
  for (const path of oldEnvironments(sessionDir, isNeeded)) await removeFile(disk, path);
}

function namesIn(sessionDir: string): string[] {
  // Most sessions have none, and a failure costs more than a look.
  if (!statSync(environmentsDir(sessionDir), { throwIfNoEntry: false })) return [];
  return readdirSync(environmentsDir(sessionDir));
}

interface Read {
  /** Tells the file that was read from one that took its place. */
  readonly stamp: string;
  readonly secrets: readonly Secret[];
}

/** The values of all files of a session, as they lie there at the moment. */
export class KnownSecrets {
  readonly #sessionDir: () => string;
  #read = new Map<string, Read>();

  constructor(sessionDir: () => string) {
    this.#sessionDir = sessionDir;
  }

  all(): readonly Secret[] {
    const read = new Map<string, Read>();
    for (const name of namesIn(this.#sessionDir()).filter((one) => one.endsWith(SUFFIX))) {
      const path = join(environmentsDir(this.#sessionDir()), name);
      const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
      if (!stat) continue;
      const stamp = `${stat.ino} ${stat.size} ${stat.ctimeNs}`;
      const before = this.#read.get(name);
      read.set(name, before?.stamp === stamp ? before : { stamp, secrets: secretsOf(readAt(path)) });
    }
    this.#read = read;
    return [...read.values()].flatMap(({ secrets }) => secrets);
  }
}

/** Until it is decided whether a value is text of the base, it is secret. */
export function secretsOf(environment: Environment | undefined): readonly Secret[] {
  const { values = {}, public: names = [], telemetry } = environment ?? {};
  const given = secretsIn(values).filter(({ name }) => !names.includes(name));
  return telemetry ? [...given, ...telemetrySecrets(telemetry).flatMap(secretsIn)] : given;
}
