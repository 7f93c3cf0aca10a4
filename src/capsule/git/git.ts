/**
 * Owns the git port: the only place from which git is called outside a sandbox.
 *
 * git-1 No code of an agent or of a repo is ever run. The caller names a gitdir that no agent could write.
 *    Every hook, monitor, pager, filter driver, signature check and transport is off, only that gitdir's own
 *    configuration is read, and git does not go into nested repos. The one exception is what a person asks of
 *    their own checkout.
 */
import { open } from "node:fs/promises";
import { HoldfastError } from "../../contract/index.ts";
import { type ProgramOptions, type ProgramResult, runProgram } from "../../process/index.ts";

/** The name of the program. */
export const GIT = "git";

export interface GitPlace {
  /** A gitdir of Holdfast, a fresh one, or the user's own: never one that an agent could write. */
  readonly gitDir: string;
  readonly workTree?: string;
  readonly indexFile?: string;
  /** Where objects are written, if not into the gitdir itself. */
  readonly objects?: string;
  /** More object directories to read from. */
  readonly alternates?: readonly string[];
}

export interface GitOptions
  extends Pick<
    ProgramOptions,
    "input" | "onOutput" | "onComplaint" | "cwd" | "timeoutMs" | "maxOutputBytes"
  > {
  /** `name=value` pairs for this call. */
  readonly config?: readonly string[];
  /** Exit statuses that are answers. Default: 0. */
  readonly accept?: readonly number[];
  readonly identity?: Identity;
  /** Git gives up where it would need more than this at once. */
  readonly maxAllocBytes?: number;
}

export interface Identity {
  readonly name: string;
  readonly email: string;
}

export const TIMEOUT_MS = 15 * 60 * 1000;

export const OFF = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.attributesFile=/dev/null",
  "core.excludesFile=/dev/null",
  "core.pager=cat",
  "core.alternateRefsCommand=true",
  "core.sshCommand=false",
  "credential.helper=",
  "protocol.allow=never",
  "submodule.recurse=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "safe.directory=*",
  "commit.gpgSign=false",
  "log.showSignature=false",
  // No call here signs, checks a signature or asks another program for a diff: such a call would fail.
  "gpg.program=false",
  "gpg.openpgp.program=false",
  "gpg.x509.program=false",
  "gpg.ssh.program=false",
  "gpg.ssh.defaultKeyCommand=false",
  "diff.external=false",
  // What git writes is on disk when it returns. The caller syncs names in directories.
  "core.fsync=all",
  "core.fsyncMethod=fsync",
];

/** For files that are removed with the work that needs them. */
export const UNSYNCED: readonly string[] = ["core.fsync=none"];

/** The program as it is, with nothing off: for `user-git.ts`. */
export const startGit = (words: readonly string[], options: ProgramOptions): Promise<ProgramResult> =>
  runProgram([GIT, ...words], options);

/** The first words of a call of git. */
export function gitWords({ workTree }: Pick<GitPlace, "workTree">, config: readonly string[] = []): string[] {
  const settings = [...OFF, ...config].flatMap((setting) => ["-c", setting]);
  // Git changes to the directory itself: the work tree may be mounted only where git is started.
  return [GIT, ...(workTree ? ["-C", workTree, "-c", "core.bare=false"] : []), ...settings];
}

/** Standard output of a git command that succeeded. */
export async function git(
  place: GitPlace,
  args: readonly string[],
  options: GitOptions = {},
): Promise<Buffer> {
  return (await runGit(place, args, options)).stdout;
}

/** The same, for output that is one line. */
export async function gitLine(
  place: GitPlace,
  args: readonly string[],
  options: GitOptions = {},
): Promise<string> {
  return (await git(place, args, options)).toString("utf8").trimEnd();
}

/** Writes standard output, however long, into a new file. */
export async function gitToFile(
  place: GitPlace,
  args: readonly string[],
  path: string,
  { onBytes, ...options }: Omit<GitOptions, "onOutput"> & { readonly onBytes?: (count: number) => void } = {},
): Promise<void> {
  const handle = await open(path, "wx", 0o600);
  const onOutput = (chunk: Buffer) => {
    onBytes?.(chunk.length);
    return handle.writeFile(chunk);
  };
  try {
    await runGit(place, args, { ...options, onOutput });
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

export async function runGit(
  place: GitPlace,
  args: readonly string[],
  options: GitOptions = {},
): Promise<ProgramResult> {
  const { input, onOutput, onComplaint, cwd } = options;
  const words = gitWords(place, options.config);
  const result = await runProgram([...words, ...args], {
    env: {
      ...gitEnvironment(place, options.identity),
      ...(options.maxAllocBytes !== undefined && { GIT_ALLOC_LIMIT: String(options.maxAllocBytes) }),
    },
    cwd: cwd ?? "/",
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    ...(input && { input }),
    ...(onOutput && { onOutput }),
    ...(onComplaint && { onComplaint }),
    ...(options.maxOutputBytes !== undefined && { maxOutputBytes: options.maxOutputBytes }),
  });
  if ((options.accept ?? [0]).includes(result.exitCode ?? -1)) return result;
  throw failure(args[0] ?? "", result);
}

export function gitEnvironment(place: GitPlace, identity?: Identity): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: "/nonexistent",
    LC_ALL: "C",
    GIT_DIR: place.gitDir,
    ...(place.workTree && { GIT_WORK_TREE: place.workTree }),
    ...(place.indexFile && { GIT_INDEX_FILE: place.indexFile }),
    ...(place.objects && { GIT_OBJECT_DIRECTORY: place.objects }),
    ...(place.alternates?.length && {
      GIT_ALTERNATE_OBJECT_DIRECTORIES: place.alternates.map(quotedDir).join(":"),
    }),
    ...(identity && {
      GIT_AUTHOR_NAME: identity.name,
      GIT_AUTHOR_EMAIL: identity.email,
      GIT_COMMITTER_NAME: identity.name,
      GIT_COMMITTER_EMAIL: identity.email,
    }),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    // Only if a call asks for it.
    GIT_PROGRESS_DELAY: "0",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
  };
}

/** The list is separated by colons. A path in quotes may contain one. */
function quotedDir(path: string): string {
  return /[":\n]/.test(path) ? `"${path.replace(/["\\]/g, "\\$&")}"` : path;
}

export function failure(
  command: string,
  { stderr, exitCode, signal, isTimedOut }: ProgramResult,
): HoldfastError {
  const lines = stderr.trim().split("\n").slice(-5);
  // The last line overwrites the progress before it.
  const said = lines.map((line) => line.trimEnd().split("\r").at(-1)).join("; ");
  if (/No space left|Disk quota exceeded|Out of diskspace|unable to write file/i.test(said))
    return new HoldfastError("disk_full", `git ${command} could not write: ${said}`);
  const how = isTimedOut ? "took too long" : `ended with ${exitCode ?? signal}`;
  return new HoldfastError("git_failed", `git ${command} ${how}: ${said}`, { command });
}
