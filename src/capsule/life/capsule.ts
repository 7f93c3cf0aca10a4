/**
 * Owns a capsule that exists: it is reached, snapshot, sealed and taken away here. Its strategy provides its
 * files; the session records what happens to it.
 */
import { existsSync, readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import {
  type ComingHolder,
  type Frozen,
  freezeHeld,
  freezeMarked,
  type Sandbox,
} from "../../process/index.ts";
import { errorCode, isDiskFull } from "../../util/index.ts";
import { openBase } from "../base/bases.ts";
import type { RunSetup } from "../base/setup.ts";
import { CapsuleDir, type CapsuleSpec } from "../dir/capsule-dir.ts";
import { releasePorts } from "../dir/port-leases.ts";
import { moveToTrash, removeTree, syncFileSystem } from "../files/directories.ts";
import { giveTo } from "../files/ownership.ts";
import type { View } from "../files/view.ts";
import { rememberFiles } from "../layer/known-files.ts";
import { layerDir, MAX_LAYERS, sealUpper, settleSealing } from "../layer/layers.ts";
import { stampOf } from "../layer/stamps.ts";
import type { Repo } from "../repo/repo.ts";
import type { SnapshotLimits } from "../snapshot/choose.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { openStore, type Store } from "../store/store.ts";
import { flatten } from "../strategy/flatten.ts";
import { strategies } from "../strategy/strategies.ts";
import type { Strategy } from "../strategy/strategy.ts";
import { recordSetup } from "../strategy/worktree.ts";
import { sandboxAround } from "./borrowed.ts";
import { endCgroups } from "./cgroups.ts";
import { orDiskFull } from "./disk-full.ts";
import type { CapsuleIo } from "./io.ts";
import { measure } from "./measure.ts";

/**
 * The capsules that are being made reachable, by directory: two attempts at once would mount the files twice
 * (holder-1).
 */
const attaching = new Map<string, Promise<View>>();

/** What is known of a capsule that is being made. */
interface Begun {
  /** A holder that was started for it. */
  readonly coming?: ComingHolder | undefined;
  /** Whether its session has another capsule, in which its task works. */
  readonly isBeside?: boolean | undefined;
}

export class Capsule {
  readonly repo: Repo;
  readonly layout: CapsuleDir;
  readonly #io: CapsuleIo;
  #spec: CapsuleSpec;
  readonly #begun: Begun;
  #sandbox: Sandbox | undefined;

  constructor(io: CapsuleIo, repo: Repo, layout: CapsuleDir, spec: CapsuleSpec, begun: Begun = {}) {
    this.#io = io;
    this.#begun = begun;
    this.repo = repo;
    this.layout = layout;
    this.#spec = spec;
  }

  /** The capsule in the directory; undefined if there is none. */
  static async open(io: CapsuleIo, repo: Repo, dir: string): Promise<Capsule | undefined> {
    const layout = new CapsuleDir(dir);
    if (!(await layout.isThere())) return undefined;
    const spec = await settleSealing(io.disk, repo, layout, await layout.readSpec());
    return new Capsule(io, repo, layout, spec);
  }

  /**
   * For processes that do not own its session: nothing of it is put in order, and only `look` may be called.
   */
  static async openToLook(io: CapsuleIo, repo: Repo, dir: string): Promise<Capsule | undefined> {
    const layout = new CapsuleDir(dir);
    return (await layout.isThere()) ? new Capsule(io, repo, layout, await layout.readSpec()) : undefined;
  }

  /** Whether what it stands on is gone and nothing was written over it. Then its snapshot has all of it. */
  get isHollow(): boolean {
    const { strategy, baseKey, stack } = this.#spec;
    if (strategy !== "overlay") return !existsSync(this.layout.tree);
    const below = [
      openBase(this.repo, baseKey ?? "").tree,
      ...stack.map((layer) => layerDir(this.repo, layer)),
    ];
    const isGone = !below.every((path) => existsSync(path));
    return (
      isGone &&
      stack.length > 0 &&
      (!existsSync(this.layout.upper) || readdirSync(this.layout.upper).length === 0)
    );
  }

  get spec(): CapsuleSpec {
    return this.#spec;
  }

  get #strategy(): Strategy {
    return strategies[this.#spec.strategy];
  }

  get #ground() {
    const { homeDir, disk, onProgress } = this.#io;
    const { repo, sandbox } = this;
    return { homeDir, repo, disk, onProgress, sandbox, coming: this.#begun.coming };
  }

  async update(spec: CapsuleSpec): Promise<void> {
    await this.layout.writeSpec(this.#io.disk, spec);
    this.#spec = spec;
  }

  attach(): Promise<View> {
    const { dir } = this.layout;
    const begun = attaching.get(dir);
    if (begun) return begun;
    const attached = this.#strategy.attach(this.#ground, this.layout, this.#spec);
    attaching.set(dir, attached);
    return attached.finally(() => attaching.delete(dir));
  }

  async detach(): Promise<void> {
    // A capsule that is still being made reachable can't be ended yet.
    await attaching.get(this.layout.dir)?.catch(() => {});
    await this.#strategy.detach(this.layout);
    if (!this.#begun.isBeside) await endCgroups(this.repo, this.#spec.session);
  }

  /** What its task's sandbox shows around its files; undefined if it has none. */
  get sandbox(): Sandbox | undefined {
    if (!this.#spec.isSandboxed) return undefined;
    this.#sandbox ??= sandboxAround(this.#io.homeDir, this.repo, this.#spec.session);
    return this.#sandbox;
  }

  /** Gives the files that Holdfast wrote to the user of the capsule. Nothing of its task runs meanwhile. */
  async give(): Promise<void> {
    const user = this.sandbox?.user;
    if (!user) return;
    const { root } = await this.attach();
    giveTo(user, this.#spec.strategy === "overlay" ? this.layout.upper : this.layout.tree, root);
  }

  /** Stops whatever still runs in it, until this is disposed of. It stands still when this returns. */
  freeze(): Frozen {
    return freezeMarked(this.layout.dir);
  }

  /** The same for all processes in its namespaces, whatever their environment. The capsule is attached. */
  freezeAll(): Frozen {
    const holder = this.layout.readHolder();
    return holder ? freezeHeld(holder, this.layout.dir) : this.freeze();
  }

  store(): Promise<Store> {
    return openStore(this.repo, this.#io.disk);
  }

  /** For a capsule with a tree of its own: what set-up leaves there does not count as the task's work. */
  async setUp(runSetup: RunSetup): Promise<void> {
    const { tree, dir, listingFile } = this.layout;
    await runSetup({ tree, work: join(dir, "setup"), command: this.#spec.setup });
    await removeTree(join(dir, "setup"));
    await recordSetup(this.repo, this.#spec, tree, listingFile);
  }

  /** Takes a snapshot of everything that differs from the base. It is on disk when this returns. */
  snapshot(name: string, limits: SnapshotLimits): Promise<Snapshot> {
    return orDiskFull(this.#io.disk, () => this.#snapshot(name, limits));
  }

  /**
   * Everything that differs now, of a task that goes on. No ref names it, and no process is started to reach
   * it.
   */
  async look(limits: SnapshotLimits): Promise<Snapshot> {
    const view = this.#strategy.reached(this.layout);
    if (!view)
      throw new HoldfastError("snapshot_raced", "the capsule's files can't be reached at the moment");
    return this.#snapshotOf(view, null, limits);
  }

  async #snapshot(name: string, limits: SnapshotLimits): Promise<Snapshot> {
    const view = await this.attach();
    try {
      return await this.#snapshotOf(view, name, limits);
    } catch (error) {
      if (this.#strategy.reached(this.layout)) throw error;
      throw new HoldfastError(
        "snapshot_raced",
        "the process that holds the capsule's files was ended while they were read",
        {},
        { cause: error },
      );
    }
  }

  #snapshotOf(view: View, name: string | null, limits: SnapshotLimits): Promise<Snapshot> {
    const { repo, layout, sandbox } = this;
    const changes = this.#strategy.changes(this.#ground, layout, this.#spec, view);
    return measure(this.#io, { repo, spec: this.#spec, sandbox, view, changes, name, limits });
  }

  /**
   * Called after a snapshot, when every process of the capsule has ended: its files are those of the snapshot
   * until something is started in it again. With an overlay, the next task and forks stand on this layer at
   * once. `synced`: what `sync` returned, if it was called after the last write. If that sync failed, there is
   * no layer: the kernel reports such a failure once, so a second sync would prove nothing.
   */
  async settle(snapshot: Snapshot, synced?: Promise<void>): Promise<void> {
    await this.detach();
    if (this.#spec.strategy === "overlay") await this.#seal(snapshot, synced);
    else await this.update({ ...this.#spec, settled: snapshot.commit });
  }

  /** Begins to bring everything that was written to it to the disk. Only `settle` needs to wait for it. */
  sync(): Promise<void> {
    const synced = this.#spec.strategy === "overlay" ? syncFileSystem(this.layout.upper) : Promise.resolve();
    synced.catch(() => {});
    return synced;
  }

  /**
   * For a new capsule in which nothing has run yet: the branch of its git is at that commit, whatever the
   * files are.
   */
  async standOn(commit: string): Promise<void> {
    const { root } = await this.attach();
    await writeFile(join(root, ".git", "refs", "heads", this.#spec.branch), `${commit}\n`, { flush: true });
  }

  /** Stays the same while nothing is written to the files; undefined if that can't be checked quickly. */
  get stamp(): string | undefined {
    return this.#spec.strategy === "overlay" ? stampOf(this.layout.upper) : undefined;
  }

  /** Called before something is started in it. */
  async unsettle(): Promise<void> {
    if (this.#spec.settled !== null) await this.update({ ...this.#spec, settled: null });
  }

  async #seal({ commit, manifest, learned }: Snapshot, synced?: Promise<void>): Promise<void> {
    const { disk } = this.#io;
    try {
      const sealing = { snapshot: commit, hasOmitted: manifest.omitted.length > 0, synced };
      const { length } = this.#spec.stack;
      this.#spec = await sealUpper(disk, this.repo, this.layout, this.#spec, sealing);
      const isNew = this.#spec.stack.length > length;
      if (isNew) await rememberFiles(layerDir(this.repo, commit), learned);
      if (this.#spec.stack.length > MAX_LAYERS)
        this.#spec = await flatten(this.#ground, this.layout, this.#spec, commit);
    } catch (error) {
      // If there is no space or no permission for a layer, the capsule stays as it is.
      if (!isDiskFull(error) && errorCode(error) !== "EACCES") throw error;
      this.#spec = await settleSealing(disk, this.repo, this.layout, await this.layout.readSpec());
    }
  }

  /** The capsule is gone at once, and its bytes are deleted later. What must be kept was saved before. */
  async remove(trashDir: string, name: string): Promise<void> {
    await this.detach();
    await moveToTrash(this.#io.disk, trashDir, this.layout.dir, name);
    const { ports, session } = this.#spec;
    await releasePorts(this.#io.homeDir, Object.values(ports), session);
  }
}
