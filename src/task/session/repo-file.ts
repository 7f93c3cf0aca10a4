/**
 * Owns a repo's `holdfast.yaml` as a person sees it: what it asks for beyond what a task gets by default, and
 * what the person decided about that.
 */
import { join, resolve } from "node:path";
import { openRepo, type Repo } from "../../capsule/index.ts";
import { CONFIG_FILE } from "../../config/index.ts";
import { capsuleIo, type Home } from "../../home/index.ts";
import { accepting, changeTrust, declining, noTrust, readTrust, type Trust } from "../../lane/index.ts";
import { emptyState, type SessionState } from "../../session/index.ts";
import { readPlainFile } from "../../util/index.ts";
import { type StartingOptions, startingPoint } from "../files/starting-point.ts";
import { type JudgedConfig, judgeText, readJudged, readUsersFile, trustPlace } from "../room/config.ts";

export interface WhichFile extends Pick<StartingOptions, "base" | "isFresh" | "snapshot"> {
  /** A path in the repo. */
  readonly repo: string;
  /** The state of the session in which the task is to begin. Default: a new session. */
  readonly state?: Pick<SessionState, "task" | "branch" | "merged">;
  /** Use the file in the checkout, committed or not. */
  readonly isDirty?: boolean;
}

export interface RepoFile extends JudgedConfig {
  readonly repo: Repo;
}

const MAX_FILE_BYTES = 1024 * 1024;

/** The file that a task which begins like this would use. */
export async function readRepoFile(
  home: Home,
  { repo: path, state = emptyState, isDirty = false, ...from }: WhichFile,
): Promise<RepoFile> {
  const repo = await openRepo(home, resolve(path));
  const reading = { io: capsuleIo(home), repo };
  if (isDirty && repo.checkout !== null) {
    const text = readPlainFile(join(repo.checkout, CONFIG_FILE), { maxBytes: MAX_FILE_BYTES });
    return { repo, ...(await judgeText(reading, text?.toString("utf8") ?? "")) };
  }
  const { base } = await startingPoint(repo, state, from);
  return { repo, ...(await readJudged(reading, base)) };
}

/**
 * Another file of the repo, read as `readRepoFile` reads its own. Undefined: there is none, or it is too
 * long.
 */
export async function readRepoText(
  home: Home,
  { repo: path, state = emptyState, isDirty = false, ...from }: WhichFile,
  file: string,
): Promise<string | undefined> {
  const repo = await openRepo(home, resolve(path));
  if (isDirty && repo.checkout !== null)
    return readPlainFile(join(repo.checkout, file), { maxBytes: MAX_FILE_BYTES })?.toString("utf8");
  const { base } = await startingPoint(repo, state, from);
  return (await readUsersFile(repo, base, file))?.toString("utf8");
}

/** Decides on everything in the file that widens, together. */
export function decideOnFile(
  home: Home,
  { repo, widenings }: RepoFile,
  decision: "accept" | "decline",
): Promise<Trust> {
  const at = new Date(home.io.clock.nowMs()).toISOString();
  return changeTrust(trustPlace({ io: capsuleIo(home), repo }), home.io.disk, (trust) =>
    decision === "accept" ? accepting(trust, widenings, at) : declining(trust, widenings),
  );
}

/** Everything that was ever accepted of a repo's files. */
export async function trustOf(home: Home, path: string): Promise<Trust> {
  return readTrust(trustPlace({ io: capsuleIo(home), repo: await openRepo(home, resolve(path)) }));
}

/** Withdraws everything that was accepted, and returns it. */
export async function forgetTrust(home: Home, path: string): Promise<Trust> {
  const before = await trustOf(home, path);
  const repo = await openRepo(home, resolve(path));
  await changeTrust(trustPlace({ io: capsuleIo(home), repo }), home.io.disk, () => noTrust);
  return before;
}
