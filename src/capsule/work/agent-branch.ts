/**
 * Owns publishing an agent's own commits as a branch beside the session's. They come from their quarantine,
 * once the caller has judged all of them that the user's repo does not have.
 */
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { gitLine, runGit } from "../git/git.ts";
import type { Capsule } from "../life/capsule.ts";
import { hasObject } from "../repo/commits.ts";
import { isAncestor, isUsersCommit, usersRefs } from "../repo/refs.ts";
import { userPlace } from "../repo/repo.ts";
import { userIdentity } from "../repo/settings.ts";
import type { Store } from "../store/store.ts";
import { agentCommit, type PackRequest, takeAgentsInto } from "./agent-commits.ts";
import { MAX_COMMITS } from "./commit-text.ts";
import { assertNotCheckedOut, branchTip } from "./publish.ts";
import { type CommitToJudge, inQuarantine, packFiles, readNewCommits } from "./quarantine.ts";

export interface CommitsRequest extends Omit<PackRequest, "commit"> {
  /** One of the agent's branches; by default, what it has checked out. */
  readonly ofBranch: string | undefined;
  /** The name in the user's repo. */
  readonly branch: string;
  /** Called while they are in quarantine; what it throws keeps them out. */
  readonly judge: (commits: readonly CommitToJudge[], quarantine: Store) => Promise<void>;
}

/**
 * publish-1: git checks them as they come in; the branch is new, or moves forward. Returns the commit that it
 * is at.
 */
export async function publishAgentCommits(
  capsule: Capsule,
  { ofBranch, branch, known, maxBytes, judge }: CommitsRequest,
): Promise<string> {
  const { repo } = capsule;
  const commit = await agentCommit(capsule, ofBranch);
  if (commit === undefined)
    throw new HoldfastError("base_missing", `the agent's git has no commit ${ofBranch ?? "HEAD"}`);
  if (await isUsersCommit(repo, commit)) throw refused("the agent made no commit of its own on it");
  const before = await branchTip(repo, branch);
  const pack = (await hasObject(repo, commit)) ? undefined : { commit, known, maxBytes };
  await inQuarantine(capsule, pack, refused, async (quarantine) => {
    const beyond = [...known, ...(before === undefined ? [] : [before])];
    const ids = await newIds(capsule, quarantine, commit, beyond);
    await judge(await readNewCommits(capsule, quarantine, ids, refused), quarantine);
    for (const file of await packFiles(quarantine)) await takeAgentsInto(userPlace(repo), file);
  });
  if (before !== undefined && before !== commit && !(await isAncestor(repo, before, commit)))
    throw refused(
      `the branch ${branch} exists and is not at an earlier one of these commits: rename or delete it`,
    );
  if (before !== undefined && before !== commit) await assertNotCheckedOut(repo, branch);
  const ref = `refs/heads/${branch}`;
  const args = [
    "update-ref",
    "-m",
    "holdfast: the agent's commits",
    ref,
    commit,
    before ?? "0".repeat(commit.length),
  ];
  const { exitCode, stderr } = await runGit(userPlace(repo), args, {
    accept: [0, 128],
    identity: await userIdentity(repo),
  });
  if (exitCode !== 0) throw refused(`the branch ${branch} could not be set: ${stderr.trim()}`);
  return commit;
}

/** The commits that lead to this one and that no ref of the user's has, oldest first. */
async function newIds(
  { repo }: Capsule,
  quarantine: Store,
  commit: string,
  beyond: readonly string[],
): Promise<string[]> {
  const place = { ...userPlace(repo), alternates: [join(quarantine.gitDir, "objects")] };
  const args = ["rev-list", "--topo-order", "--reverse", `--max-count=${MAX_COMMITS + 1}`, commit, "--not"];
  return (await gitLine(place, [...args, ...beyond, ...usersRefs(repo)])).split("\n").filter(Boolean);
}

const refused = (why: string) => new HoldfastError("publish_refused", why);
