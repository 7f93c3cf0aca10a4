/**
 * Owns the measuring of how much of the disk a session uses, part by part. An overlay capsule is counted with
 * the layers that it stands on, without the base, which it shares with others. Snapshots are not counted:
 * they are in the store of the repo, whose objects sessions share.
 */
import type { FoundSession, Home } from "../../home/index.ts";
import { diskUse, diskUseOfEach } from "../../process/index.ts";
import { taskDirsOf } from "../../task/index.ts";
import { blobsDir, inboxDir, journalDir, outboxDir, sessionHomeDir } from "../../util/index.ts";

/** All in bytes, counted in blocks of the disk. */
export interface SessionDiskUse {
  /** With the layers that it stands on, and TMPDIR. */
  readonly capsule: number;
  readonly home: number;
  /** Records and blobs. Files that a fork shares with its parent are counted for both. */
  readonly journal: number;
  readonly artifacts: number;
  readonly mail: number;
  /** All of these, and everything else in the session's directory. */
  readonly total: number;
}

export async function diskUseOf(home: Home, { dir }: Pick<FoundSession, "dir">): Promise<SessionDiskUse> {
  const { capsules, layers, artifacts } = await taskDirsOf(home, dir);
  const homes = [sessionHomeDir(dir)];
  const journal = [journalDir(dir), blobsDir(dir)];
  const mail = [inboxDir(dir), outboxDir(dir)];
  const dirs = [...layers, ...capsules, ...homes, ...journal, ...artifacts, ...mail];
  const counted = await diskUseOfEach(dirs);
  const sum = (paths: readonly string[]) =>
    paths.reduce((total, path) => total + (counted[dirs.indexOf(path)]?.bytes ?? 0), 0);
  const { bytes } = await diskUse([dir]);
  return {
    capsule: sum(capsules) + sum(layers),
    home: sum(homes),
    journal: sum(journal),
    artifacts: sum(artifacts),
    mail: sum(mail),
    total: bytes + sum(layers),
  };
}
