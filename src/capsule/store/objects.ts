/**
 * Owns writing objects into a store: one pack at a time, built in a temporary directory.
 *
 * store-1 What a snapshot's commit names is on disk when `importObjects` returns, including the names in
 *    directories.
 */
import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isAlive, readTextOr } from "../../util/index.ts";
import { type GitPlace, git } from "../git/git.ts";
import type { Store } from "./store.ts";

/**
 * Feeds a stream to `git fast-import`, which writes one pack in a temporary directory. The pack is synced and
 * then moved into the store. Returns the ids of the marks that were set. Only objects of the store itself and
 * of `alternates` are taken as existing already.
 */
export async function importObjects(
  store: Store,
  stream: AsyncIterable<Uint8Array>,
  alternates: readonly string[] = [],
): Promise<{ ids: Map<number, string>; answers: string }> {
  const aside = await makeAside(store);
  const marks = join(aside, "marks");
  try {
    await mkdir(join(aside, "pack"), { mode: 0o700 });
    const place = {
      gitDir: store.gitDir,
      objects: aside,
      alternates: [join(store.gitDir, "objects"), ...alternates],
    };
    const args = ["fast-import", "--quiet", "--done", "--force", `--export-marks=${marks}`];
    const answers = await git(place, args, { input: stream, config: IMPORT_SETTINGS });
    await takeIn(store, join(aside, "pack"));
    return { ids: parseMarks(readTextOr(marks, "")), answers: answers.toString("latin1") };
  } catch (error) {
    await clearCrashReports(store);
    throw error;
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** A commit in a stream needs a ref. At the end of the stream this one is deleted again. */
export function streamRef({ objectFormat }: Store): { readonly ref: string; readonly forget: string } {
  const ref = `refs/stream/${randomUUID()}`;
  return { ref, forget: `reset ${ref}\nfrom ${"0".repeat(objectFormat === "sha256" ? 64 : 40)}\n\n` };
}

const ASIDE = "incoming-";
const IMPORT_SETTINGS = ["fastimport.unpackLimit=0", "core.compression=1", "core.bigFileThreshold=64m"];

/**
 * A temporary directory that is named after this process: when the process has ended, any other may clear it.
 */
export async function makeAside({ gitDir }: Pick<GitPlace, "gitDir">): Promise<string> {
  const path = join(gitDir, `${ASIDE}${process.pid}-${randomUUID().slice(0, 8)}`);
  await mkdir(path, { mode: 0o700 });
  return path;
}

/** The pack before its index: once the index is there, git takes the pack for whole. */
export async function takeIn(store: Store, from: string): Promise<void> {
  const to = join(store.gitDir, "objects", "pack");
  const names = (await readdir(from))
    .filter((name) => /\.(pack|idx)$/.test(name))
    .sort()
    .reverse();
  for (const name of names) {
    await syncFile(join(from, name));
    await store.disk.rename(join(from, name), join(to, name));
  }
  if (names.length > 0) await store.disk.syncDir(to);
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Left by imports that were killed. */
export async function abandonedImports({ gitDir }: Store): Promise<string[]> {
  const names = (await readdir(gitDir)).filter((name) => name.startsWith(ASIDE));
  const isLeft = (name: string) => !isAlive({ pid: Number(name.split("-")[1]), startTicks: null });
  return names.filter(isLeft).map((name) => join(gitDir, name));
}

async function clearCrashReports({ gitDir }: Store): Promise<void> {
  const names = await readdir(gitDir).catch(() => []);
  for (const name of names.filter((one) => one.startsWith("fast_import_crash_")))
    await rm(join(gitDir, name), { force: true });
}

function parseMarks(text: string): Map<number, string> {
  const lines = text.split("\n").filter(Boolean);
  return new Map(
    lines.map((line) => [Number(line.slice(1, line.indexOf(" "))), line.slice(line.indexOf(" ") + 1)]),
  );
}
