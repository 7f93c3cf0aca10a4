/**
 * Owns which sessions will conflict when they are merged, before any of them is. It need not own a session:
 * its work is what its branch has, or its last checkpoint if that has more.
 */
import {
  collisions,
  findTarget,
  findTrees,
  isAncestor,
  type LiveWork,
  openStore,
  type Repo,
  resolveCommit,
  type Store,
  sessionBranches,
  toText,
} from "../../capsule/index.ts";
import { isHoldfastError } from "../../contract/index.ts";
import { defaultUser, type Home, inspectAll, repoOf } from "../../home/index.ts";
import { type SessionState, standsOn } from "../../session/index.ts";
import { workAgain } from "../files/checkpoint.ts";
import { tipOfWork } from "./work-to-merge.ts";

/** What will collide in one repo. */
export interface ConflictsIn {
  /** The checkout, or the gitdir of a bare repo. */
  readonly repo: string;
  /** The branch that they are assumed to be merged into; null when the checkout is on none. */
  readonly into: string | null;
  /** How many sessions have work that is not merged. */
  readonly sessions: number;
  /** `other`: the other session; null when it is the branch. */
  readonly conflicts: readonly {
    readonly session: string;
    readonly other: string | null;
    readonly paths: readonly string[];
  }[];
}

/** For sessions that are neither closed nor archived, one repo after another. */
export async function conflictsOf(home: Home, user = defaultUser()): Promise<ConflictsIn[]> {
  const repos = new Map<string, { readonly repo: Repo; readonly states: SessionState[] }>();
  const opened = new Map<string | null, Repo | undefined>();
  for (const { state } of await inspectAll(home)) {
    if (state.user !== user || !isLive(state)) continue;
    // Each repo is opened once. A session whose repo is gone conflicts with nothing.
    if (!opened.has(state.repo)) opened.set(state.repo, await repoOf(home, state).catch(() => undefined));
    const repo = opened.get(state.repo);
    if (!repo || repo.isStandIn) continue;
    const known = repos.get(repo.key) ?? { repo, states: [] };
    known.states.push(state);
    repos.set(repo.key, known);
  }
  return Promise.all([...repos.values()].map(({ repo, states }) => conflictsIn(home, repo, states)));
}

const isLive = ({ status, task, repo }: SessionState) =>
  repo !== null && task !== null && !["closed", "archived", "damaged"].includes(status);

async function conflictsIn(home: Home, repo: Repo, states: readonly SessionState[]): Promise<ConflictsIn> {
  const store = await openStore(repo, home.io.disk);
  const [{ branch, tip }, all] = await Promise.all([targetOf(repo), worksOf(repo, store, states)]);
  const works = tip === null ? [] : await unmerged(repo, all, { branch, tip });
  const found = tip === null ? [] : await collisions(repo, store, { works, target: tip });
  return {
    repo: repo.checkout ?? repo.gitDir,
    into: branch,
    sessions: works.length,
    conflicts: found.map((one) => ({ ...one, paths: one.paths.map((path) => toText(path)) })),
  };
}

async function targetOf(repo: Repo): Promise<{ branch: string | null; tip: string | null }> {
  try {
    return await findTarget(repo);
  } catch (error) {
    if (!isHoldfastError(error, "branch_not_found") && !isHoldfastError(error, "merge_refused")) throw error;
    return { branch: null, tip: await resolveCommit(repo) };
  }
}

/** `merged`: the merge after which nothing was added to it. */
type Work = LiveWork & { readonly merged?: SessionState["merged"] };

/** A merge counts if it was into that branch and the branch still has it. */
async function unmerged(
  repo: Repo,
  works: readonly Work[],
  { branch, tip }: { readonly branch: string | null; readonly tip: string },
): Promise<LiveWork[]> {
  const found: LiveWork[] = [];
  for (const { merged, ...work } of works) {
    const isInto = merged && (branch === null || merged.into === branch);
    if (!isInto || !(await isAncestor(repo, merged.commit, tip))) found.push(work);
  }
  return found;
}

async function worksOf(repo: Repo, store: Store, states: readonly SessionState[]): Promise<Work[]> {
  const branches = await sessionBranches(repo);
  const ids = states.flatMap(({ task }) =>
    task ? [task.snapshot?.tree, standsOn(task)].filter((id) => typeof id === "string") : [],
  );
  const trees = await findTrees(repo, store, [...new Set(ids)]);
  const works: Work[] = [];
  for (const { id: session, task, branch, merged } of states) {
    const tip = branch ? branches.get(branch.name) : undefined;
    const { snapshot } = task ?? {};
    const below = task && standsOn(task);
    if (task && snapshot && snapshot.tree !== (below ? trees.get(below) : undefined)) {
      if (!trees.has(snapshot.tree)) await workAgain({ repo, id: session }, store, snapshot);
      const commit = below && trees.has(below) ? below : task.base;
      works.push({ session, commit, tree: snapshot.tree });
    } else if (tip !== undefined) {
      const commit = tipOfWork({ branch, merged }, { tip, below: below && !trees.has(below) ? tip : below });
      if (commit !== null) works.push({ session, commit, merged: tip === merged?.from ? merged : null });
    }
  }
  return works;
}
