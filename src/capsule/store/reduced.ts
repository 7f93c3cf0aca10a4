/**
 * Owns making a snapshot like another one without some of its files. A snapshot's name is the hash of its
 * content, so the smaller one has a name and a manifest of its own.
 */
import { sha256Hex } from "../../util/index.ts";
import { type BytePath, quoted, storedPath, toBytes } from "../files/path.ts";
import { encodeManifest, type SnapshotManifest } from "./manifest.ts";
import type { NamedSnapshot } from "./named.ts";
import { importObjects, streamRef } from "./objects.ts";
import type { Store } from "./store.ts";

export interface Reduction {
  /** The store that has the snapshot. The smaller one is written there, too. */
  readonly store: Store;
  readonly manifest: SnapshotManifest;
  readonly contents: ReadonlyMap<BytePath, string>;
  readonly session: string;
  isLeftOut(path: BytePath): boolean;
  /** Whether the manifest may name a file that is left out. */
  isNameable(path: BytePath): boolean;
}

/** Reduces a snapshot that stands on nothing. The same request gives the same snapshot. */
export async function reduceSnapshot(reduction: Reduction): Promise<NamedSnapshot> {
  const { store, manifest, isLeftOut, isNameable } = reduction;
  const leftOut = manifest.entries.filter(({ path }) => isLeftOut(path));
  const encoded = encodeManifest({
    ...manifest,
    entries: manifest.entries.filter(({ path }) => !isLeftOut(path)),
    omitted: [...manifest.omitted, ...leftOut.map(({ path, size }) => ({ path, size }))].filter(({ path }) =>
      isNameable(path),
    ),
  });
  const { ids } = await importObjects(store, stream(reduction, encoded), store.alternates);
  const commit = ids.get(COMMIT_MARK);
  if (commit === undefined) throw new Error("a snapshot ended without its commit");
  return { commit, manifest: sha256Hex(encoded) };
}

const MANIFEST_MARK = 1;
const COMMIT_MARK = 2;

async function* stream(
  { store, manifest, contents, session, isLeftOut }: Reduction,
  encoded: Buffer,
): AsyncGenerator<Uint8Array> {
  const { ref, forget } = streamRef(store);
  const message = `Snapshot of ${session}\n\nBase: null\nLower: null\n`;
  yield Buffer.from(`feature done\nblob\nmark :${MANIFEST_MARK}\ndata ${encoded.length}\n`);
  yield encoded;
  const lines = [
    `\ncommit ${ref}`,
    `mark :${COMMIT_MARK}`,
    "committer Holdfast <holdfast@localhost> 0 +0000",
    `data ${message.length}\n${message}`,
    `M 100644 :${MANIFEST_MARK} manifest.json`,
  ];
  for (const { path, kind } of manifest.entries) {
    const content = contents.get(path);
    if (content === undefined || isLeftOut(path)) continue;
    const mode = kind === "symlink" ? "120000" : "100644";
    lines.push(`M ${mode} ${content} ${quoted(`files/${storedPath(path)}`)}`);
  }
  yield toBytes(`${lines.map((line) => `${line}\n`).join("")}\n${forget}done\n`);
}
