/**
 * Owns the removal of entries below a root that an agent may have filled: of any depth, with locked
 * directories, and through no link.
 */
import { rmSync } from "node:fs";
import { descend, type Level } from "./descent.ts";
import type { OpenDir } from "./open-dir.ts";
import { type BytePath, joined } from "./path.ts";

interface Emptied extends Level {
  readonly dir: OpenDir;
  readonly name: BytePath;
  readonly path: BytePath;
  hasKept: boolean;
}

/** Removes an entry and everything in it. It does not have to exist. */
export function removeEntry(dir: OpenDir, name: BytePath): void {
  removeAll(dir, [name], () => false);
}

/** Removes everything in a directory, except what is kept and the directories that contain it. */
export function removeOthers(dir: OpenDir, isKept: (path: BytePath) => boolean): void {
  removeAll(dir, dir.names(), isKept);
}

function removeAll(top: OpenDir, names: readonly BytePath[], isKept: (path: BytePath) => boolean): void {
  const first = { dir: top, name: "", path: "", names: names.values(), hasKept: false, close: () => {} };
  descend<Emptied>(first, {
    enter: (level, name) => {
      const path = joined(level.path, name);
      if (isKept(path)) level.hasKept = true;
      else if (level.dir.stat(name)?.isDirectory()) return emptied(level.dir, name, path);
      else rmSync(level.dir.at(name), { force: true });
      return undefined;
    },
    leave: (level, above) => {
      if (level.hasKept) above.hasKept = true;
      // It is empty, or something was put into it just now.
      else rmSync(above.dir.at(level.name), { recursive: true, force: true });
    },
  });
}

function emptied(above: OpenDir, name: BytePath, path: BytePath): Emptied | undefined {
  const dir = above.child(name);
  if (!dir) return undefined;
  return { dir, name, path, names: dir.names().values(), hasKept: false, close: () => dir[Symbol.dispose]() };
}
