/**
 * Owns `env/` in a session's directory: the values of a task's environment variables, one file per request. A
 * file is written before the task is sent and removed when the task is over. Until then a restarted process
 * needs the values, and so does the code that redacts the task's output.
 *
 * value-2 As long as the file of a value exists, the value is removed from everything that any process writes
 *    for the session.
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
  /** The names whose values also appear in the text of the task's base; undefined until that is decided. */
  readonly public?: readonly string[];
  /**
   * Where to send the task's trace, and with which headers. Only the session process reads it; no command of
   * the task gets it.
   */
  readonly telemetry?: Values;
  /** Where the login and the instructions of Claude Code are for the person who gave the task. */
  readonly claudeDir?: string;
}

const SUFFIX = ".json";
/** Escaping can make each byte of a value several bytes long. */
const MAX_FILE_BYTES = 7 * MAX_VALUES_BYTES;
/** A younger file may belong to a task that is on its way into the inbox. */
const YOUNG_MS = 60_000;

const environmentPath = (sessionDir: string, request: string) =>
  join(environmentsDir(sessionDir), `${request}${SUFFIX}`);

/** The file is on disk when this returns. */
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

/** Undefined when the file does not exist or Holdfast did not write it. */
export function readEnvironment(sessionDir: string, request: string): Environment | undefined {
  return readAt(environmentPath(sessionDir, request));
}

function readAt(path: string): Environment | undefined {
  const value = parseObject(readPlainFile(path, { maxBytes: MAX_FILE_BYTES })?.toString("utf8") ?? "");
  const { values, public: names, telemetry, claudeDir } = value ?? {};
  if (!areValues(values)) return undefined;
  const isDecided = Array.isArray(names) && names.every((name) => typeof name === "string");
  return {
    values,
    ...(isDecided && { public: names }),
    ...(areValues(telemetry) && { telemetry }),
    ...(typeof claudeDir === "string" && { claudeDir }),
  };
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

/** Lists what a kill left behind: drafts, and files of tasks that are over. */
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
  // Most sessions have no such directory, and a failed readdir costs more than a stat.
  if (!statSync(environmentsDir(sessionDir), { throwIfNoEntry: false })) return [];
  return readdirSync(environmentsDir(sessionDir));
}

interface Read {
  /** Changes when another file takes the place of the one that was read. */
  readonly stamp: string;
  readonly secrets: readonly Secret[];
}

/** The values in all environment files of a session at this moment. */
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

/** A value is secret until it is decided whether it also appears in the text of the base. */
export function secretsOf(environment: Environment | undefined): readonly Secret[] {
  const { values = {}, public: names = [], telemetry } = environment ?? {};
  const given = secretsIn(values).filter(({ name }) => !names.includes(name));
  return telemetry ? [...given, ...telemetrySecrets(telemetry).flatMap(secretsIn)] : given;
}
