/**
 * Owns the manifest of a snapshot: every path that differs from the base, with what git's trees can't
 * express. Its SHA-256 is in the journal; the manifest itself is beside the files' content in the snapshot's
 * commit.
 */
import * as z from "zod/mini";
import { HoldfastError, type Json } from "../../contract/index.ts";
import { parseObject } from "../../util/index.ts";
import type { Entry, Kind } from "../files/changes.ts";
import { type BytePath, decodePath, encodePath, hasGitLike, parentOf } from "../files/path.ts";

/**
 * work: what a commit of the task would hold · ignored: what git ignores · gitdir: the capsule's own .git ·
 * aside: what git can't hold (nested repos, a submodule's inside, what was brought in by `include`)
 */
export const roles = ["work", "ignored", "gitdir", "aside"] as const;
export type Role = (typeof roles)[number];

export interface ManifestEntry extends Entry {
  readonly role: Role;
}

export interface SnapshotManifest {
  readonly base: string | null;
  /** The commit whose files the changes are measured against: the base, or one near it. */
  readonly lower: string | null;
  /** What was installed into the lower one before the task began. */
  readonly setupKey: string;
  readonly branch: string;
  readonly entries: readonly ManifestEntry[];
  readonly gone: readonly BytePath[];
  /**
   * Files of the work that a commit holds in another form: with other line endings, or in another encoding.
   */
  readonly converted: readonly BytePath[];
  /** Ignored files beyond the limit. They are not in the snapshot. */
  readonly omitted: readonly { readonly path: BytePath; readonly size: number }[];
}

const KINDS: readonly Kind[] = ["file", "dir", "symlink", "fifo", "socket", "device"];
const count = z.int().check(z.nonnegative());
const commit = z.nullable(z.string().check(z.regex(/^[0-9a-f]{40,64}$/)));
const schema = z.object({
  holdfast: z.literal(1),
  kind: z.literal("snapshot"),
  base: commit,
  lower: commit,
  setupKey: z.string().check(z.maxLength(128)),
  branch: z.string().check(z.maxLength(200)),
  entries: z.array(z.tuple([z.unknown(), z.enum(KINDS), count, z.int(), count, z.enum(roles)])),
  gone: z.array(z.unknown()),
  converted: z.array(z.unknown()),
  omitted: z.array(z.tuple([z.unknown(), count])),
});

export function encodeManifest({ entries, gone, converted, omitted, ...facts }: SnapshotManifest): Buffer {
  const rows = entries.map(
    ({ path, kind, mode, mtimeMs, size, role }): Json => [encodePath(path), kind, mode, mtimeMs, size, role],
  );
  const value = {
    holdfast: 1,
    kind: "snapshot",
    ...facts,
    entries: rows,
    gone: gone.map(encodePath),
    converted: converted.map(encodePath),
    omitted: omitted.map(({ path, size }): Json => [encodePath(path), size]),
  };
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

/**
 * Decodes the manifest of a snapshot that may come from anywhere: it checks every path, and that nothing is
 * below a file.
 */
export function decodeManifest(bytes: Buffer): SnapshotManifest {
  const parsed = schema.safeParse(parseObject(bytes.toString("utf8")));
  if (!parsed.success)
    throw new HoldfastError("snapshot_invalid", "a snapshot's manifest does not have the right form");
  const { base, lower, setupKey, branch } = parsed.data;
  const entries = parsed.data.entries.map(([path, kind, mode, mtimeMs, size, role]) => {
    const decoded = decodePath(path);
    return { path: decoded, kind, mode: mode & 0o7777, mtimeMs, size, role: roleByName(decoded) ?? role };
  });
  assertTree(entries);
  const gone = parsed.data.gone.map(decodePath);
  const converted = parsed.data.converted.map(decodePath);
  const omitted = parsed.data.omitted.map(([path, size]) => ({ path: decodePath(path), size }));
  return { base, lower, setupKey, branch, entries, gone, converted, omitted };
}

/** The role that follows from the name alone, whatever a manifest says. */
export function roleByName(path: BytePath): Role | undefined {
  if (path === ".git" || path.startsWith(".git/")) return "gitdir";
  return hasGitLike(path) ? "aside" : undefined;
}

function assertTree(entries: readonly Pick<ManifestEntry, "path" | "kind">[]): void {
  const kinds = new Map(entries.map(({ path, kind }) => [path, kind]));
  const isSound =
    kinds.size === entries.length &&
    entries.every(({ path }) => (kinds.get(parentOf(path)) ?? "dir") === "dir");
  if (!isSound)
    throw new HoldfastError(
      "snapshot_invalid",
      "a snapshot's manifest names a path twice, or a path below a file",
    );
}
