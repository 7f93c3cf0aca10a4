/**
 * Owns the steps that every new capsule goes through, whatever its files come from. Its description is
 * written before anything is made, and it counts as existing when all of it is on disk. If a step fails,
 * nothing of it is left.
 */
import { existsSync } from "node:fs";
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import type { ComingHolder, Sandbox } from "../../process/index.ts";
import { withFileLock } from "../../util/index.ts";
import { type Base, ensureBase, openBase } from "../base/bases.ts";
import type { RunSetup } from "../base/setup.ts";
import { CapsuleDir, type CapsuleSpec, type StrategyName } from "../dir/capsule-dir.ts";
import { type Included, includeFiles } from "../dir/include.ts";
import { leasePorts, releasePorts } from "../dir/port-leases.ts";
import { removeTree, syncFileSystem } from "../files/directories.ts";
import { type BytePath, fromText } from "../files/path.ts";
import type { Surroundings } from "../gitdir/gitdir.ts";
import { layerDir } from "../layer/layers.ts";
import { readCommittedBytes } from "../repo/commits.ts";
import { holdCommit } from "../repo/held.ts";
import { isUsersCommit } from "../repo/refs.ts";
import { type Repo, repoLock } from "../repo/repo.ts";
import type { SnapshotLimits } from "../snapshot/choose.ts";
import { strategies } from "../strategy/strategies.ts";
import type { Strategy } from "../strategy/strategy.ts";
import { Capsule } from "./capsule.ts";
import { endCgroups } from "./cgroups.ts";
import type { CapsuleIo } from "./io.ts";

export interface CapsuleSettings {
  readonly strategy: StrategyName | "auto";
  readonly setup: string;
  /** The hosts that `setup` may reach. */
  readonly setupHosts: readonly string[];
  readonly include: readonly string[];
  readonly ports: readonly string[];
  readonly limits: SnapshotLimits;
}

export interface NewCapsule {
  readonly dir: string;
  readonly session: string;
  /** The branch that its own git begins on. */
  readonly branch: string;
  readonly task: number;
  readonly repo: Repo;
  readonly base: string | null;
  readonly settings: CapsuleSettings;
  /** The sandbox that its processes run in. Undefined: they have none. */
  readonly sandbox: Sandbox | undefined;
  /** A holder that was started for it before its files were ready. */
  readonly coming?: ComingHolder | undefined;
  /** Whether it is removed when the process that makes it ends. Then nothing of it is synced. */
  readonly isPassing?: boolean;
  readonly runSetup: RunSetup;
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether a task of the session works in another capsule meanwhile. Processes there continue when this
   * capsule ends.
   */
  readonly isBeside?: boolean | undefined;
}

export interface CreatedCapsule {
  readonly capsule: Capsule;
  /** Names in `capsule.include` that the checkout does not have. */
  readonly missingIncludes: readonly string[];
}

export const isCollected = (error: unknown) =>
  isHoldfastError(error, "base_missing") && error.facts["isCollected"] === true;

export async function findBase(
  io: CapsuleIo,
  { repo, settings, session, sandbox, runSetup, signal, isBeside }: Omit<NewCapsule, "base">,
  commit: string | null,
  surroundings: Surroundings,
  isExact: boolean,
): Promise<Base> {
  const isUsers = commit === null || (await isUsersCommit(repo, commit));
  const privateTo = isUsers ? undefined : session;
  const building = ensureBase(repo, io, {
    commit,
    setup: settings.setup,
    setupHosts: settings.setupHosts,
    privateTo,
    surroundings,
    sandbox,
    runSetup,
    signal,
    isExact,
    onProgress: io.onProgress,
  });
  return building.catch(async (error: unknown) => {
    // No later capsule of the session will end them.
    if (!isBeside) await endCgroups(repo, session).catch(() => {});
    throw error;
  });
}

export async function build(
  io: CapsuleIo,
  request: Omit<NewCapsule, "base">,
  strategy: Strategy,
  facts: Pick<CapsuleSpec, "base" | "lower" | "setupKey" | "baseKey" | "stack" | "settled">,
  surroundings: Surroundings | undefined,
  fill: (capsule: Capsule) => Promise<void>,
  removed: ReadonlySet<BytePath> = new Set(),
): Promise<CreatedCapsule> {
  const { repo, session, task, settings, isPassing = false } = request;
  const layout = new CapsuleDir(request.dir);
  if (await layout.isThere())
    throw new HoldfastError("capsule_exists", `task ${task} already has a capsule`, { task });
  await clearUnfinished(layout);
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
    isSandboxed: request.sandbox !== undefined,
  };
  let leased: Record<string, number> = {};
  const { coming, isBeside } = request;
  const capsule = new Capsule(io, repo, layout, spec, { coming, isBeside });
  try {
    await layout.make();
    leased = await leasePorts(io.homeDir, settings.ports, session);
    // Under the lock: a base is in use if a capsule.json names it, or if it is being taken now.
    await withFileLock(repoLock(repo), async () => {
      const needed = [
        ...(spec.baseKey === null ? [] : [openBase(repo, spec.baseKey).tree]),
        ...spec.stack.map((layer) => layerDir(repo, layer)),
      ];
      if (!needed.every((path) => existsSync(path)))
        throw new HoldfastError("base_missing", "gc removed the base of the capsule in the meantime", {
          isCollected: true,
        });
      for (const commit of [spec.base, spec.lower]) if (commit !== null) await holdCommit(repo, commit);
      await layout.writeSpec(io.disk, { ...spec, ports: leased });
    });
    await strategy.populate({ ...io, repo, sandbox: request.sandbox, isPassing }, layout, spec, surroundings);
    await fill(capsule);
    const { copied, missing } = await bringIncludes(capsule, repo, settings.include, removed);
    await capsule.give();
    // What was written for this capsule alone is on disk before it counts as existing. So are the few files
    // of an overlay.
    const isOwn = surroundings === undefined ? spec.stack.length === 0 : !strategy.usesBase;
    if (isOwn && !isPassing) await syncFileSystem(layout.dir);
    await capsule.update({ ...spec, ports: leased, included: copied, isWhole: true });
    return { capsule, missingIncludes: missing };
  } catch (error) {
    await capsule.detach().catch(() => {});
    await removeTree(layout.dir);
    await releasePorts(io.homeDir, Object.values(leased), session);
    throw error;
  }
}

/** Clears what the maker of a capsule left when it was killed: its processes, then its files. */
export async function clearUnfinished(layout: CapsuleDir): Promise<void> {
  if (!existsSync(layout.dir)) return;
  await detachCapsule(layout);
  await removeTree(layout.dir);
}

/** Ends every process in it, even if its description can't be read. */
export async function detachCapsule(layout: CapsuleDir): Promise<void> {
  if (!existsSync(layout.dir)) return;
  const spec = await layout.readSpec().catch(() => undefined);
  await strategies[spec?.strategy ?? "overlay"].detach(layout);
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
    // A file that the base has belongs to the task, which may change and publish it like any other.
    const isTracked = (await readCommittedBytes(repo, capsule.spec.base, fromText(path))) !== undefined;
    if (!isTracked) own.push([path, id]);
  }
  return { copied: Object.fromEntries(own), missing };
}
