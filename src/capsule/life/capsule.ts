/**
 * Owns a capsule that is there: reached, snapshot, sealed, taken away. How its files come to be is its strategy's;
 * what happens to the session is recorded by the session.
 */
import { existsSync, readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { type ComingHolder, freezeMarked, type Sandbox } from "../../process/index.ts";
import { errorCode, isDiskFull } from "../../util/index.ts";
import { openBase } from "../base/bases.ts";
import type { RunSetup } from "../base/setup.ts";
import { CapsuleDir, type CapsuleSpec } from "../dir/capsule-dir.ts";
import { releasePorts } from "../dir/port-leases.ts";
import { moveToTrash, removeTree } from "../files/directories.ts";
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

/** By their directories, those that are being made reachable: two at once would mount the same files twice (K12). */
const attaching = new Map<string, Promise<View>>();

export class Capsule {
  readonly repo: Repo;
  readonly layout: CapsuleDir;
  readonly #io: CapsuleIo;
  #spec: CapsuleSpec;
  readonly #coming: ComingHolder | undefined;
  #sandbox: Sandbox | undefined;

  /** `coming`: a holder that was begun for it. */
  constructor(io: CapsuleIo, repo: Repo, layout: CapsuleDir, spec: CapsuleSpec, coming?: ComingHolder) {
    this.#io = io;
    this.#coming = coming;
    this.repo = repo;
    this.layout = layout;
    this.#spec = spec;
  }

  /** The capsule that is there; undefined where none is. */
  static async open(io: CapsuleIo, repo: Repo, dir: string): Promise<Capsule | undefined> {
    const layout = new CapsuleDir(dir);
    if (!(await layout.isThere())) return undefined;
    const spec = await settleSealing(io.disk, repo, layout, await layout.readSpec());
    return new Capsule(io, repo, layout, spec);
  }

  /** For those who do not own its session: nothing of it is put in order, and only `look` may be asked of it. */
  static async openToLook(io: CapsuleIo, repo: Repo, dir: string): Promise<Capsule | undefined> {
    const layout = new CapsuleDir(dir);
    return (await layout.isThere()) ? new Capsule(io, repo, layout, await layout.readSpec()) : undefined;
  }

  /** Whether what it stands on is gone, and nothing was written over it: then its snapshot has all of it. */
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
    return { homeDir, repo, disk, onProgress, sandbox, coming: this.#coming };
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
    // What is being made reachable is not there to be ended yet.
    await attaching.get(this.layout.dir)?.catch(() => {});
    await this.#strategy.detach(this.layout);
    await endCgroups(this.repo, this.#spec.session);
  }

  /** What its task's sandbox shows around its files; undefined where it has none. */
  get sandbox(): Sandbox | undefined {
    if (!this.#spec.isSandboxed) return undefined;
    this.#sandbox ??= sandboxAround(this.#io.homeDir, this.repo, this.#spec.session);
    return this.#sandbox;
  }

  /** What we wrote among its files is its user's from here on. Nothing of its task runs meanwhile. */
  async give(): Promise<void> {
    const user = this.sandbox?.user;
    if (!user) return;
    const { root } = await this.attach();
    giveTo(user, this.#spec.strategy === "overlay" ? this.layout.upper : this.layout.tree, root);
  }

  /** Whatever still runs in it stands still, until this is disposed of. */
  freeze(): Disposable {
    return freezeMarked(this.layout.dir);
  }

  store(): Promise<Store> {
    return openStore(this.repo, this.#io.disk);
  }

  /** Of a tree of its own: what set-up leaves there is not the task's doing. */
  async setUp(runSetup: RunSetup): Promise<void> {
    const { tree, dir, listingFile } = this.layout;
    await runSetup({ tree, work: join(dir, "setup"), command: this.#spec.setup });
    await removeTree(join(dir, "setup"));
    await recordSetup(this.repo, this.#spec, tree, listingFile);
  }

  /** Everything that differs from the base, on disk when this returns. */
  snapshot(name: string, limits: SnapshotLimits): Promise<Snapshot> {
    return orDiskFull(this.#io.disk, () => this.#snapshot(name, limits));
  }

  /** Everything that differs now, of a task that goes on: nothing names it, and nothing is started to reach it. */
  async look(limits: SnapshotLimits): Promise<Snapshot> {
    const view = this.#strategy.reached(this.layout);
    if (!view) throw new HoldfastError("snapshot_raced", "the capsule's files can't be reached just now");
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
   * After a snapshot, with every process of the capsule gone: its files are those of the snapshot until something is
   * started in it again. On an overlay the next task and forks stand on this layer at once.
   */
  async settle(snapshot: Snapshot): Promise<void> {
    await this.detach();
    if (this.#spec.strategy === "overlay") await this.#seal(snapshot);
    else await this.update({ ...this.#spec, settled: snapshot.commit });
  }

  /** Of a new one, in which nothing ran yet: the branch of its git is at that commit, whatever the files are. */
  async standOn(commit: string): Promise<void> {
    const { root } = await this.attach();
    await writeFile(join(root, ".git", "refs", "heads", this.#spec.branch), `${commit}\n`, { flush: true });
  }

  /** The same for as long as nothing is written to its files; undefined where that can't be told quickly. */
  get stamp(): string | undefined {
    return this.#spec.strategy === "overlay" ? stampOf(this.layout.upper) : undefined;
  }

  /** Something is about to be started in it. */
  async unsettle(): Promise<void> {
    if (this.#spec.settled !== null) await this.update({ ...this.#spec, settled: null });
  }

  async #seal({ commit, manifest, learned }: Snapshot): Promise<void> {
    const { disk } = this.#io;
    try {
      const sealing = { snapshot: commit, hasOmitted: manifest.omitted.length > 0 };
      const { length } = this.#spec.stack;
      this.#spec = await sealUpper(disk, this.repo, this.layout, this.#spec, sealing);
      const isNew = this.#spec.stack.length > length;
      if (isNew) await rememberFiles(layerDir(this.repo, commit), learned);
      if (this.#spec.stack.length > MAX_LAYERS)
        this.#spec = await flatten(this.#ground, this.layout, this.#spec, commit);
    } catch (error) {
      // Without space for a layer, or a way to it, the capsule goes on as it is.
      if (!isDiskFull(error) && errorCode(error) !== "EACCES") throw error;
      this.#spec = await settleSealing(disk, this.repo, this.layout, await this.layout.readSpec());
    }
  }

  /** Gone at once; its bytes follow. What must be kept was taken before. */
  async remove(trashDir: string, name: string): Promise<void> {
    await this.detach();
    await moveToTrash(this.#io.disk, trashDir, this.layout.dir, name);
    const { ports, session } = this.#spec;
    await releasePorts(this.#io.homeDir, Object.values(ports), session);
  }
}
