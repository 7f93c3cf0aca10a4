/**
 * Owns a capsule's life: made, reached, snapshot, sealed, brought back, taken away. How its files come to be is
 * its strategy's; what happens to the session is recorded by the session.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { HoldfastError } from "../contract/index.ts";
import { type Clock, type Disk, withFileLock } from "../util/index.ts";
import { applySnapshot } from "./apply.ts";
import { type Base, baseGitlinks, ensureBase, openBase } from "./bases.ts";
import type { Change } from "./changes.ts";
import type { Rules } from "./classify.ts";
import { moveToTrash, removeTree } from "./directories.ts";
import { git } from "./git.ts";
import { linkObjects, type Surroundings, surroundingsOf } from "./gitdir.ts";
import { includeFiles, isUnchangedInclude } from "./include.ts";
import { findLayer, MAX_LAYERS, sealUpper, settleSealing } from "./layers.ts";
import { decodeManifest, type SnapshotManifest } from "./manifest.ts";
import { overlay } from "./overlay.ts";
import { fromText } from "./path.ts";
import { type CapsuleSpec, Place, type StrategyName } from "./place.ts";
import { leasePorts, releasePorts } from "./ports.ts";
import { isAvailable } from "./probe.ts";
import { publishedBranch } from "./publish.ts";
import { hasObject, holdCommit, isUsersCommit, listGitlinks, type Repo, repoLock } from "./repo.ts";
import type { RunSetup } from "./setup.ts";
import { type Limits, type Snapshot, takeSnapshot } from "./snapshot.ts";
import { openStore, readManifestBytes, type Store } from "./store.ts";
import type { Strategy } from "./strategy.ts";
import type { View } from "./view.ts";
import { contentsOf } from "./work.ts";
import { clone, recordSetup, worktree } from "./worktree.ts";

const strategies: Readonly<Record<StrategyName, Strategy>> = { overlay, worktree, clone };

export interface CapsulePorts {
  readonly homeDir: string;
  readonly disk: Disk;
  readonly clock: Clock;
}

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
  readonly task: number;
  readonly repo: Repo;
  readonly base: string | null;
  readonly settings: CapsuleSettings;
  readonly runSetup: RunSetup;
}

export interface CreatedCapsule {
  readonly capsule: Capsule;
  /** Named in `capsule.include`, and not there. */
  readonly missingIncludes: readonly string[];
}

/** `auto`: the quickest that this machine can do. */
export async function chooseStrategy(homeDir: string, wanted: StrategyName | "auto"): Promise<StrategyName> {
  if (wanted === "worktree") return wanted;
  const candidates: readonly StrategyName[] = wanted === "auto" ? ["overlay", "clone"] : [wanted];
  let why = "";
  for (const name of candidates) {
    const found = await isAvailable(name, homeDir);
    if (found.isAvailable) return name;
    why = found.detail;
  }
  if (wanted === "auto") return "worktree";
  throw new HoldfastError(
    "strategy_unavailable",
    `capsules of the strategy ${wanted} don't work here: ${why}`,
  );
}

/** A capsule with the files of a commit. Whatever fails, nothing of it is left. */
export async function createCapsule(ports: CapsulePorts, request: NewCapsule): Promise<CreatedCapsule> {
  const { repo, base, settings, session } = request;
  const strategy = strategies[await chooseStrategy(ports.homeDir, settings.strategy)];
  const [surroundings, isUsers] = await Promise.all([
    surroundingsOf(repo),
    base === null ? true : isUsersCommit(repo, base),
  ]);
  if (base !== null) await holdCommit(repo, base);
  const { setup } = settings;
  const cached = strategy.usesBase
    ? await ensureBase(repo, ports.disk, {
        commit: base,
        setup,
        privateTo: isUsers ? undefined : session,
        surroundings,
        runSetup: request.runSetup,
      })
    : undefined;
  if (cached?.commit) await holdCommit(repo, cached.commit);
  const lower = cached ? cached.commit : base;
  const setupKey = cached?.setupKey ?? (setup === "" ? "none" : "own");
  return build(
    ports,
    request,
    strategy,
    { base, lower, setupKey, baseKey: cached?.key ?? null, stack: [] },
    surroundings,
    async (capsule) => {
      const view = await capsule.attach();
      if (lower !== base && lower !== null && base !== null) await moveOn(capsule, view, lower, base);
      if (!strategy.usesBase && setup !== "") await capsule.setUp(request.runSetup);
    },
  );
}

/** A capsule with the files of a snapshot, in a directory of its own. */
export async function restoreCapsule(
  ports: CapsulePorts,
  request: Omit<NewCapsule, "base">,
  snapshot: string,
): Promise<CreatedCapsule & { readonly left: readonly string[] }> {
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
  const { base, lower, setupKey } = manifest;
  const layer = strategy.name === "overlay" ? await findLayer(repo, snapshot) : undefined;
  if (layer && layer.stack.length < MAX_LAYERS && existsSync(openBase(repo, layer.baseKey).tree)) {
    const spec = { base, lower, setupKey, baseKey: layer.baseKey, stack: [...layer.stack] };
    const created = await build(ports, request, strategy, spec, undefined, async () => {});
    return { ...created, left: [] };
  }
  for (const commit of [base, lower]) if (commit !== null) await holdCommit(repo, commit);
  const cached = strategy.usesBase ? await baseFor(ports, request, manifest) : undefined;
  const contents = await contentsOf(store, snapshot, manifest);
  let left: readonly string[] = [];
  const spec = {
    base,
    lower: cached ? cached.commit : lower,
    setupKey,
    baseKey: cached?.key ?? null,
    stack: [],
  };
  const created = await build(ports, request, strategy, spec, undefined, async (capsule) => {
    const view = await capsule.attach();
    if (!strategy.usesBase && settings.setup !== "") await capsule.setUp(request.runSetup);
    ({ left } = await applySnapshot(view.root, store, manifest, contents));
    await linkObjects(join(view.root, ".git"), repo);
  });
  return { ...created, left };
}

/** The base that a snapshot was measured against: exactly that commit, not one near it. */
async function baseFor(
  ports: CapsulePorts,
  { repo, settings, session, runSetup }: Omit<NewCapsule, "base">,
  { lower }: SnapshotManifest,
): Promise<Base> {
  const [surroundings, isUsers] = await Promise.all([
    surroundingsOf(repo),
    lower === null ? true : isUsersCommit(repo, lower),
  ]);
  const privateTo = isUsers ? undefined : session;
  return ensureBase(repo, ports.disk, {
    commit: lower,
    setup: settings.setup,
    privateTo,
    surroundings,
    runSetup,
    isExact: true,
  });
}

async function build(
  ports: CapsulePorts,
  request: Omit<NewCapsule, "base">,
  strategy: Strategy,
  facts: Pick<CapsuleSpec, "base" | "lower" | "setupKey" | "baseKey" | "stack">,
  surroundings: Surroundings | undefined,
  fill: (capsule: Capsule) => Promise<void>,
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
    branch: publishedBranch(session, task),
    sealing: null,
    ports: {},
    included: {},
    umask: process.umask(),
  };
  const holder = `${session}/${task}`;
  let leased: Record<string, number> = {};
  const capsule = new Capsule(ports, repo, place, spec);
  try {
    await place.make();
    leased = await leasePorts(ports.homeDir, settings.ports, holder);
    // Under the lock: a base that is in use is one that a capsule.json names, or one that is being taken now.
    await withFileLock(repoLock(repo), async () => {
      if (spec.baseKey !== null && !existsSync(openBase(repo, spec.baseKey).tree))
        throw new HoldfastError("base_missing", "the base was collected meanwhile; try again");
      await place.writeSpec(ports.disk, { ...spec, ports: leased });
    });
    await strategy.populate({ homeDir: ports.homeDir, repo, disk: ports.disk }, place, spec, surroundings);
    await fill(capsule);
    const { copied, missing } = await bringIncludes(capsule, repo, settings.include);
    await capsule.update({ ...spec, ports: leased, included: copied, isWhole: true });
    return { capsule, missingIncludes: missing };
  } catch (error) {
    await strategy.detach(place).catch(() => {});
    await removeTree(place.dir);
    await releasePorts(ports.homeDir, Object.values(leased), holder);
    throw error;
  }
}

/** What a maker left that was killed: its processes, then its files. */
export async function clearUnfinished(place: Place): Promise<void> {
  if (!existsSync(place.dir)) return;
  await overlay.detach(place);
  await removeTree(place.dir);
}

async function bringIncludes(capsule: Capsule, repo: Repo, paths: readonly string[]) {
  if (paths.length === 0 || repo.checkout === null) return { copied: {}, missing: [] };
  const { root } = await capsule.attach();
  return includeFiles(repo.checkout, root, paths, repo.objectFormat);
}

/** From a base near the task's commit to that commit: the few files that differ go into the capsule. */
async function moveOn(capsule: Capsule, view: View, from: string, to: string): Promise<void> {
  // The gitdir is fresh: nobody but us has written it.
  const place = { gitDir: join(view.workTree, ".git"), workTree: view.workTree, enter: view.enter };
  await git(place, ["read-tree", "-m", "-u", from, to], { config: ["core.fsync=none"] });
  await git(place, ["update-ref", `refs/heads/${capsule.spec.branch}`, to]);
}

export class Capsule {
  readonly repo: Repo;
  readonly place: Place;
  readonly #ports: CapsulePorts;
  #spec: CapsuleSpec;

  constructor(ports: CapsulePorts, repo: Repo, place: Place, spec: CapsuleSpec) {
    this.#ports = ports;
    this.repo = repo;
    this.place = place;
    this.#spec = spec;
  }

  /** The capsule that is there; undefined where none is. */
  static async open(ports: CapsulePorts, repo: Repo, dir: string): Promise<Capsule | undefined> {
    const place = new Place(dir);
    if (!(await place.isThere())) return undefined;
    const spec = await settleSealing(ports.disk, repo, place, await place.readSpec());
    return new Capsule(ports, repo, place, spec);
  }

  get spec(): CapsuleSpec {
    return this.#spec;
  }

  get #strategy(): Strategy {
    return strategies[this.#spec.strategy];
  }

  get #ground() {
    return { homeDir: this.#ports.homeDir, repo: this.repo, disk: this.#ports.disk };
  }

  async update(spec: CapsuleSpec): Promise<void> {
    await this.place.writeSpec(this.#ports.disk, spec);
    this.#spec = spec;
  }

  attach(): Promise<View> {
    return this.#strategy.attach(this.#ground, this.place, this.#spec);
  }

  detach(): Promise<void> {
    return this.#strategy.detach(this.place);
  }

  store(): Promise<Store> {
    return openStore(this.repo, this.#ports.disk);
  }

  /** Of a tree of its own: what set-up leaves there is not the task's doing. */
  async setUp(runSetup: RunSetup): Promise<void> {
    const { tree, dir, listingFile } = this.place;
    await runSetup({ tree, work: join(dir, "setup"), command: this.#spec.setup });
    await removeTree(join(dir, "setup"));
    await recordSetup(this.repo, this.#spec, tree, listingFile);
  }

  /** Everything that differs from the base, on disk when this returns. */
  async snapshot(name: string, limits: Limits): Promise<Snapshot> {
    const view = await this.attach();
    const store = await this.store();
    const { base, lower, setupKey, branch, session } = this.#spec;
    const changes = this.#strategy.changes(this.#ground, this.place, this.#spec, view);
    return takeSnapshot({
      store,
      changes: this.#ownChanges(changes),
      rules: await this.#rules(store, view),
      limits,
      facts: { base, lower, setupKey, branch },
      session,
      name,
      atMs: this.#ports.clock.nowMs(),
    });
  }

  /** Without what every capsule gets anew: the link to the user's objects, and unchanged includes. */
  async *#ownChanges(changes: Iterable<Change> | AsyncIterable<Change>): AsyncGenerator<Change> {
    const { included } = this.#spec;
    for await (const change of changes) {
      if (!("gone" in change)) {
        const { entry, dir } = change;
        if (entry.path === ".git/objects/info/alternates") continue;
        if (
          entry.kind === "dir" &&
          Object.keys(included).some((path) => fromText(path).startsWith(`${entry.path}/`))
        )
          continue;
        if (entry.kind === "file" && isUnchangedInclude(included, dir, entry.path, this.repo.objectFormat))
          continue;
      }
      yield change;
    }
  }

  async #rules(store: Store, view: View): Promise<Rules> {
    const { baseKey, lower, included } = this.#spec;
    const gitlinks =
      baseKey === null ? await listGitlinks(this.repo, lower) : await baseGitlinks(this.repo, baseKey);
    return {
      gitDir: store.gitDir,
      view,
      index: baseKey === null ? undefined : openBase(this.repo, baseKey).index,
      gitlinks: new Set(gitlinks),
      included: Object.keys(included).map(fromText),
    };
  }

  /** After a snapshot, with every process of the capsule gone: forks stand on this layer at once. */
  async seal(snapshot: string): Promise<void> {
    if (this.#spec.strategy !== "overlay") return;
    await this.detach();
    this.#spec = await sealUpper(this.#ports.disk, this.repo, this.place, this.#spec, snapshot);
  }

  /** Gone at once; its bytes follow. What must be kept was taken before. */
  async remove(trashDir: string, name: string): Promise<void> {
    await this.detach();
    await moveToTrash(this.#ports.disk, trashDir, this.place.dir, name);
    const { ports, session, task } = this.#spec;
    await releasePorts(this.#ports.homeDir, Object.values(ports), `${session}/${task}`);
  }
}
