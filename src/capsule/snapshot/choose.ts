/**
 * Owns what a snapshot keeps of a capsule: the role of each entry, whether it fits, and whether it has to be
 * read. All of it is decided before a byte is written.
 */
import { HoldfastError } from "../../contract/index.ts";
import { sha256Hex } from "../../util/index.ts";
import type { Entry, LayerInode } from "../files/changes.ts";
import { type BytePath, toText } from "../files/path.ts";
import type { KnownFile, KnownFiles } from "../layer/known-files.ts";
import type { ManifestEntry } from "../store/manifest.ts";
import { isRules, type Rules, rolesOf } from "./classify.ts";
import { type Conversions, conversionsOf } from "./conversion.ts";

export interface SnapshotLimits {
  readonly maxSnapshotBytes: number;
  readonly maxIgnoredBytes: number;
  /** How long git may take to classify a file. Default: half a minute. */
  readonly answerMs?: number;
}

/** With its content: its number in the stream, or its id in the store. */
export interface Kept extends ManifestEntry {
  readonly mark: number | undefined;
  readonly id?: string | undefined;
}

/** As the walk met it. */
export interface Met extends Entry {
  readonly inode: LayerInode | undefined;
}

export interface Choice {
  readonly rules: Rules;
  /** Files whose content is known and need not be read. */
  readonly known: KnownFiles;
  readonly limits: SnapshotLimits;
}

/** Decides before a byte is read what each entry is, and whether it fits. */
export async function choose(request: Choice, entries: readonly Met[], gone: readonly BytePath[]) {
  const { rules, limits, known } = request;
  const rulesKey = rulesKeyOf(request, entries, gone);
  const answers = new Map<BytePath, KnownFile>();
  for (const { path, inode } of entries) {
    const answer = inode?.isSealed ? known.answerFor(inode.key, path, rulesKey) : undefined;
    if (answer) answers.set(path, answer);
  }
  const asked = answers.size === 0 ? entries : entries.filter(({ path }) => !answers.has(path));
  const { roles, unanswered } = await rolesOf(rules, entries, asked);
  const ofWork = asked.filter(({ path, kind }) => kind === "file" && roles.get(path) === "work");
  const conversions = await conversionsOf(
    rules,
    ofWork.map(({ path }) => path),
  );
  for (const path of conversions.unanswered) roles.set(path, "aside");
  const roleOf = (path: BytePath) => answers.get(path)?.role ?? roles.get(path) ?? ("aside" as const);
  const all = entries.map((entry) => ({ ...entry, role: roleOf(entry.path) }));
  const beyond = beyondLimit(all, limits.maxIgnoredBytes);
  let bytes = 0;
  let marks = 0;
  const kept: Kept[] = [];
  for (const { inode, ...entry } of all.filter((one) => !beyond.has(one))) {
    bytes += entry.kind === "file" ? entry.size : 0;
    if (bytes > limits.maxSnapshotBytes) throw tooLarge(entry, limits.maxSnapshotBytes);
    const isRead = needsReading(entry, conversions, answers);
    const id = inode?.isSealed && !isRead ? known.contentOf(inode.key) : undefined;
    const hasMark = id === undefined && (entry.kind === "file" || entry.kind === "symlink");
    if (hasMark) marks += 1;
    kept.push({ ...entry, mark: hasMark ? marks : undefined, id });
  }
  const omitted = [...beyond].map(({ path, size }) => ({ path, size }));
  const isKept = new Set(kept.map(({ path }) => path));
  for (const path of answers.keys()) if (!isKept.has(path)) answers.delete(path);
  return {
    kept,
    bytes,
    omitted,
    conversions,
    unanswered: [...unanswered, ...conversions.unanswered],
    answers,
    rulesKey,
  };
}

/** Whether a commit may hold it with other line endings. That is found out while it is read. */
function needsReading(
  { path, role }: ManifestEntry,
  { attributes }: Conversions,
  answers: ReadonlyMap<BytePath, KnownFile>,
): boolean {
  return role === "work" && !answers.has(path) && attributes.has(path);
}

/**
 * Everything that git's answers depend on. Files count by their inodes, which change when a file is replaced
 * or written.
 */
function rulesKeyOf({ rules }: Choice, entries: readonly Met[], gone: readonly BytePath[]): string {
  const ruling = entries.filter(({ path }) => isRules(path));
  const parts = [rules.key, ...ruling.map(({ path, inode }) => [path, inode?.key]), gone.filter(isRules)];
  return sha256Hex(JSON.stringify(parts));
}

/** Ignored files are kept up to the limit, the small ones first. The others are named. */
function beyondLimit<T extends ManifestEntry>(entries: readonly T[], maxBytes: number): Set<T> {
  const ignored = entries.filter(({ role, kind }) => role === "ignored" && kind === "file");
  const beyond = new Set<T>();
  let kept = 0;
  for (const entry of ignored.sort((a, b) => a.size - b.size)) {
    kept += entry.size;
    if (kept > maxBytes) beyond.add(entry);
  }
  return beyond;
}

function tooLarge({ path, size }: Entry, maxBytes: number): HoldfastError {
  const limit = Math.round(maxBytes / 1024 / 1024);
  return new HoldfastError(
    "snapshot_too_large",
    `the snapshot would be larger than ${limit} MB with ${JSON.stringify(toText(path))} (${size} bytes)`,
    { path: toText(path), size },
  );
}
