/**
 * Owns the measuring of what a session takes of the disk, part by part. An overlay capsule is counted with the layers
 * that it stands on, without the base, which it shares with others. Snapshots are not counted: they lie in the store
 * of the repo, whose objects sessions share.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { CapsuleDir, layerDir } from "../../capsule/index.ts";
import type { FoundSession, Home } from "../../home/index.ts";
import { diskUse, diskUseOfEach } from "../../process/index.ts";
import {
  artifactsDir,
  blobsDir,
  capsuleDir,
  inboxDir,
  journalDir,
  outboxDir,
  reposDir,
  scratchDir,
  sessionHomeDir,
  tasksDir,
} from "../../util/index.ts";

/** In bytes, as blocks of the disk. */
export interface SessionDiskUse {
  /** With the layers that it stands on, and TMPDIR. */
  readonly capsule: number;
  readonly home: number;
  /** Records and blobs; what a fork shares with its parent is counted for both. */
  readonly journal: number;
  readonly artifacts: number;
  readonly mail: number;
  /** All of these, and what else is in the session's directory. */
  readonly total: number;
}

export async function diskUseOf(home: Home, { dir }: Pick<FoundSession, "dir">): Promise<SessionDiskUse> {
  const tasks = (await readdir(tasksDir(dir)).catch(() => [])).map(Number).filter(Number.isInteger);
  const layers = (await Promise.all(tasks.map((task) => layersOf(home, capsuleDir(dir, task))))).flat();
  const parts = {
    layers: [...new Set(layers)],
    capsule: tasks.flatMap((task) => [capsuleDir(dir, task), scratchDir(dir, task)]),
    home: [sessionHomeDir(dir)],
    journal: [journalDir(dir), blobsDir(dir)],
    artifacts: tasks.map((task) => artifactsDir(dir, task)),
    mail: [inboxDir(dir), outboxDir(dir)],
  };
  const dirs = Object.values(parts).flat();
  const counted = await diskUseOfEach(dirs);
  const sum = (name: keyof typeof parts) =>
    parts[name].reduce((total, path) => total + (counted[dirs.indexOf(path)]?.bytes ?? 0), 0);
  const { bytes } = await diskUse([dir]);
  return {
    capsule: sum("capsule") + sum("layers"),
    home: sum("home"),
    journal: sum("journal"),
    artifacts: sum("artifacts"),
    mail: sum("mail"),
    total: bytes + sum("layers"),
  };
}

/** Sealed, they lie beside the capsules, for whatever stands on them. */
async function layersOf(home: Home, capsule: string): Promise<string[]> {
  const spec = await new CapsuleDir(capsule).readSpec().catch(() => undefined);
  return spec?.stack.map((layer) => layerDir({ dir: join(reposDir(home.dir), spec.repo) }, layer)) ?? [];
}
