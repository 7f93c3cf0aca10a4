/**
 * Owns the error for work that fails because one of a session's snapshots is damaged: which snapshot, where
 * it is, whose turn it belongs to, and from which turn the session can go on. Git reports none of that. The
 * search takes time, so it runs only after a failure.
 */
import { join } from "node:path";
import { findBadManifests, findBadObjects, whyUnusable } from "../../capsule/index.ts";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { type FoundSession, findStore, type Home } from "../../home/index.ts";
import { damageOf, readDurable } from "../../journal/index.ts";
import { readHomes } from "../home/homes.ts";
import { KeptNames, type KeptSnapshot } from "./kept-names.ts";

type Keeper = Pick<FoundSession, "id" | "dir"> & { readonly repo: string | null };

/**
 * Turns failures of `work` that a damaged snapshot causes into `snapshot_invalid`. All others stay as they
 * are.
 */
export async function locatingDamage<T>(home: Home, keeper: Keeper, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw (await locateDamage(home, keeper, error)) ?? error;
  }
}

/** Undefined when no snapshot caused the failure, or when the error already names it. */
export async function locateDamage(
  home: Home,
  { id, dir, repo }: Keeper,
  error: unknown,
): Promise<HoldfastError | undefined> {
  const isOfGit = isHoldfastError(error, "git_failed") || isHoldfastError(error, "snapshot_invalid");
  if (!isOfGit || error.facts["session"] !== undefined || repo === null) return undefined;
  const names = await readNames(dir);
  const store = await findStore(home, repo);
  const bad = store ? await badSnapshots(store, names) : new Map<string, string>();
  const damaged = [...names.snapshots.values()].filter(({ commit }) => bad.has(commit));
  // The snapshot that the error names, or else the latest one.
  const one = damaged.find(({ commit }) => commit === error.facts["snapshot"]) ?? latest(damaged);
  if (!store || !one) return undefined;
  const turn = Math.max(...one.turns);
  const wholeTurn = [...names.byTurn]
    .filter(([at, { files, home: ofHome }]) => at < turn && !bad.has(files) && !bad.has(ofHome))
    .reduce((last, [at]) => Math.max(last, at), 0);
  const whose = one.isHome ? "HOME" : "the files";
  const advice =
    wholeTurn > 0
      ? `continue from turn ${wholeTurn}, whose files are whole: holdfast fork ${id} --at ${wholeTurn}`
      : `no earlier turn has files that are whole: holdfast fork ${id} --at 0 starts over`;
  return new HoldfastError(
    "snapshot_invalid",
    `snapshot ${one.commit} of session ${id} (${whose} of turn ${turn}) is damaged, in ${join(home.dir, store.path)}: ${bad.get(one.commit)}; ${advice}`,
    { session: id, snapshot: one.commit, turn, wholeTurn, store: store.path },
    { cause: error },
  );
}

function latest(snapshots: readonly KeptSnapshot[]): KeptSnapshot | undefined {
  return [...snapshots].sort((a, b) => a.seq - b.seq).at(-1);
}

async function readNames(dir: string): Promise<KeptNames> {
  const names = new KeptNames();
  try {
    for await (const { record } of readDurable(dir)) names.note(record);
    names.substitute(await readHomes(dir));
  } catch (error) {
    // The names in the good records are sufficient.
    if (!damageOf(error)) throw error;
  }
  return names;
}

/** The reasons, by the commit of each damaged snapshot. */
async function badSnapshots(
  store: { readonly gitDir: string },
  { snapshots }: KeptNames,
): Promise<ReadonlyMap<string, string>> {
  const all = [...snapshots.values()].filter(({ mayBeElsewhere }) => !mayBeElsewhere);
  const unusable = await whyUnusable(store);
  if (unusable !== undefined) return new Map(all.map(({ commit }) => [commit, unusable]));
  const bad = await findBadManifests(store, all);
  const commits = all.map(({ commit }) => commit);
  for (const [commit, { path, reason }] of (await findBadObjects(store, commits)).bad)
    bad.set(commit, `${path === "" ? "its commit" : path}: ${reason}`);
  return bad;
}
