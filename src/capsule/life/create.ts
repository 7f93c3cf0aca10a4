/**
 * Owns the making of capsules, from a commit or from a snapshot. Whatever fails, nothing of it is left.
 */
import { existsSync } from "node:fs";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { withFileLock } from "../../util/index.ts";
import { type Base, ensureBase, openBase } from "../base/bases.ts";
import type { RunSetup } from "../base/setup.ts";
import { removeTree, syncFileSystem } from "../files/directories.ts";
import { type BytePath, fromText } from "../files/path.ts";
import type { View } from "../files/view.ts";
import { ConfinedGit } from "../git/confined.ts";
import { linkObjects, makeGitdir, type Surroundings, surroundingsOf } from "../gitdir/gitdir.ts";
import { findLayer, layerDir } from "../layer/layers.ts";
import { type Included, includeFiles } from "../place/include.ts";
import { leasePorts, releasePorts } from "../place/leases.ts";
import { type CapsuleSpec, Place, type StrategyName } from "../place/place.ts";
import { holdCommit } from "../repo/held.ts";
import { hasObject, isUsersCommit, type Repo, readCommittedBytes, repoLock } from "../repo/repo.ts";
import { applySnapshot } from "../snapshot/apply.ts";
import type { Limits } from "../snapshot/choose.ts";
import { contentsOf } from "../store/contents.ts";
import { decodeManifest } from "../store/manifest.ts";
import { openStore, readManifestBytes } from "../store/store.ts";
import { chooseStrategy, strategies } from "../strategy/strategies.ts";
import type { Strategy } from "../strategy/strategy.ts";
import { Capsule, type CapsulePorts, orDiskFull } from "./capsule.ts";

export interface CapsuleSettings {
  readonly strategy: StrategyName | "auto";
  readonly setup: string;
  readonly include: readonly string[];
  readonly ports: readonly string[];
  readonly limits: Limits;
}

export interface NewCapsule {
  readonly dir: string;
  readonly session: string;
  /** That its own git begins on. */
  readonly branch: string;
  readonly task: number;
  readonly repo: Repo;
  readonly base: string | null;
  readonly settings: CapsuleSettings;
  /** Whether what runs in it is sandboxed. */
  readonly isSandboxed: boolean;
  readonly runSetup: RunSetup;
  readonly signal?: AbortSignal | undefined;
}

export interface CreatedCapsule {
  readonly capsule: Capsule;
  /** Named in `capsule.include`, and not there. */
  readonly missingIncludes: readonly string[];
}

/** A capsule with the files of a commit. Whatever fails, nothing of it is left. */
export function createCapsule(ports: CapsulePorts, request: NewCapsule): Promise<CreatedCapsule> {
  return orDiskFull(ports.disk, () => create(ports, request));
}

async function create(ports: CapsulePorts, request: NewCapsule): Promise<CreatedCapsule> {
  const strategy = strategies[await chooseStrategy(ports.homeDir, request.settings.strategy)];
  try {
    // Only an overlay can take a few files from elsewhere.
    return await createOn(ports, request, strategy, { isExact: strategy.name !== "overlay" });
  } catch (error) {
    // Set-up may have changed a file that differs between the base and a commit near it; or it was just collected.
    const isWorthAnother = isHoldfastError(error, "git_failed") || isCollected(error);
    if (!isWorthAnother || !strategy.usesBase) throw error;
    return createOn(ports, request, strategy, { isExact: true });
  }
}

const isCollected = (error: unknown) =>
  isHoldfastError(error, "base_missing") && error.facts["isCollected"] === true;

async function createOn(
  ports: CapsulePorts,
  request: NewCapsule,
  strategy: Strategy,
  { isExact }: { readonly isExact: boolean },
): Promise<CreatedCapsule> {
  const { repo, base, settings } = request;
  const surroundings = await surroundingsOf(repo);
  if (surroundings.refs.some(({ name }) => name === "refs/heads/holdfast"))
    throw new HoldfastError(
      "publish_refused",
      "a branch named holdfast stands in the way of holdfast/…: rename it",
    );
  if (base !== null) await holdCommit(repo, base);
  const cached = strategy.usesBase ? await findBase(ports, request, base, surroundings, isExact) : undefined;
  const lower = cached ? cached.commit : base;
  const setupKey = cached?.setupKey ?? (settings.setup === "" ? "none" : "own");
  const facts = { base, lower, setupKey, baseKey: cached?.key ?? null, stack: [], settled: null };
  return build(ports, request, strategy, facts, surroundings, async (capsule) => {
    const view = await capsule.attach();
    if (strategy.name === "overlay" && lower !== base && lower !== null && base !== null)
      await moveOn(capsule, surroundings, view, lower, base);
    if (!strategy.usesBase && settings.setup !== "") await capsule.setUp(request.runSetup);
  });
}

async function findBase(
  ports: CapsulePorts,
  { repo, settings, session, runSetup, signal }: Omit<NewCapsule, "base">,
  commit: string | null,
  surroundings: Surroundings,
  isExact: boolean,
): Promise<Base> {
  const isUsers = commit === null || (await isUsersCommit(repo, commit));
  const privateTo = isUsers ? undefined : session;
  return ensureBase(repo, ports, {
    commit,
    setup: settings.setup,
    privateTo,
    surroundings,
    runSetup,
    signal,
    isExact,
    onProgress: ports.onProgress,
  });
}

export interface RestoredCapsule extends CreatedCapsule {
  /** Sockets and devices, which have no content. */
  readonly left: readonly string[];
}

/** With `base`: what it is to stand on from now on; default: what it stood on. */
export type RestoreRequest = Omit<NewCapsule, "base"> & { readonly base?: string | null };

/** A capsule with the files of a snapshot, in a directory of its own. */
export function restoreCapsule(
  ports: CapsulePorts,
  request: RestoreRequest,
  snapshot: string,
): Promise<RestoredCapsule> {
  return orDiskFull(ports.disk, () => restore(ports, request, snapshot));
}

async function restore(
  ports: CapsulePorts,
  request: RestoreRequest,
  snapshot: string,
): Promise<RestoredCapsule> {
  const { repo, settings } = request;
  const store = await openStore(repo, ports.disk);
  const manifest = decodeManifest(await readManifestBytes(store, snapshot));
  for (const commit of [manifest.base, manifest.lower])
    if (commit !== null && !(await hasObject(repo, commit)))
      throw new HoldfastError(
        "base_missing",
        `the snapshot stands on commit ${commit}, which is not in ${repo.checkout ?? repo.gitDir}`,
        { base: commit },
      );
  const strategy = strategies[await chooseStrategy(ports.homeDir, settings.strategy)];
  const { lower, setupKey } = manifest;
  const base = request.base === undefined ? manifest.base : request.base;
  const removed = new Set(manifest.gone);
  const layer = strategy.name === "overlay" ? await findLayer(repo, snapshot) : undefined;
  if (layer) {
    const spec = {
      base,
      lower,
      setupKey,
      baseKey: layer.baseKey,
      stack: [...layer.stack],
      settled: snapshot,
    };
    try {
      return {
        ...(await build(ports, request, strategy, spec, undefined, async () => {}, removed)),
        left: [],
      };
    } catch (error) {
      // The layer, or its base, was collected: the snapshot has all of it.
      if (!isCollected(error)) throw error;
    }
  }
  for (const commit of [base, lower]) if (commit !== null) await holdCommit(repo, commit);
  // Exactly the commit that the snapshot was measured against, not one near it.
  const surroundings = await surroundingsOf(repo);
  const cached = strategy.usesBase ? await findBase(ports, request, lower, surroundings, true) : undefined;
  const { contents } = await contentsOf(store, snapshot, manifest);
  let left: readonly string[] = [];
  const spec = {
    base,
    lower: cached ? cached.commit : lower,
    setupKey,
    baseKey: cached?.key ?? null,
    stack: [],
    settled: snapshot,
  };
  const fill = async (capsule: Capsule) => {
    const view = await capsule.attach();
    if (!strategy.usesBase && settings.setup !== "") await capsule.setUp(request.runSetup);
    ({ left } = await applySnapshot(view.root, store, manifest, contents, {
      onProgress: ports.onProgress,
    }));
    linkObjects(view.root, repo);
  };
  const created = await build(ports, request, strategy, spec, undefined, fill, removed);
  return { ...created, left };
}

async function build(
  ports: CapsulePorts,
  request: Omit<NewCapsule, "base">,
  strategy: Strategy,
  facts: Pick<CapsuleSpec, "base" | "lower" | "setupKey" | "baseKey" | "stack" | "settled">,
  surroundings: Surroundings | undefined,
  fill: (capsule: Capsule) => Promise<void>,
  removed: ReadonlySet<BytePath> = new Set(),
): Promise<CreatedCapsule> {
  const { repo, session, task, settings } = request;
  const place = new Place(request.dir);
  if (await place.isThere())
    throw new HoldfastError("capsule_exists", `task ${task} has a capsule already`, { task });
  await clearUnfinished(place);
  const spec: CapsuleSpec = {
    isWhole: false,
    ...facts,
    strategy: strategy.name,
    session,
    task,
    repo: repo.key,
    setup: settings.setup,
    branch: request.branch,
    sealing: null,
    previous: null,
    ports: {},
    included: {},
    umask: process.umask(),
    isSandboxed: request.isSandboxed,
  };
  let leased: Record<string, number> = {};
  const capsule = new Capsule(ports, repo, place, spec);
  try {
    await place.make();
    leased = await leasePorts(ports.homeDir, settings.ports, session);
    // Under the lock: a base that is in use is one that a capsule.json names, or one that is being taken now.
    await withFileLock(repoLock(repo), async () => {
      const needed = [
        ...(spec.baseKey === null ? [] : [openBase(repo, spec.baseKey).tree]),
        ...spec.stack.map((layer) => layerDir(repo, layer)),
      ];
      if (!needed.every((path) => existsSync(path)))
        throw new HoldfastError("base_missing", "the base was collected meanwhile", { isCollected: true });
      for (const commit of [spec.base, spec.lower]) if (commit !== null) await holdCommit(repo, commit);
      await place.writeSpec(ports.disk, { ...spec, ports: leased });
    });
    await strategy.populate({ ...ports, repo }, place, spec, surroundings);
    await fill(capsule);
    const { copied, missing } = await bringIncludes(capsule, repo, settings.include, removed);
    // What was written for this capsule alone is on disk before it counts as there. An overlay's own few files are.
    if (surroundings === undefined ? spec.stack.length === 0 : !strategy.usesBase)
      await syncFileSystem(place.dir);
    await capsule.update({ ...spec, ports: leased, included: copied, isWhole: true });
    return { capsule, missingIncludes: missing };
  } catch (error) {
    await strategy.detach(place).catch(() => {});
    await removeTree(place.dir);
    await releasePorts(ports.homeDir, Object.values(leased), session);
    throw error;
  }
}

/** What a maker left that was killed: its processes, then its files. */
export async function clearUnfinished(place: Place): Promise<void> {
  if (!existsSync(place.dir)) return;
  await detachCapsule(place);
  await removeTree(place.dir);
}

/** Ends whatever runs in it, also where what is written down about it can't be read. */
export async function detachCapsule(place: Place): Promise<void> {
  if (!existsSync(place.dir)) return;
  const spec = await place.readSpec().catch(() => undefined);
  await strategies[spec?.strategy ?? "overlay"].detach(place);
}

export async function bringIncludes(
  capsule: Capsule,
  repo: Repo,
  paths: readonly string[],
  removed: ReadonlySet<BytePath>,
): Promise<Included> {
  if (paths.length === 0 || repo.checkout === null) return { copied: {}, missing: [] };
  const { root } = await capsule.attach();
  const { copied, missing } = includeFiles(repo.checkout, root, paths, repo.objectFormat, removed);
  const own: [string, string][] = [];
  for (const [path, id] of Object.entries(copied)) {
    // What the base has is the task's to change and to publish, like any other file.
    const isTracked = (await readCommittedBytes(repo, capsule.spec.base, fromText(path))) !== undefined;
    if (!isTracked) own.push([path, id]);
  }
  return { copied: Object.fromEntries(own), missing };
}

const MOVE_MS = 5 * 60_000;

/** From a base near the task's commit to that commit: the few files that differ go into the capsule. */
async function moveOn(
  capsule: Capsule,
  surroundings: Surroundings,
  view: View,
  from: string,
  to: string,
): Promise<void> {
  const { place, repo, spec } = capsule;
  // With a gitdir of its own, beside the files: whatever set-up left among them is not opened.
  const gitDir = join(place.dir, "moving");
  const { index } = openBase(repo, spec.baseKey ?? "");
  await makeGitdir({ path: gitDir, repo, surroundings, branch: "moving", commit: from, index });
  // Set-up may have left attributes, which git reads on the way.
  const confined = new ConfinedGit({ gitDir, view, sandbox: capsule.sandbox, config: ["core.fsync=none"] });
  const args = ["read-tree", "-m", "-u", from, to];
  const question = { timeoutMs: MOVE_MS, maxOutputBytes: 0, writable: [gitDir] };
  if (!(await confined.ask(args, question)))
    throw new HoldfastError("git_failed", `git can't go from ${from} to ${to}`);
  // Through the mount: what lies below it is the kernel's while it stands.
  const own = join(view.root, ".git");
  await copyFile(join(gitDir, "index"), join(own, "index"));
  await writeFile(join(own, "refs", "heads", spec.branch), `${to}\n`, { flush: true });
  await removeTree(gitDir);
}
