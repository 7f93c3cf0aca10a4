/**
 * Owns access to the files of a snapshot: the id of each content in the store, and its bytes.
 */
import { HoldfastError } from "../../contract/index.ts";
import { type BytePath, storedPath, toText } from "../files/path.ts";
import { BatchReader } from "../git/batch-reader.ts";
import { git } from "../git/git.ts";
import type { SnapshotManifest } from "./manifest.ts";
import type { Store } from "./store.ts";

export interface Contents {
  readonly contents: ReadonlyMap<BytePath, string>;
  readonly converted: ReadonlyMap<BytePath, string>;
}

/** The ids of a snapshot's contents, read back from its commit. Fails if one is missing. */
export async function contentsOf(
  store: Store,
  commit: string,
  manifest: SnapshotManifest,
): Promise<Contents> {
  const out = (await git(store, ["ls-tree", "-r", "-z", "--full-tree", commit])).toString("latin1");
  const ids = new Map<BytePath, string>();
  for (const row of out.split("\0")) {
    const tab = row.indexOf("\t");
    if (tab > 0) ids.set(row.slice(tab + 1), row.slice(0, tab).split(" ")[2] ?? "");
  }
  const find = (folder: string, path: BytePath): [BytePath, string] => {
    const id = ids.get(`${folder}/${storedPath(path)}`);
    if (id) return [path, id];
    throw new HoldfastError(
      "snapshot_invalid",
      `the snapshot has no content for ${JSON.stringify(toText(path))}`,
    );
  };
  const kept = manifest.entries.filter(({ kind }) => kind === "file" || kind === "symlink");
  return {
    contents: new Map(kept.map(({ path }) => find("files", path))),
    converted: new Map(manifest.converted.map((path) => find("converted", path))),
  };
}

/** Passes on the contents one after the other, in pieces as they come. */
export async function readContents(
  store: Store,
  ids: readonly string[],
  onPiece: (id: string, bytes: Buffer, isLast: boolean) => Promise<void>,
): Promise<void> {
  if (ids.length === 0) return;
  const pieces: Parameters<typeof onPiece>[] = [];
  const reader = new BatchReader((index, bytes, isLast) => {
    pieces.push([ids[index] ?? "", bytes, isLast]);
  });
  await git(store, ["cat-file", "--batch", "--buffer"], {
    input: [Buffer.from(`${ids.join("\n")}\n`)],
    onOutput: async (chunk) => {
      reader.push(chunk);
      for (const piece of pieces.splice(0)) await onPiece(...piece);
    },
  });
  if (reader.done !== ids.length)
    throw new HoldfastError("snapshot_invalid", "contents of the snapshot are missing from the store");
}
