/**
 * Owns the way of an agent's own commits into the store, for a merge that keeps them: out of their quarantine, once the
 * caller has judged them. Only then are they in the store; the user's repo has nothing of them until it is moved.
 *
 * keep-2 What is kept is a line of commits that stands on a commit which is known: not on one that the agent names.
 */
import { HoldfastError } from "../../contract/index.ts";
import { gitLine } from "../git/git.ts";
import type { Capsule } from "../life/capsule.ts";
import { treeOf } from "../repo/commits.ts";
import { takeIn } from "../store/objects.ts";
import type { Store } from "../store/store.ts";
import { agentCommit } from "./agent-commits.ts";
import { MAX_COMMITS, readCommits } from "./commit-text.ts";
import { type CommitToJudge, inQuarantine, packsIn, readNewCommits } from "./quarantine.ts";

export interface OwnCommits {
  /** What the work stands on in the user's repo. */
  readonly base: string;
  /** Where the agent's git stood when the work was last merged: what came before is in the user's repo, however it looks. */
  readonly merged: string | undefined;
  readonly maxBytes: number;
  /** Called while they are in quarantine; what it throws keeps them out. */
  readonly judge: (line: LinedCommits, quarantine: Store) => Promise<void>;
}

/** From the first after `on` to `tip`, along first parents: a merge stands for all that it brought. */
export interface LinedCommits {
  readonly on: string;
  readonly tip: string;
  readonly commits: readonly CommitToJudge[];
}

export async function takeCommits(
  capsule: Capsule,
  { base, merged, maxBytes, judge }: OwnCommits,
): Promise<LinedCommits> {
  const tip = await agentCommit(capsule);
  if (tip === undefined || tip === base || tip === merged)
    throw refused("the agent has made no commit of its own");
  return inQuarantine(capsule, { commit: tip, known: [base], maxBytes }, refused, async (quarantine) => {
    const grounds = [base, ...(merged === undefined ? [] : [merged])];
    const line = await lineOf(capsule, quarantine, tip, grounds);
    await judge(line, quarantine);
    await takeIn(await capsule.store(), packsIn(quarantine));
    return line;
  });
}

async function lineOf(
  capsule: Capsule,
  quarantine: Store,
  tip: string,
  grounds: readonly string[],
): Promise<LinedCommits> {
  // Where the work was merged before, that commit is the agent's: it is there if the agent's line leads to it.
  const there: string[] = [];
  for (const ground of grounds) if (await isThere(quarantine, ground)) there.push(ground);
  const args = ["rev-list", "--first-parent", "--reverse", `--max-count=${MAX_COMMITS + 1}`, tip, "--not"];
  const ids = (await gitLine(quarantine, [...args, ...there])).split("\n").filter(Boolean);
  if (ids.length === 0) throw refused("the agent has made no commit of its own");
  const on = await groundOf(quarantine, ids, grounds);
  const [ground] = await readCommits(quarantine, [on]);
  const [base = ""] = grounds;
  const more = [[await treeOf(capsule.repo, base), ground?.tree ?? ""] as const];
  return { on, tip, commits: await readNewCommits(capsule, quarantine, ids, refused, more) };
}
/** The known commit that the line stands on. */
async function groundOf(
  quarantine: Store,
  [first = ""]: readonly string[],
  grounds: readonly string[],
): Promise<string> {
  // Its text may be too long to be read.
  const args = ["rev-list", "--no-walk", "--parents", first];
  const on = (await gitLine(quarantine, args)).split(" ")[1];
  if (on !== undefined && grounds.includes(on)) return on;
  throw refused(
    `the agent's commits do not stand on ${grounds[0]?.slice(0, 12)}, which its work begins with: ${on === undefined ? "they begin with nothing" : `they stand on ${on.slice(0, 12)}`}`,
  );
}

async function isThere(quarantine: Store, commit: string): Promise<boolean> {
  const args = ["cat-file", "-t", commit];
  return gitLine(quarantine, args).then(
    (type) => type === "commit",
    () => false,
  );
}

function refused(why: string): HoldfastError {
  return new HoldfastError("merge_refused", `${why}: it can be merged without --keep-commits`);
}
