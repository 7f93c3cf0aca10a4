/**
 * Owns making the files of one directory the same as those of another, byte by byte, changing only what
 * differs. Gitdirs, including nested ones, are left as they are on both sides.
 */
import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  rmdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { Meter, type OnProgress } from "../../util/index.ts";
import { Cursor } from "./cursor.ts";
import { OpenDir } from "./open-dir.ts";
import { type BytePath, isGitLike, joined } from "./path.ts";
import { removeEntry } from "./removal.ts";

export interface MirrorOptions {
  readonly isSkipped: (path: BytePath) => boolean;
  readonly onProgress?: OnProgress | undefined;
}

/**
 * `given` are the paths that the source once had from the target. Those that it no longer has are removed.
 */
export function mirrorFiles(
  from: string,
  to: string,
  given: Iterable<BytePath>,
  { isSkipped, onProgress }: MirrorOptions,
): void {
  const meter = new Meter(onProgress, "taking the files back");
  using source = OpenDir.root(from);
  using target = OpenDir.root(to);
  removeMissing(from, to, [...given].sort().reverse());
  mirror(source, target, "");

  function mirror(here: OpenDir, there: OpenDir, path: BytePath): void {
    for (const name of here.names())
      if (!isGitLike(name) && !isSkipped(joined(path, name))) one(here, there, name, path);
  }

  function one(here: OpenDir, there: OpenDir, name: BytePath, path: BytePath): void {
    const stats = here.stat(name);
    if (!stats) return;
    const target = there.at(name);
    const existing = there.stat(name);
    if (stats.isDirectory()) {
      if (existing && !existing.isDirectory()) rmSync(target, { force: true });
      if (!existing?.isDirectory()) mkdirSync(target, { mode: stats.mode & 0o777 });
      // The directory is written to first, and then gets the mode that it has in the source.
      chmodSync(target, 0o700);
      {
        using inside = here.child(name);
        using inTarget = there.child(name);
        if (inside && inTarget) mirror(inside, inTarget, joined(path, name));
      }
      chmodSync(target, stats.mode & 0o777);
      return;
    }
    if (stats.isSymbolicLink()) {
      if (existing?.isSymbolicLink() && there.link(name).equals(here.link(name))) return;
      removeEntry(there, name);
      symlinkSync(here.link(name), target);
      return;
    }
    if (!stats.isFile()) return;
    meter.add({ files: 1, bytes: stats.size });
    if (!existing?.isFile() || existing.size !== stats.size || !hasSameBytes(here, there, name))
      copy(here, there, name);
    if ((there.stat(name)?.mode ?? 0) % 0o1000 !== stats.mode % 0o1000) chmodSync(target, stats.mode & 0o777);
  }
}

/** Deepest first. A directory is removed only when it is empty. */
function removeMissing(from: string, to: string, paths: readonly BytePath[]): void {
  using source = new Cursor(from);
  using target = new Cursor(to);
  for (const path of paths) {
    if (source.inParent(path, (dir, name) => dir.stat(name) !== undefined)) continue;
    target.inParent(path, (dir, name) => {
      const stats = dir.stat(name);
      if (stats) chmodSync(dir.at("."), 0o700);
      if (stats && !stats.isDirectory()) rmSync(dir.at(name), { force: true });
      using inside = dir.child(name);
      if (inside?.names().length === 0) rmdirSync(dir.at(name));
    });
  }
}

function hasSameBytes(here: OpenDir, there: OpenDir, name: BytePath): boolean {
  using one = here.file(name);
  using other = there.file(name);
  const chunks = other.chunks();
  for (const chunk of one.chunks()) {
    const step = chunks.next();
    if (step.done || !chunk.equals(step.value)) return false;
  }
  return true;
}

function copy(here: OpenDir, there: OpenDir, name: BytePath): void {
  removeEntry(there, name);
  using file = here.file(name);
  const fd = openSync(
    there.at(name),
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    file.copyTo(fd);
  } finally {
    closeSync(fd);
  }
}
