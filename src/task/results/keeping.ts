/**
 * Owns keeping an agent's own commits in a merge: which commits these are, whether a person has to review
 * them first, and how they are put on the branch.
 *
 * keep-4 The branch gets exactly the tree of the published work: what the agent did not commit itself becomes
 *    one commit by Holdfast, after the agent's own.
 */
import {
  commitWork,
  isConflicted,
  type LinedCommits,
  openStore,
  ownCommits,
  type Replayed,
  replay,
  type Store,
  takeCommits,
  userIdentity,
} from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import { readDurable } from "../../journal/index.ts";
import { textIn } from "../../session/index.ts";
import { tellStep } from "../../util/index.ts";
import { restore } from "../files/teardown.ts";
import { currentLimits, openCapsule, type Room, requireCapsule } from "../room/room.ts";
import { judgeCommits, UNSEARCHED } from "./judging.ts";
import { messageOfRest } from "./publishing.ts";
import { conflictWith } from "./work-to-merge.ts";

/** What the commits are kept for. */
export interface KeptFor {
  /** The commit of the session's branch that they lead to. */
  readonly from: string;
  /** The tip of the branch that they are to be merged into. */
  readonly onto: string;
  readonly isReviewed: boolean;
}

export interface KeptCommits {
  readonly from: string;
  /** What the session's work stands on in the user's repo. */
  readonly base: string;
  readonly line: LinedCommits;
  /** Who made them, apart from the user. */
  readonly authors: readonly string[];
}

const REVIEW =
  "review them (holdfast branch --commits --reviewed makes a branch of them, to look at), then merge with holdfast merge --keep-commits --reviewed";
const MAX_AUTHORS = 50;

export async function keptCommits(room: Room, { from, onto, isReviewed }: KeptFor): Promise<KeptCommits> {
  const { session, repo, io } = room;
  if (session.state.hadValues && !isReviewed) throw needsReview(room, UNSEARCHED);
  const { ids, base } = await ownCommits(repo, from, onto);
  if (base === undefined)
    throw new HoldfastError("merge_refused", "the session's work is based on no commit");
  const { published, merged } = await recorded(room);
  if (!(await openCapsule(room))) await restore(room);
  const capsule = await requireCapsule(room);
  tellStep(io.onProgress, "reading the agent's commits");
  try {
    const { maxSnapshotBytes: maxBytes } = await currentLimits(room);
    const judge = async (line: LinedCommits, quarantine: Store) => {
      const own = new Set([...published, ...line.commits.map(({ id }) => id)]);
      const persons = ids.find((id) => !own.has(id));
      if (persons !== undefined)
        throw new HoldfastError(
          "merge_refused",
          `commit ${persons.slice(0, 12)} on the session's branch was made by a person, and is not among the agent's commits: merge without --keep-commits`,
        );
      const found = await judgeCommits(room, quarantine, line.commits, { base, judged: from });
      if (found !== undefined && !isReviewed) throw needsReview(room, found);
    };
    const line = await takeCommits(capsule, { base, merged, maxBytes, judge });
    return { from, base, line, authors: await strangersIn(room, line) };
  } finally {
    await capsule.detach();
  }
}

/** The target may have moved, or a person may have added a commit to the session's branch, since they were taken. */
export async function keptFor(room: Room, kept: KeptCommits | undefined, of: KeptFor): Promise<KeptCommits> {
  const isStill =
    kept?.from === of.from && (await ownCommits(room.repo, of.from, of.onto)).base === kept.base;
  return isStill ? kept : keptCommits(room, of);
}

/**
 * The commits that Holdfast put on the session's branch, and the HEAD of the agent's git at the last merge.
 */
async function recorded({
  sessionDir,
}: Room): Promise<{ published: Set<string>; merged: string | undefined }> {
  const published = new Set<string>();
  let head: string | undefined;
  let merged: string | undefined;
  for await (const { record } of readDurable(sessionDir, { sync: async () => {} })) {
    const { type, data } = record;
    if (type === "work_published") published.add(textIn(data["commit"]));
    if (type === "task_ended" && typeof data["head"] === "string") head = data["head"];
    if (type === "work_merged") merged = head;
  }
  return { published, merged };
}

function needsReview({ session }: Room, why: string): HoldfastError {
  return new HoldfastError("needs_review", `${why}: ${REVIEW}`, { session: session.id });
}

async function strangersIn({ repo }: Room, { commits }: LinedCommits): Promise<string[]> {
  const { name, email } = await userIdentity(repo);
  const lines = commits.flatMap(({ author, committer }) => [author, committer]);
  const named = lines.map((line) => Buffer.from(line.replace(/>[^>]*$/, ">"), "latin1").toString("utf8"));
  return [...new Set(named)].filter((one) => one !== `${name} <${email}>`).slice(0, MAX_AUTHORS);
}

/** Puts the commits on the branch one by one. `work`: what the published work became there. */
export async function keptOnto(
  { session, repo, io }: Room,
  { branch: into, tip: onto }: { readonly branch: string; readonly tip: string },
  { line }: KeptCommits,
  work: Replayed,
): Promise<Replayed> {
  const store = await openStore(repo, io.disk);
  const identity = await userIdentity(repo);
  const atMs = io.clock.nowMs();
  const result = await replay({ repo, store, tip: line.tip, onto, since: line.on, identity, atMs });
  if (isConflicted(result)) throw conflictWith(into, result, "the work merges without --keep-commits");
  const { commit: base, tree, commits } = result;
  if (tree === work.tree) return result;
  const message = messageOfRest(session.state);
  const commit = await commitWork(store, { tree: work.tree, base, message, identity, atMs });
  return { commit, tree: work.tree, commits: [...commits, { from: line.tip, to: commit }] };
}
