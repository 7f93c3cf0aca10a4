/**
 * Owns reading a repo's `holdfast.yaml`: from a commit, and only what of it counts. All code that needs the
 * file reads it here: for a task, its set-up, a retry, a fork, an import or a restore. So a file that no
 * person accepted widens nothing (trust-1).
 */
import {
  type CapsuleIo,
  fromText,
  isUsersCommit,
  type Repo,
  readCommittedBytes,
  remember,
  resolveCommit,
} from "../../capsule/index.ts";
import { CONFIG_FILE, type Config, defaultConfig, parseConfig } from "../../config/index.ts";
import { readSettings } from "../../home/index.ts";
import {
  type AcceptedConfig,
  acceptedPart,
  concerns,
  type Judged,
  judge,
  type LaneChoice,
  noTrust,
  readTrust,
  type TrustPlace,
  type Widening,
  wideningsOf,
} from "../../lane/index.ts";

/** What a file asks for, and what a person decided about that. */
export interface JudgedConfig extends Pick<Judged, "open" | "isDeclined"> {
  /** The part of it that counts. */
  readonly config: AcceptedConfig;
  /** Everything in it that widens, accepted or not. */
  readonly widenings: readonly Widening[];
  /** What a task with this choice would have had, and does not have because it was not accepted. */
  missed(choice: LaneChoice): readonly Widening[];
}

export interface Reading {
  readonly io: Pick<CapsuleIo, "homeDir">;
  readonly repo: Repo;
}

/**
 * The settings for a commit: those of its holdfast.yaml, or of the user's own commit if a task made this one.
 */
export async function readConfig(reading: Reading, commit: string | null): Promise<AcceptedConfig> {
  return (await readJudged(reading, commit)).config;
}

export async function readJudged(reading: Reading, commit: string | null): Promise<JudgedConfig> {
  return judged(reading, await readAsking(reading.repo, commit));
}

/** For a text that may be in no commit yet. */
export async function judgeText(reading: Reading, text: string): Promise<JudgedConfig> {
  return judged(reading, await parseConfig(text));
}

/**
 * The commit that a session begins with because the file of another commit names it; undefined if it names
 * none.
 */
export async function baseNamedIn(repo: Repo, commit: string | null): Promise<string | undefined> {
  return (await readAsking(repo, commit)).base;
}

export const trustPlace = ({ io, repo }: Reading): TrustPlace => ({ homeDir: io.homeDir, repo: repo.key });

async function judged(reading: Reading, asking: Config): Promise<JudgedConfig> {
  const hasLimits = Object.values(asking.agents).some(({ budget }) => budget !== undefined);
  const own = hasLimits ? (await readSettings(reading.io.homeDir)).budget : {};
  const widenings = wideningsOf(asking, own);
  const trust = widenings.length > 0 ? readTrust(trustPlace(reading)) : noTrust;
  const { counts, open, isDeclined } = judge(trust, widenings);
  return {
    config: acceptedPart(asking, counts, own),
    widenings,
    open,
    isDeclined,
    missed: (choice) => open.filter(concerns(choice, asking)),
  };
}

/**
 * Reads a file of a commit. If a task made the commit, the file is read from the user's own: no agent may
 * write what the next task is started with.
 */
export async function readUsersFile(
  repo: Repo,
  commit: string | null,
  path: string,
): Promise<Buffer | undefined> {
  return readCommittedBytes(repo, await usersCommit(repo, commit), fromText(path));
}

async function usersCommit(repo: Repo, commit: string | null): Promise<string | null> {
  return commit === null || (await isUsersCommit(repo, commit)) ? commit : resolveCommit(repo);
}

async function readAsking(repo: Repo, commit: string | null): Promise<Config> {
  if (commit === null) return defaultConfig;
  const from = await usersCommit(repo, commit);
  return remember(repo, `config of ${from}`, async () => {
    const text = await readCommittedBytes(repo, from, CONFIG_FILE);
    return text === undefined ? defaultConfig : parseConfig(text.toString("utf8"));
  });
}
