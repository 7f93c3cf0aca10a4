/**
 * Owns taking a snapshot: every difference from the base, byte for byte, in one commit of the store.
 *
 * snapshot-1 It accounts for every entry that differs, or fails. An entry that is beyond a limit, or of a
 *    kind that can't be kept, is named and never left out silently.
 */
import { HoldfastError } from "../../contract/index.ts";
import { errorCode, Meter, type OnProgress, sha256Hex } from "../../util/index.ts";
import type { Change, Entry } from "../files/changes.ts";
import { Cursor } from "../files/cursor.ts";
import { type BytePath, quoted, storedPath, toBytes, toText } from "../files/path.ts";
import type { LayerFile, LayerFiles } from "../layer/known-files.ts";
import { encodeManifest, type SnapshotManifest } from "../store/manifest.ts";
import { nameSnapshot } from "../store/named.ts";
import { importObjects, streamRef } from "../store/objects.ts";
import type { Store } from "../store/store.ts";
import { type Choice, choose, type Kept, type Met } from "./choose.ts";
import type { Rules } from "./classify.ts";
import { type Content, type Conversions, withoutCrlf } from "./conversion.ts";

export interface SnapshotRequest extends Choice {
  readonly store: Store;
  readonly changes: AsyncIterable<Change>;
  readonly facts: Pick<SnapshotManifest, "base" | "lower" | "setupKey" | "branch">;
  readonly session: string;
  /** The ref that keeps it in the store. Null: none does, and the next collection removes it. */
  readonly name: string | null;
  readonly atMs: number;
  readonly onProgress?: OnProgress | undefined;
}

export interface Snapshot {
  readonly commit: string;
  readonly manifestSha256: string;
  readonly manifest: SnapshotManifest;
  /** The ids of the contents, by path. */
  readonly contents: ReadonlyMap<BytePath, string>;
  /** The ids of contents that a commit holds in another form. */
  readonly converted: ReadonlyMap<BytePath, string>;
  /** How many bytes the capsule holds beyond its base. */
  readonly bytes: number;
  /** For an overlay: what was learned about its files. */
  readonly learned: LayerFiles;
  /** Kept, and not part of the work, because git gave no answer about them. */
  readonly unanswered: readonly BytePath[];
}

export async function takeSnapshot(request: SnapshotRequest): Promise<Snapshot> {
  const { store, rules, facts, session } = request;
  const { entries, gone } = await collect(request.changes);
  const { kept, omitted, bytes, conversions, unanswered, answers, rulesKey } = await choose(
    request,
    entries,
    gone,
  );
  let marks = kept.filter(({ mark }) => mark !== undefined).length;
  const converted = new Map<BytePath, string>();
  for (const [path, { converted: id }] of answers) if (id !== null) converted.set(path, id);
  let encoded: Buffer | undefined;
  let manifest: SnapshotManifest | undefined;

  async function* stream(): AsyncGenerator<Uint8Array> {
    const crlf = new Set<BytePath>();
    using cursor = new Cursor(rules.view.root);
    yield Buffer.from("feature done\n");
    const read = kept.filter(({ mark }) => mark !== undefined);
    const ofBytes = read.reduce((sum, { size }) => sum + size, 0);
    const meter = new Meter(request.onProgress, "taking a snapshot", { ofFiles: read.length, ofBytes });
    for (const entry of read) {
      yield* meter.counting(blob(cursor, entry, entry.mark ?? 0, crlf));
      meter.add({ files: 1 });
    }
    for await (const { path, content } of converting(rules, conversions, kept, crlf)) {
      marks += 1;
      converted.set(path, `:${marks}`);
      yield header(marks, content.size);
      yield* content.chunks();
      yield LINE_FEED;
    }
    const plain = kept.map(({ mark: _, id: __, ...entry }) => entry);
    manifest = { ...facts, entries: plain, gone, converted: [...converted.keys()], omitted };
    encoded = encodeManifest(manifest);
    yield* commit(request, encoded, kept, converted, marks + 1);
  }

  const { ids } = await importObjects(store, stream());
  const commitId = ids.get(marks + 2);
  if (!encoded || !manifest || commitId === undefined) throw new Error("a snapshot ended without its commit");
  if (request.name !== null) await nameSnapshot(store, session, request.name, commitId);
  const idOf = (content: string) =>
    content.startsWith(":") ? (ids.get(Number(content.slice(1))) ?? "") : content;
  const contents = new Map(
    kept.flatMap((one) => {
      const content = contentIn(one);
      return content === undefined ? [] : [[one.path, idOf(content)] as const];
    }),
  );
  // What is known from before. Files about which git gave no answer are asked about again.
  const skipped = new Set([...answers.keys(), ...unanswered]);
  const stored = new Map([...converted].map(([path, content]) => [path, idOf(content)]));
  return {
    commit: commitId,
    manifestSha256: sha256Hex(encoded),
    manifest,
    contents,
    converted: stored,
    bytes,
    unanswered,
    learned: { rulesKey, files: learnedFiles(entries, manifest, contents, stored, skipped) },
  };
}

/** The reference to its content in a stream. */
function contentIn({ mark, id }: Kept): string | undefined {
  return mark === undefined ? id : `:${mark}`;
}

function learnedFiles(
  met: readonly Met[],
  { entries }: SnapshotManifest,
  contents: ReadonlyMap<BytePath, string>,
  converted: ReadonlyMap<BytePath, string>,
  skipped: ReadonlySet<BytePath>,
): LayerFile[] {
  const roleOf = new Map(entries.map(({ path, role }) => [path, role]));
  return met.flatMap(({ path, kind, inode }) => {
    const id = contents.get(path);
    const role = roleOf.get(path);
    if (kind !== "file" || !inode || !id || !role || skipped.has(path)) return [];
    return { inode: inode.key, path, id, role, converted: converted.get(path) ?? null };
  });
}

async function* converting(
  rules: Rules,
  conversions: Conversions,
  kept: readonly Kept[],
  crlf: ReadonlySet<BytePath>,
): AsyncGenerator<{ readonly path: BytePath; readonly content: Content }> {
  const ofWork = new Set(kept.filter(({ role }) => role === "work").map(({ path }) => path));
  for (const [path, content] of conversions.coded) if (ofWork.has(path)) yield { path, content };
  yield* withoutCrlf(
    rules,
    conversions,
    [...crlf].filter((path) => ofWork.has(path)),
  );
}

async function collect(changes: AsyncIterable<Change>): Promise<{ entries: Met[]; gone: BytePath[] }> {
  const entries: Met[] = [];
  const gone: BytePath[] = [];
  for await (const change of changes) {
    if ("gone" in change) gone.push(change.gone);
    else entries.push({ ...change.entry, inode: change.inode });
  }
  return { entries, gone };
}

export async function* blob(
  cursor: Cursor,
  entry: Entry,
  mark: number,
  crlf: Set<BytePath>,
): AsyncGenerator<Uint8Array> {
  if (entry.kind === "symlink") {
    const target = reading(entry, () => cursor.inParent(entry.path, (dir, name) => dir.link(name)));
    yield Buffer.concat([header(mark, target.length), target, LINE_FEED]);
    return;
  }
  using file = reading(entry, () => cursor.inParent(entry.path, (dir, name) => dir.file(name)));
  yield header(mark, file.size);
  let hasCrlf = false;
  for (const chunk of file.chunks()) {
    hasCrlf ||= chunk.includes("\r\n");
    yield chunk;
  }
  yield LINE_FEED;
  if (hasCrlf) crlf.add(entry.path);
}

/** A running task may have removed the entry since it was listed, or may have put something else in its place. */
function reading<T>({ path }: Entry, read: () => T | undefined): T {
  try {
    const found = read();
    if (found !== undefined) return found;
  } catch (error) {
    if (!GONE.has(errorCode(error) ?? "")) throw error;
  }
  throw new HoldfastError(
    "snapshot_raced",
    `${JSON.stringify(toText(path))} was removed or replaced while it was read`,
  );
}

/** The last one: it is no link any more. */
const GONE: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "EINVAL"]);

const LINE_FEED = Buffer.from("\n");
const header = (mark: number, size: number) => Buffer.from(`blob\nmark :${mark}\ndata ${size}\n`);

export async function* commit(
  { atMs, session, facts, store }: Pick<SnapshotRequest, "atMs" | "session" | "facts" | "store">,
  manifest: Buffer,
  entries: readonly Kept[],
  converted: ReadonlyMap<BytePath, string>,
  mark: number,
): AsyncGenerator<Uint8Array> {
  const { ref, forget } = streamRef(store);
  yield header(mark, manifest.length);
  yield manifest;
  const message = `Snapshot of ${session}\n\nBase: ${facts.base}\nLower: ${facts.lower}\n`;
  const lines = [
    `\ncommit ${ref}`,
    `mark :${mark + 1}`,
    `committer Holdfast <holdfast@localhost> ${Math.trunc(atMs / 1000)} +0000`,
    `data ${message.length}\n${message}`,
    `M 100644 :${mark} manifest.json`,
  ];
  for (const entry of entries) {
    const content = contentIn(entry);
    if (content === undefined) continue;
    const mode = entry.kind === "symlink" ? "120000" : "100644";
    lines.push(`M ${mode} ${content} ${quoted(`files/${storedPath(entry.path)}`)}`);
    if (lines.length > 1000) yield toBytes(`${lines.splice(0).join("\n")}\n`);
  }
  for (const [path, content] of converted)
    lines.push(`M 100644 ${content} ${quoted(`converted/${storedPath(path)}`)}`);
  yield toBytes(`${lines.map((line) => `${line}\n`).join("")}\n${forget}done\n`);
}
