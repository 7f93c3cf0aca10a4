/**
 * Owns a capsule that is there: reached, snapshot, sealed, taken away. How its files come to be is its strategy's;
 * what happens to the session is recorded by the session.
 */
import { chmodSync, existsSync, readdirSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { freezeMarked, type SandboxView } from "../../process/index.ts";
import {
  type Clock,
  type Disk,
  errorCode,
  isDiskFull,
  type OnProgress,
  sha256Hex,
} from "../../util/index.ts";
import { baseGitlinks, openBase } from "../base/bases.ts";
import type { RunSetup } from "../base/setup.ts";
import type { Change } from "../files/changes.ts";
import { moveToTrash, removeTree } from "../files/directories.ts";
import { Cursor } from "../files/open-dir.ts";
import { fromText } from "../files/path.ts";
import type { View } from "../files/view.ts";
import { ConfinedGit, makeEmptyGitdir } from "../git/confined.ts";
import { KnownFiles, rememberFiles } from "../layer/known-files.ts";
import { layerDir, MAX_LAYERS, sealUpper, settleSealing } from "../layer/layers.ts";
import { isUnchangedInclude } from "../place/include.ts";
import { releasePorts } from "../place/leases.ts";
import { type CapsuleSpec, Place } from "../place/place.ts";
import { committedCrlf, isGitlink, listCommit, type Repo, userExcludes } from "../repo/repo.ts";
import type { Limits } from "../snapshot/choose.ts";
import type { Rules } from "../snapshot/classify.ts";
import { type Snapshot, takeSnapshot } from "../snapshot/snapshot.ts";
import { makeAside, openStore, type Store } from "../store/store.ts";
import { flatten } from "../strategy/flatten.ts";
import { strategies } from "../strategy/strategies.ts";
import type { Strategy } from "../strategy/strategy.ts";
import { recordSetup } from "../strategy/worktree.ts";
import { sandboxAround } from "./borrowed.ts";

export interface CapsulePorts {
  readonly homeDir: string;
  readonly disk: Disk;
  readonly clock: Clock;
  /** Hears what long work is at. */
  readonly onProgress?: OnProgress | undefined;
}

const ANSWER_MS = 30_000;

/**
 * What the disk says when it is full, as an error with a way out; but first once more, when there was room to be
 * made. So it is only for work that leaves nothing when it fails.
 */
export async function orDiskFull<T>(disk: Disk, work: () => Promise<T>): Promise<T> {
  const isFull = (error: unknown) => isDiskFull(error) || isHoldfastError(error, "disk_full");
  for (let isAgain = false; ; isAgain = true) {
    try {
      return await work();
    } catch (error) {
      if (isFull(error) && !isAgain && (await disk.makeRoom())) continue;
      throw isDiskFull(error)
        ? new HoldfastError("disk_full", "the disk is full", {}, { cause: error })
        : error;
    }
  }
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

  /** For those who do not own its session: nothing of it is put in order, and only `look` may be asked of it. */
  static async openToLook(ports: CapsulePorts, repo: Repo, dir: string): Promise<Capsule | undefined> {
    const place = new Place(dir);
    return (await place.isThere()) ? new Capsule(ports, repo, place, await place.readSpec()) : undefined;
  }

  /** Whether what it stands on is gone, and nothing was written over it: then its snapshot has all of it. */
  get isHollow(): boolean {
    const { strategy, baseKey, stack } = this.#spec;
    if (strategy !== "overlay") return !existsSync(this.place.tree);
    const below = [
      openBase(this.repo, baseKey ?? "").tree,
      ...stack.map((layer) => layerDir(this.repo, layer)),
    ];
    const isGone = !below.every((path) => existsSync(path));
    return (
      isGone &&
      stack.length > 0 &&
      (!existsSync(this.place.upper) || readdirSync(this.place.upper).length === 0)
    );
  }

  get spec(): CapsuleSpec {
    return this.#spec;
  }

  get #strategy(): Strategy {
    return strategies[this.#spec.strategy];
  }

  get #ground() {
    const { homeDir, disk, onProgress } = this.#ports;
    return { homeDir, repo: this.repo, disk, onProgress };
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

  /** What its task's sandbox shows around its files; undefined where it has none. */
  get sandbox(): Omit<SandboxView, "tree" | "writable"> | undefined {
    const { isSandboxed } = this.#spec;
    return isSandboxed ? sandboxAround(this.#ports.homeDir, this.repo) : undefined;
  }

  /** Whatever still runs in it stands still, until this is disposed of. */
  freeze(): Disposable {
    return freezeMarked(this.place.dir);
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
  snapshot(name: string, limits: Limits): Promise<Snapshot> {
    return orDiskFull(this.#ports.disk, () => this.#snapshot(name, limits));
  }

  /** Everything that differs now, of a task that goes on: nothing names it, and nothing is started to reach it. */
  async look(limits: Limits): Promise<Snapshot> {
    const view = this.#strategy.reached(this.place);
    if (!view) throw new HoldfastError("snapshot_raced", "the capsule's files can't be reached just now");
    return this.#snapshotOf(view, null, limits);
  }

  async #snapshot(name: string, limits: Limits): Promise<Snapshot> {
    const view = await this.attach();
    try {
      return await this.#snapshotOf(view, name, limits);
    } catch (error) {
      if (this.#strategy.reached(this.place)) throw error;
      throw new HoldfastError(
        "snapshot_raced",
        "the process that holds the capsule's files was ended while they were read",
        {},
        { cause: error },
      );
    }
  }

  async #snapshotOf(view: View, name: string | null, limits: Limits): Promise<Snapshot> {
    // Its owner may have locked everybody out of all of it; the mode of the root is nobody's file.
    if ((statSync(view.root).mode & 0o700) !== 0o700) chmodSync(view.root, 0o755);
    const store = await this.store();
    const aside = await makeAside(store);
    try {
      const { base, lower, setupKey, branch, session } = this.#spec;
      const changes = this.#strategy.changes(this.#ground, this.place, this.#spec, view);
      return await takeSnapshot({
        store,
        known: await KnownFiles.read(this.#spec.stack.map((layer) => layerDir(this.repo, layer))),
        changes: this.#ownChanges(changes, view),
        rules: await this.#rules(view, aside, limits.answerMs ?? ANSWER_MS),
        limits,
        facts: { base, lower, setupKey, branch },
        session,
        name,
        atMs: this.#ports.clock.nowMs(),
        onProgress: this.#ports.onProgress,
      });
    } finally {
      await removeTree(aside);
    }
  }

  /** Without what every capsule gets anew: the link to the user's objects, and unchanged includes. */
  async *#ownChanges(changes: Iterable<Change> | AsyncIterable<Change>, view: View): AsyncGenerator<Change> {
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
        if (
          (entry.kind === "file" || entry.kind === "symlink") &&
          isUnchangedInclude(included, dir, entry.path, this.repo.objectFormat)
        )
          continue;
      }
      yield change;
    }
    // No base has them, so nothing else would tell that they are gone.
    using cursor = new Cursor(view.root);
    for (const path of Object.keys(included).map(fromText))
      if (!cursor.inParent(path, (dir, name) => dir.stat(name))) yield { gone: path };
  }

  async #rules(view: View, aside: string, answerMs: number): Promise<Rules> {
    const { baseKey, lower, included } = this.#spec;
    const listed = baseKey === null ? await listCommit(this.repo, lower) : [];
    const gitlinks =
      baseKey === null
        ? listed.filter(isGitlink).map(({ path }) => path)
        : await baseGitlinks(this.repo, baseKey);
    const gitDir = join(aside, "git");
    await makeEmptyGitdir(gitDir, this.repo.objectFormat);
    await mkdir(join(gitDir, "info"));
    const excludes = await userExcludes(this.repo);
    await writeFile(join(gitDir, "info", "exclude"), excludes);
    return {
      key: sha256Hex(JSON.stringify([excludes, baseKey, lower, gitlinks, Object.keys(included)])),
      confined: new ConfinedGit({ gitDir, view, sandbox: this.sandbox }),
      view,
      aside,
      index: baseKey === null ? undefined : openBase(this.repo, baseKey).index,
      gitlinks: new Set(gitlinks),
      tracked: new Set(listed.map(({ path }) => path)),
      included: Object.keys(included).map(fromText),
      algorithm: this.repo.objectFormat,
      answerMs,
      clock: this.#ports.clock,
      committedCrlf: (paths) => committedCrlf(this.repo, lower, paths),
    };
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

  /** Something is about to be started in it. */
  async unsettle(): Promise<void> {
    if (this.#spec.settled !== null) await this.update({ ...this.#spec, settled: null });
  }

  async #seal({ commit, manifest, learned }: Snapshot): Promise<void> {
    const { disk } = this.#ports;
    try {
      const sealing = { snapshot: commit, hasOmitted: manifest.omitted.length > 0 };
      const { length } = this.#spec.stack;
      this.#spec = await sealUpper(disk, this.repo, this.place, this.#spec, sealing);
      const isNew = this.#spec.stack.length > length;
      if (isNew) await rememberFiles(layerDir(this.repo, commit), learned);
      if (this.#spec.stack.length > MAX_LAYERS)
        this.#spec = await flatten(this.#ground, this.place, this.#spec, commit);
    } catch (error) {
      // Without space for a layer, or a way to it, the capsule goes on as it is.
      if (!isDiskFull(error) && errorCode(error) !== "EACCES") throw error;
      this.#spec = await settleSealing(disk, this.repo, this.place, await this.place.readSpec());
    }
  }

  /** Gone at once; its bytes follow. What must be kept was taken before. */
  async remove(trashDir: string, name: string): Promise<void> {
    await this.detach();
    await moveToTrash(this.#ports.disk, trashDir, this.place.dir, name);
    const { ports, session } = this.#spec;
    await releasePorts(this.#ports.homeDir, Object.values(ports), session);
  }
}
