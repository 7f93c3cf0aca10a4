/**
 * Owns the taking of a snapshot: every difference from the base, byte for byte, in one commit of the store.
 *
 * K8 It accounts for every entry that differs, or fails: what is beyond a limit or of a kind that can't be
 *    kept is named, never left out in silence.
 */
import { HoldfastError } from "../contract/index.ts";
import { sha256Hex } from "../util/index.ts";
import type { Change, Entry } from "./changes.ts";
import { type Rules, rolesOf } from "./classify.ts";
import { type Content, type Conversions, conversionsOf, withoutCrlf } from "./conversion.ts";
import { encodeManifest, type ManifestEntry, type SnapshotManifest } from "./manifest.ts";
import { Cursor } from "./open-dir.ts";
import { type BytePath, quoted, storedPath, toBytes, toText } from "./path.ts";
import { importObjects, nameSnapshot, type Store, streamRef } from "./store.ts";

export interface Limits {
  readonly maxSnapshotBytes: number;
  readonly maxIgnoredBytes: number;
  /** How long git may take to say what a file is. Default: half a minute. */
  readonly answerMs?: number;
}

export interface SnapshotRequest {
  readonly store: Store;
  readonly changes: AsyncIterable<Change>;
  readonly rules: Rules;
  readonly limits: Limits;
  readonly facts: Pick<SnapshotManifest, "base" | "lower" | "setupKey" | "branch">;
  readonly session: string;
  readonly name: string;
  readonly atMs: number;
}

export interface Snapshot {
  readonly commit: string;
  readonly manifestSha256: string;
  readonly manifest: SnapshotManifest;
  /** The ids of the contents, by path. */
  readonly contents: ReadonlyMap<BytePath, string>;
  /** Of what a commit holds otherwise. */
  readonly converted: ReadonlyMap<BytePath, string>;
  /** What the capsule holds beyond its base. */
  readonly bytes: number;
  /** Kept, and not part of the work, because git gave no answer about them. */
  readonly unanswered: readonly BytePath[];
}

/** With the number of its content in the stream. */
export interface Kept extends ManifestEntry {
  readonly mark: number | undefined;
}

export async function takeSnapshot(request: SnapshotRequest): Promise<Snapshot> {
  const { store, rules, facts, session } = request;
  const { entries, gone } = await collect(request.changes);
  const { kept, omitted, bytes, conversions, unanswered } = await choose(request, entries);
  let marks = kept.filter(({ mark }) => mark !== undefined).length;
  const converted = new Map<BytePath, number>();
  let encoded: Buffer | undefined;
  let manifest: SnapshotManifest | undefined;

  async function* stream(): AsyncGenerator<Uint8Array> {
    const crlf = new Set<BytePath>();
    using cursor = new Cursor(rules.view.root);
    yield Buffer.from("feature done\n");
    for (const entry of kept) if (entry.mark !== undefined) yield* blob(cursor, entry, entry.mark, crlf);
    for await (const { path, content } of converting(rules, conversions, kept, crlf)) {
      marks += 1;
      converted.set(path, marks);
      yield header(marks, content.size);
      yield* content.chunks();
      yield LINE_FEED;
    }
    const plain = kept.map(({ mark: _, ...entry }) => entry);
    manifest = { ...facts, entries: plain, gone, converted: [...converted.keys()], omitted };
    encoded = encodeManifest(manifest);
    yield* commit(request, encoded, kept, converted, marks + 1);
  }

  const { ids } = await importObjects(store, stream());
  const commitId = ids.get(marks + 2);
  if (!encoded || !manifest || commitId === undefined) throw new Error("a snapshot ended without its commit");
  await nameSnapshot(store, session, request.name, commitId);
  const contents = new Map(
    kept.flatMap(({ path, mark }) => (mark ? [[path, ids.get(mark) ?? ""] as const] : [])),
  );
  const stored = new Map([...converted].map(([path, mark]) => [path, ids.get(mark) ?? ""]));
  return {
    commit: commitId,
    manifestSha256: sha256Hex(encoded),
    manifest,
    contents,
    converted: stored,
    bytes,
    unanswered,
  };
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

async function collect(changes: AsyncIterable<Change>): Promise<{ entries: Entry[]; gone: BytePath[] }> {
  const entries: Entry[] = [];
  const gone: BytePath[] = [];
  for await (const change of changes) {
    if ("gone" in change) gone.push(change.gone);
    else entries.push(change.entry);
  }
  return { entries, gone };
}

/** Before a byte is read: what each entry is, and whether it fits. */
async function choose({ rules, limits }: SnapshotRequest, entries: readonly Entry[]) {
  const { roles, unanswered } = await rolesOf(rules, entries);
  const ofWork = entries.filter(({ path, kind }) => kind === "file" && roles.get(path) === "work");
  const conversions = await conversionsOf(
    rules,
    ofWork.map(({ path }) => path),
  );
  for (const path of conversions.unanswered) roles.set(path, "aside");
  const all = entries.map((entry) => ({ ...entry, role: roles.get(entry.path) ?? ("aside" as const) }));
  const beyond = beyondLimit(all, limits.maxIgnoredBytes);
  let bytes = 0;
  let marks = 0;
  const kept: Kept[] = [];
  for (const entry of all) {
    if (beyond.has(entry)) continue;
    bytes += entry.kind === "file" ? entry.size : 0;
    if (bytes > limits.maxSnapshotBytes) throw tooLarge(entry, limits.maxSnapshotBytes);
    const hasContent = entry.kind === "file" || entry.kind === "symlink";
    if (hasContent) marks += 1;
    kept.push({ ...entry, mark: hasContent ? marks : undefined });
  }
  return {
    kept,
    bytes,
    omitted: [...beyond].map(({ path, size }) => ({ path, size })),
    conversions,
    unanswered: [...unanswered, ...conversions.unanswered],
  };
}

/** Ignored files are kept up to the limit, the small ones first; the others are named. */
function beyondLimit(entries: readonly ManifestEntry[], maxBytes: number): Set<ManifestEntry> {
  const ignored = entries.filter(({ role, kind }) => role === "ignored" && kind === "file");
  const beyond = new Set<ManifestEntry>();
  let kept = 0;
  for (const entry of ignored.sort((a, b) => a.size - b.size)) {
    kept += entry.size;
    if (kept > maxBytes) beyond.add(entry);
  }
  return beyond;
}

export async function* blob(
  cursor: Cursor,
  entry: Entry,
  mark: number,
  crlf: Set<BytePath>,
): AsyncGenerator<Uint8Array> {
  if (entry.kind === "symlink") {
    const target = cursor.inParent(entry.path, (dir, name) => dir.link(name)) ?? vanished(entry);
    yield Buffer.concat([header(mark, target.length), target, LINE_FEED]);
    return;
  }
  using file = cursor.inParent(entry.path, (dir, name) => dir.file(name)) ?? vanished(entry);
  yield header(mark, file.size);
  let hasCrlf = false;
  for (const chunk of file.chunks()) {
    hasCrlf ||= chunk.includes("\r\n");
    yield chunk;
  }
  yield LINE_FEED;
  if (hasCrlf) crlf.add(entry.path);
}

function vanished({ path }: Entry): never {
  throw new HoldfastError("snapshot_raced", `${JSON.stringify(toText(path))} went away while it was read`);
}

const LINE_FEED = Buffer.from("\n");
const header = (mark: number, size: number) => Buffer.from(`blob\nmark :${mark}\ndata ${size}\n`);

export async function* commit(
  { atMs, session, facts, store }: Pick<SnapshotRequest, "atMs" | "session" | "facts" | "store">,
  manifest: Buffer,
  entries: readonly Kept[],
  converted: ReadonlyMap<BytePath, number>,
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
  for (const { path, kind, mark: content } of entries) {
    if (content === undefined) continue;
    const mode = kind === "symlink" ? "120000" : "100644";
    lines.push(`M ${mode} :${content} ${quoted(`files/${storedPath(path)}`)}`);
    if (lines.length > 1000) yield toBytes(`${lines.splice(0).join("\n")}\n`);
  }
  for (const [path, content] of converted)
    lines.push(`M 100644 :${content} ${quoted(`converted/${storedPath(path)}`)}`);
  yield toBytes(`${lines.map((line) => `${line}\n`).join("")}\n${forget}done\n`);
}

function tooLarge({ path, size }: Entry, maxBytes: number): HoldfastError {
  const limit = Math.round(maxBytes / 1024 / 1024);
  return new HoldfastError(
    "snapshot_too_large",
    `with ${JSON.stringify(toText(path))} (${size} bytes) the snapshot would be larger than ${limit} MB`,
    { path: toText(path), size },
  );
}
