/**
 * Owns flattening: one layer replaces many, before there are more than a mount can have. The new layer holds
 * everything that differs from the base, including files that are in no snapshot. It is built under a
 * temporary mount, and replaces the others when it is whole: a kill leaves the others as they are.
 */
import { closeSync, constants, openSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { CapsuleDir, type CapsuleSpec } from "../dir/capsule-dir.ts";
import type { Change, Entry } from "../files/changes.ts";
import { Cursor, ensureDir } from "../files/cursor.ts";
import { removeTree, syncFileSystem } from "../files/directories.ts";
import type { OpenDir } from "../files/open-dir.ts";
import { giveTo } from "../files/ownership.ts";
import type { BytePath } from "../files/path.ts";
import { removeEntry } from "../files/removal.ts";
import { addFlatLayer } from "../layer/layers.ts";
import { makeFifo, settle } from "../snapshot/apply.ts";
import { changesAbove, overlay } from "./overlay.ts";
import type { Ground } from "./strategy.ts";

/**
 * For a capsule whose upper layer was just sealed as that snapshot's. Returns the new description of the
 * capsule.
 */
export async function flatten(
  ground: Ground,
  layout: CapsuleDir,
  spec: CapsuleSpec,
  snapshot: string,
): Promise<CapsuleSpec> {
  const aside = new CapsuleDir(join(layout.dir, "flat"));
  const both = [layout, aside];
  await overlay.detach(aside);
  await removeTree(aside.dir);
  await aside.make();
  try {
    const from = await overlay.attach(ground, layout, spec);
    const to = await overlay.attach(ground, aside, { ...spec, stack: [] });
    copyChanges(changesAbove(ground, layout, spec, from), to.root);
    for (const one of both) await overlay.detach(one);
    giveTo(ground.sandbox?.user, aside.upper);
    await syncFileSystem(aside.upper);
    const stack = await addFlatLayer(ground.disk, ground.repo, aside.upper, spec, snapshot);
    const flat: CapsuleSpec = { ...spec, stack };
    await layout.writeSpec(ground.disk, flat);
    return flat;
  } finally {
    for (const one of both) await overlay.detach(one);
    await removeTree(aside.dir);
  }
}

function copyChanges(changes: Iterable<Change>, root: string): void {
  using cursor = new Cursor(root);
  const entries: Entry[] = [];
  for (const change of changes) {
    if ("gone" in change) {
      cursor.inParent(change.gone, removeEntry);
      continue;
    }
    const { entry } = change;
    entries.push(entry);
    if (entry.kind === "fifo") makeFifo(cursor, entry.path);
    else cursor.inParent(entry.path, (dir, name) => copyEntry(change, dir, name), { make: true });
  }
  // Last, and the deepest first: a directory may be locked, and its time changes when an entry is added to
  // it.
  for (const entry of entries.reverse()) settle(cursor, entry);
}

function copyEntry(from: Exclude<Change, { gone: BytePath }>, to: OpenDir, name: BytePath): void {
  const { kind } = from.entry;
  if (kind === "dir") ensureDir(to, name);
  // Sockets and devices have no content.
  if (kind !== "file" && kind !== "symlink") return;
  removeEntry(to, name);
  if (kind === "symlink") {
    symlinkSync(from.dir.link(from.name), to.at(name));
    return;
  }
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  using file = from.dir.file(from.name);
  const fd = openSync(to.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    file.copyTo(fd);
  } finally {
    closeSync(fd);
  }
}
