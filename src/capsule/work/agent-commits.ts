/**
 * Owns the commits that an agent made in its own git. They are read in the task's sandbox (confined-1), so
 * everything about them is the agent's word: its length is limited here, and the callers check it or make it
 * safe to show.
 */
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { ConfinedGit } from "../git/confined.ts";
import { type GitPlace, git } from "../git/git.ts";
import type { Capsule } from "../life/capsule.ts";
import { type Repo, userPlace } from "../repo/repo.ts";
import { makeAside } from "../store/objects.ts";
import { STREAMED, takeInto } from "./publish.ts";

export interface AgentCommit {
  readonly id: string;
  readonly subject: string;
}

const MAX_LISTED = 200;
const MAX_LOG_BYTES = 1024 * 1024;
const MAX_SUBJECT = 200;
const MAX_LINE_BYTES = 4096;
const TIMEOUT_MS = 30_000;
const PACK_TIMEOUT_MS = 5 * 60_000;
/** What a pack of an agent's may take of memory and time when it is unpacked. */
const PACK_BOUNDS = { maxAllocBytes: 256 * 1024 * 1024, timeoutMs: PACK_TIMEOUT_MS };

async function ownGit(capsule: Capsule): Promise<ConfinedGit> {
  const view = await capsule.attach();
  return new ConfinedGit({ gitDir: "own", view, sandbox: capsule.sandbox, config: [STREAMED] });
}

/**
 * The commits of `head` that neither the user's repo nor the given others have, oldest first. Empty if git
 * gives no answer.
 */
export async function listAgentCommits(
  capsule: Capsule,
  head: string,
  beyond: readonly string[],
): Promise<AgentCommit[]> {
  const range = [head, "--not", ...beyond];
  const args = ["log", "-z", "--ignore-missing", `--max-count=${MAX_LISTED}`, "--format=%H %s", ...range];
  const confined = await ownGit(capsule);
  const answer = await confined.ask(args, { timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_LOG_BYTES });
  const rows = (answer?.stdout.toString("utf8") ?? "").split("\0");
  const commits = rows.flatMap((row) => {
    const [, id, subject = ""] = /^([0-9a-f]{40,64}) ?([\s\S]*)$/.exec(row) ?? [];
    return id === undefined ? [] : [{ id, subject: subject.slice(0, MAX_SUBJECT) }];
  });
  const known = await knownTo(capsule.repo, commits);
  return commits.filter(({ id }) => !known.has(id)).reverse();
}

/** Those that the user has, for example because a merge pulled them in. */
async function knownTo(repo: Repo, commits: readonly AgentCommit[]): Promise<ReadonlySet<string>> {
  if (commits.length === 0) return new Set();
  const input = [Buffer.from(commits.map(({ id }) => `${id}\n`).join(""))];
  const out = await git(userPlace(repo), ["cat-file", "--batch-check=%(objectname)"], { input });
  const lines = out.toString("utf8").split("\n");
  return new Set(lines.filter((line) => !line.endsWith(" missing")));
}

async function resolveIn(confined: ConfinedGit, name: string): Promise<string | undefined> {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  const answer = await confined.ask(args, { timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_LINE_BYTES });
  return /^([0-9a-f]{40,64})\n$/.exec(answer?.stdout.toString("utf8") ?? "")?.[1];
}

/**
 * The commit of one of the agent's branches, or the one that its git has checked out; undefined if there is
 * none. It is the agent's word.
 */
export const agentCommit = async (capsule: Capsule, branch?: string) =>
  resolveIn(await ownGit(capsule), branch === undefined ? "HEAD" : `refs/heads/${branch}`);

/** Unpacks a pack of the agent's outside the sandbox, within bounds of memory and time. */
export const takeAgentsInto = (place: GitPlace, pack: string) => takeInto(place, pack, PACK_BOUNDS);

export interface PackRequest {
  readonly commit: string;
  /** Commits of the user's repo that the agent's commits stand on. */
  readonly known: readonly string[];
  readonly maxBytes: number;
}

/** Packed in the sandbox by the agent's own git: the receiver has to check its content. */
export async function withPack(
  capsule: Capsule,
  { commit, known, maxBytes }: PackRequest,
  use: (pack: string) => Promise<void>,
): Promise<void> {
  const confined = await ownGit(capsule);
  const aside = await makeAside(await capsule.store());
  const pack = join(aside, "commits.pack");
  try {
    const handle = await open(pack, "wx", 0o600);
    const input = [Buffer.from([commit, ...known.map((id) => `^${id}`)].map((line) => `${line}\n`).join(""))];
    const args = ["pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset", "--threads=1"];
    let bytes = 0;
    const onOutput = async (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new HoldfastError("output_too_large", "the agent's commits are too large");
      await handle.writeFile(chunk);
    };
    const question = { input, onOutput, timeoutMs: PACK_TIMEOUT_MS, maxOutputBytes: 0 };
    const answer = await confined.ask(args, question).finally(() => handle.close());
    if (!answer) throw new HoldfastError("publish_refused", "the agent's git did not return its commits");
    await use(pack);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}
