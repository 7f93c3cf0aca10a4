/**
 * Owns the reading of a repo's `holdfast.yaml`: from a commit, and as far as it was accepted. There is no other way to
 * it, so a file that nobody accepted widens nothing, wherever it is read: for a task, its set-up, a retry, a fork, an
 * import, a restore (T8).
 */
import {
  type CapsuleIo,
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

/** What a file asks for, and how a person stands to that. */
export interface JudgedConfig extends Pick<Judged, "open" | "isDeclined"> {
  /** What of it counts. */
  readonly config: AcceptedConfig;
  /** Everything in it that widens, accepted or not. */
  readonly widenings: readonly Widening[];
  /** Of what was not accepted: what a task of this choice would have had. */
  missed(choice: LaneChoice): readonly Widening[];
}

export interface Reading {
  readonly io: Pick<CapsuleIo, "homeDir">;
  readonly repo: Repo;
}

/** The settings that hold for a commit: those of its holdfast.yaml, or the user's own if a task made it. */
export async function readConfig(reading: Reading, commit: string | null): Promise<AcceptedConfig> {
  return (await readJudged(reading, commit)).config;
}

export async function readJudged(reading: Reading, commit: string | null): Promise<JudgedConfig> {
  return judged(reading, await readAsking(reading.repo, commit));
}

/** Of a text that may be in no commit yet. */
export async function judgeText(reading: Reading, text: string): Promise<JudgedConfig> {
  return judged(reading, await parseConfig(text));
}

/** The commit that a session begins with by what the file of another one says; undefined where that names none. */
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

async function readAsking(repo: Repo, commit: string | null): Promise<Config> {
  if (commit === null) return defaultConfig;
  const from = (await isUsersCommit(repo, commit)) ? commit : await resolveCommit(repo);
  return remember(repo, `config of ${from}`, async () => {
    const text = await readCommittedBytes(repo, from, CONFIG_FILE);
    return text === undefined ? defaultConfig : parseConfig(text.toString("utf8"));
  });
}
