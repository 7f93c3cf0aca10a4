/**
 * Owns the taking of a snapshot: every difference from the base, byte for byte, in one commit of the store.
 *
 * K8 It accounts for every entry that differs, or fails: what is beyond a limit or of a kind that can't be
 *    kept is named, never left out in silence.
 */
import { HoldfastError } from "../contract/index.ts";
import { sha256Hex } from "../util/index.ts";
import type { Change, Entry } from "./changes.ts";
import { type Rules, rolesOf, storedWithLf } from "./classify.ts";
import { encodeManifest, type ManifestEntry, type SnapshotManifest } from "./manifest.ts";
import { type BytePath, quoted, storedPath, toBytes, toText } from "./path.ts";
import { importObjects, type Store, snapshotRef } from "./store.ts";

export interface Limits {
  readonly maxSnapshotBytes: number;
  readonly maxIgnoredBytes: number;
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
  /** What the capsule holds beyond its base. */
  readonly bytes: number;
}

interface Kept extends Entry {
  readonly mark: number | undefined;
}

export async function takeSnapshot(request: SnapshotRequest): Promise<Snapshot> {
  const { store, rules, limits, facts, session } = request;
  const ref = snapshotRef(session, request.name);
  const kept: Kept[] = [];
  const gone: BytePath[] = [];
  const crlf = new Map<BytePath, { isBinary: boolean }>();
  const omitted: { path: BytePath; size: number }[] = [];
  let marks = 0;
  let bytes = 0;
  let result: { manifest: SnapshotManifest; encoded: Buffer } | undefined;

  async function* stream(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("feature done\n");
    for await (const change of request.changes) {
      if ("gone" in change) {
        gone.push(change.gone);
        continue;
      }
      const { entry } = change;
      if (entry.kind === "file" && entry.size > limits.maxIgnoredBytes && (await isIgnored(rules, entry))) {
        omitted.push({ path: entry.path, size: entry.size });
        continue;
      }
      bytes += entry.kind === "file" ? entry.size : 0;
      if (bytes > limits.maxSnapshotBytes) throw tooLarge(entry, limits.maxSnapshotBytes);
      if (entry.kind !== "file" && entry.kind !== "symlink") {
        kept.push({ ...entry, mark: undefined });
        continue;
      }
      marks += 1;
      kept.push({ ...entry, mark: marks });
      yield* blob(change, marks, crlf);
    }
    const roles = await rolesOf(rules, kept);
    const { entries, left } = withinLimit(
      kept.map((entry): Kept & ManifestEntry => ({ ...entry, role: roles.get(entry.path) ?? "aside" })),
      limits.maxIgnoredBytes,
    );
    const ofWork = new Map([...crlf].filter(([path]) => roles.get(path) === "work"));
    const lf = await storedWithLf(rules, ofWork);
    const manifest: SnapshotManifest = {
      ...facts,
      entries: entries.map(({ path, kind, mode, mtimeMs, size, role }) => ({
        path,
        kind,
        mode,
        mtimeMs,
        size,
        role,
      })),
      gone,
      lf,
      omitted: [...omitted, ...left],
    };
    const encoded = encodeManifest(manifest);
    result = { manifest, encoded };
    yield* commit(request, ref, encoded, entries, marks + 1);
  }

  const { ids } = await importObjects(store, stream(), { ref });
  const commitId = ids.get(marks + 2);
  if (!result || commitId === undefined) throw new Error("a snapshot ended without its commit");
  const contents = new Map(
    kept.flatMap(({ path, mark }) => (mark ? [[path, ids.get(mark) ?? ""] as const] : [])),
  );
  return {
    commit: commitId,
    manifestSha256: sha256Hex(result.encoded),
    manifest: result.manifest,
    contents,
    bytes,
  };
}

async function isIgnored(rules: Rules, entry: Entry): Promise<boolean> {
  return (await rolesOf(rules, [entry])).get(entry.path) === "ignored";
}

async function* blob(
  { entry, dir, name }: Exclude<Change, { gone: BytePath }>,
  mark: number,
  crlf: Map<BytePath, { isBinary: boolean }>,
): AsyncGenerator<Uint8Array> {
  if (entry.kind === "symlink") {
    const target = dir.link(name);
    yield Buffer.concat([header(mark, target.length), target, LINE_FEED]);
    return;
  }
  using file = dir.file(name);
  yield header(mark, file.size);
  let isBinary: boolean | undefined;
  for (const chunk of file.chunks()) {
    isBinary ??= chunk.subarray(0, BINARY_LOOK).includes(0);
    if (chunk.includes("\r\n")) crlf.set(entry.path, { isBinary });
    yield chunk;
  }
  yield LINE_FEED;
}

/** As git does: a NUL in the beginning. */
const BINARY_LOOK = 8000;
const LINE_FEED = Buffer.from("\n");
const header = (mark: number, size: number) => Buffer.from(`blob\nmark :${mark}\ndata ${size}\n`);

async function* commit(
  { atMs, session, facts }: SnapshotRequest,
  ref: string,
  manifest: Buffer,
  entries: readonly (Kept & ManifestEntry)[],
  mark: number,
): AsyncGenerator<Uint8Array> {
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
  yield toBytes(`${lines.join("\n")}\n\ndone\n`);
}

/** Ignored files are kept up to the limit, the small ones first; the others are named. */
function withinLimit<T extends ManifestEntry>(entries: readonly T[], maxBytes: number) {
  const ignored = entries.filter(({ role, kind }) => role === "ignored" && kind === "file");
  const total = ignored.reduce((sum, { size }) => sum + size, 0);
  if (total <= maxBytes) return { entries, left: [] };
  const beyond = new Set<T>();
  let kept = 0;
  for (const entry of [...ignored].sort((a, b) => a.size - b.size)) {
    if (kept + entry.size > maxBytes) beyond.add(entry);
    else kept += entry.size;
  }
  return {
    entries: entries.filter((entry) => !beyond.has(entry)),
    left: [...beyond].map(({ path, size }) => ({ path, size })),
  };
}

function tooLarge({ path, size }: Entry, maxBytes: number): HoldfastError {
  const limit = Math.round(maxBytes / 1024 / 1024);
  return new HoldfastError(
    "snapshot_too_large",
    `with ${JSON.stringify(toText(path))} (${size} bytes) the snapshot would be larger than ${limit} MB`,
    { path: toText(path), size },
  );
}
