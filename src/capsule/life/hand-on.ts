/**
 * Owns handing a capsule on: the next task of its session gets it with everything in it, by a rename. There
 * is no teardown in between, so nothing has to fit into a snapshot.
 *
 * hand-on-1 Until the next task is on record, the capsule can go back to the last one: `previous` names its
 *    owner. After a kill at any step it is whole in one of the two places, and `findHanded` puts it where the
 *    journal says.
 */
import { rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { ComingHolder, Sandbox } from "../../process/index.ts";
import type { Disk } from "../../util/index.ts";
import { CapsuleDir } from "../dir/capsule-dir.ts";
import { isUnchangedInclude } from "../dir/include.ts";
import { leasePorts, releasePorts } from "../dir/port-leases.ts";
import { Cursor } from "../files/cursor.ts";
import { type BytePath, fromText } from "../files/path.ts";
import { AgentGit } from "../gitdir/agent-git.ts";
import { surroundingsOf } from "../gitdir/gitdir.ts";
import { holdCommit } from "../repo/held.ts";
import type { Repo } from "../repo/repo.ts";
import { bringIncludes, type CapsuleSettings, type CreatedCapsule } from "./build.ts";
import { Capsule } from "./capsule.ts";
import type { CapsuleIo } from "./io.ts";

export interface NextTask {
  readonly dir: string;
  readonly task: number;
  readonly base: string | null;
  readonly sandbox: Sandbox | undefined;
  /** A holder that was started for it in its new place. */
  readonly coming?: ComingHolder | undefined;
}

/** Puts the capsule into its new place, not yet final: `handBack` undoes it. */
export async function handOn(io: CapsuleIo, capsule: Capsule, next: NextTask): Promise<Capsule> {
  const { repo, layout } = capsule;
  await capsule.detach();
  if (next.base !== null) await holdCommit(repo, next.base);
  const { task, base } = capsule.spec;
  await capsule.update({ ...capsule.spec, previous: { task, base } });
  const moved = new CapsuleDir(next.dir);
  await move(io.disk, layout, moved);
  const handed = new Capsule(io, repo, moved, capsule.spec, { coming: next.coming });
  const { task: number, base: standsOn, sandbox } = next;
  const isSandboxed = sandbox !== undefined;
  await handed.update({ ...handed.spec, task: number, base: standsOn, isSandboxed, settled: null });
  return handed;
}

/** Gives it back to the task that had it before, because the next task could not be started. */
export async function handBack(io: CapsuleIo, capsule: Capsule, dir: string): Promise<Capsule> {
  await capsule.detach();
  const { layout, repo, spec } = capsule;
  const former = new CapsuleDir(dir);
  if (layout.dir !== dir) await move(io.disk, layout, former);
  const back = new Capsule(io, repo, former, spec);
  await back.update({ ...spec, ...spec.previous, previous: null });
  return back;
}

/** Called when the next task is on record: the capsule is its own from then on. */
export function settleHandOn(capsule: Capsule): Promise<void> {
  return capsule.update({ ...capsule.spec, previous: null });
}

/**
 * The capsule of a task, even if a hand-over was cut off. `dirOf` gives the directory of a task's capsule.
 */
export async function findHanded(
  io: CapsuleIo,
  repo: Repo,
  task: number,
  dirOf: (task: number) => string,
): Promise<Capsule | undefined> {
  const own = await Capsule.open(io, repo, dirOf(task));
  if (own?.spec.previous?.task === task) return handBack(io, own, dirOf(task));
  if (own?.spec.previous) await settleHandOn(own);
  if (own) return own;
  const next = await Capsule.open(io, repo, dirOf(task + 1));
  return next?.spec.previous?.task === task ? handBack(io, next, dirOf(task)) : undefined;
}

async function move(disk: Disk, from: CapsuleDir, to: CapsuleDir): Promise<void> {
  await mkdir(dirname(to.dir), { recursive: true, mode: 0o700 });
  await disk.rename(from.dir, to.dir);
  for (const dir of [dirname(to.dir), dirname(from.dir)]) await disk.syncDir(dir);
}

/**
 * What a capsule gets anew when it is handed on: ports and files that the settings name, and the user's refs.
 */
export async function equip(
  io: CapsuleIo,
  capsule: Capsule,
  settings: Pick<CapsuleSettings, "ports" | "include">,
): Promise<CreatedCapsule> {
  const { repo, spec } = capsule;
  const { refs } = await surroundingsOf(repo);
  const { root } = await capsule.attach();
  new AgentGit(root).refreshRefs(refs);
  const kept = Object.entries(spec.ports).filter(([name]) => settings.ports.includes(name));
  const wanted = settings.ports.filter((name) => !Object.hasOwn(spec.ports, name));
  const leased = await leasePorts(io.homeDir, wanted, spec.session);
  const dropped = Object.entries(spec.ports).filter(([name]) => !settings.ports.includes(name));
  const removed = dropUnchanged(capsule, root);
  const { copied, missing } = await bringIncludes(capsule, repo, settings.include, removed);
  await capsule.give();
  await capsule.update({
    ...capsule.spec,
    ports: { ...Object.fromEntries(kept), ...leased },
    included: copied,
  });
  await releasePorts(
    io.homeDir,
    dropped.map(([, port]) => port),
    spec.session,
  );
  return { capsule, missingIncludes: missing };
}

/**
 * Files that `include` brought and that are unchanged make room for the present ones. Returns the paths that
 * the agent removed.
 */
function dropUnchanged({ repo, spec: { included } }: Capsule, root: string): ReadonlySet<BytePath> {
  const removed = new Set<BytePath>();
  using cursor = new Cursor(root);
  for (const path of Object.keys(included).map(fromText)) {
    const isThere = cursor.inParent(path, (dir, name) => {
      const stats = dir.stat(name);
      if (!stats) return false;
      const isPlain = stats.isFile() || stats.isSymbolicLink();
      if (isPlain && isUnchangedInclude(included, dir, path, repo.objectFormat))
        rmSync(dir.at(name), { force: true });
      return true;
    });
    if (!isThere) removed.add(path);
  }
  return removed;
}
