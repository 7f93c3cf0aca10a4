/**
 * Owns what is said when work that needs a session's snapshots fails: which of them is damaged, where, whose turn it
 * is, and from which turn the session can go on. Git's own words say none of it. What costs time here is spent only
 * when something failed.
 */
import { join } from "node:path";
import { findBadManifests, findBadObjects, whyUnusable } from "../../capsule/index.ts";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { type FoundSession, findStore, type Home } from "../../home/index.ts";
import { damageOf, readDurable } from "../../journal/index.ts";
import { readHomes } from "../home/homes.ts";
import { KeptNames, type KeptSnapshot } from "./kept-names.ts";

type Keeper = Pick<FoundSession, "id" | "dir"> & { readonly repo: string | null };

/** What damaged snapshots make `work` fail with is `snapshot_invalid`; every other failure stays what it is. */
export async function locatingDamage<T>(home: Home, keeper: Keeper, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw (await locateDamage(home, keeper, error)) ?? error;
  }
}

/** Undefined where the failure has nothing to do with snapshots, or says all there is to say. */
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
  // The one that was needed: the one that is named, or the last one.
  const one = damaged.find(({ commit }) => commit === error.facts["snapshot"]) ?? latest(damaged);
  if (!store || !one) return undefined;
  const turn = Math.max(...one.turns);
  const wholeTurn = [...names.byTurn]
    .filter(([at, { files, home: ofHome }]) => at < turn && !bad.has(files) && !bad.has(ofHome))
    .reduce((last, [at]) => Math.max(last, at), 0);
  const whose = one.isHome ? "HOME" : "the files";
  const advice =
    wholeTurn > 0
      ? `the files of turn ${wholeTurn} are whole: holdfast fork ${id} --at ${wholeTurn}`
      : `no turn before it has files that are whole: holdfast fork ${id} --at 0 begins anew`;
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
    // What the good records name is enough to tell.
    if (!damageOf(error)) throw error;
  }
  return names;
}

/** By the commit of each: why. */
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
