/**
 * Owns the export file: everything of one session, byte for byte, after a manifest of hashes.
 *
 * The form (docs/format.md): a zstd stream of one sealed JSON line, the manifest, and then the contents of
 * the files that it lists, in that order, with nothing between them. There are no entry types and no links,
 * and the importer accepts only names that it knows. So an export can't write outside its directory.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { link, mkdir, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { HoldfastError } from "../../contract/index.ts";
import { type FoundSession, type Home, inspectIn, repoPathOf } from "../../home/index.ts";
import { damaged, FORMAT_VERSION, type Position } from "../../journal/index.ts";
import { inspectSession } from "../../session/index.ts";
import { locatingDamage } from "../../task/index.ts";
import {
  errorCode,
  LINE_FEED,
  Meter,
  type OnProgress,
  sealJson,
  stagingDir,
  temporaryPath,
} from "../../util/index.ts";
import { auditJournal } from "../checking/audit-journal.ts";
import { messageParts } from "./carried-mail.ts";
import { type ExportOptions, snapshotParts } from "./carried-snapshots.ts";
import type { LeftOut } from "./home-scan.ts";
import { readNamed } from "./named.ts";
import { artifactParts, journalParts, type Missing, type Part } from "./parts.ts";

export interface ExportedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface ExportManifest {
  readonly holdfast: number;
  readonly kind: "export";
  readonly session: string;
  readonly home: string;
  readonly exportedAt: string;
  readonly head: Position;
  readonly files: readonly ExportedFile[];
}

/** What was written and what was not. */
export interface Exported extends ExportManifest {
  /** Files of HOME in which a secret was found, at one checkpoint or another. */
  readonly leftOut: readonly LeftOut[];
  /** Files that the journal names and that do not exist any more. */
  readonly missing: readonly Missing[];
  /**
   * Whether a task of the session was given variables. Their values may be in the files of its capsules,
   * which are not searched.
   */
  readonly hadValues: boolean;
}

/** Caches, lock, token, waiting tasks and the outbox are not exported. */
export async function exportSession(
  home: Home,
  found: FoundSession,
  to: string,
  options: ExportOptions = {},
): Promise<Exported> {
  const repo = repoPathOf(home, (await inspectIn(home, found.id)).state);
  return locatingDamage(home, { ...found, repo }, () => exportWhole(home, found, to, options));
}

async function exportWhole(
  home: Home,
  found: FoundSession,
  to: string,
  options: ExportOptions,
): Promise<Exported> {
  const { id, dir } = found;
  if (existsSync(to)) throw exists(to);
  const [damage] = (await auditJournal(dir, home.onProgress)).findings;
  if (damage) throw damaged(damage);

  const aside = join(stagingDir(home.dir), `${process.pid}-${home.newId("export")}`);
  await mkdir(aside, { mode: 0o700 });
  try {
    // Read before the journal: a message that is taken in meanwhile is in both, and is exported as a record.
    const waiting = await messageParts(home.io.disk, dir, aside);
    const named = await readNamed(dir);
    const snapshots = await snapshotParts(home, found, named, aside, options);
    const artifacts = await artifactParts(dir, named, aside);
    const parts = [
      ...(await journalParts(dir, named)),
      ...snapshots.parts,
      ...waiting.filter((message) => !named.messages.has(message.id)),
      ...artifacts.parts,
    ];
    const manifest = await exportParts(home, id, to, named.head, parts);
    const missing = [...snapshots.missing, ...artifacts.missing];
    const { hadValues } = (await inspectSession(dir)).state;
    return { ...manifest, leftOut: snapshots.leftOut, missing, hadValues };
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

async function exportParts(
  home: Home,
  id: string,
  to: string,
  head: Position,
  parts: readonly Part[],
): Promise<ExportManifest> {
  const files: ExportedFile[] = [];
  const meter = new Meter(home.onProgress, "reading what the export takes along", { ofFiles: parts.length });
  for (const part of parts) {
    const digest = createHash("sha256");
    let bytes = 0;
    for await (const chunk of meter.counting(part.content())) {
      digest.update(chunk);
      bytes += chunk.length;
    }
    files.push({ path: part.path, bytes, sha256: digest.digest("hex") });
    meter.add({ files: 1 });
  }
  const exportedAt = new Date(home.io.clock.nowMs()).toISOString();
  const manifest: ExportManifest = {
    holdfast: FORMAT_VERSION,
    kind: "export",
    session: id,
    home: home.id,
    exportedAt,
    head,
    files,
  };

  await writeExport(home, to, manifest, parts);
  return manifest;
}

async function writeExport(
  home: Home,
  to: string,
  manifest: ExportManifest,
  parts: readonly Part[],
): Promise<void> {
  const temporary = temporaryPath(to);
  // Opened first, so that a missing directory, or one of another user, is an error of the path and not of the
  // stream.
  const handle = await open(temporary, "wx", 0o600).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HoldfastError(
      "file_unwritable",
      `${to} can't be written: ${reason}`,
      { path: to },
      { cause: error },
    );
  });
  const { files } = manifest;
  const of = { ofFiles: files.length, ofBytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
  try {
    const content = async function* () {
      yield sealJson(manifest);
      const meter = new Meter(home.onProgress, "writing the export", of);
      for (const part of parts) {
        yield* meter.counting(part.content());
        meter.add({ files: 1 });
      }
    };
    await pipeline(content, createZstdCompress(), handle.createWriteStream({ flush: true }));
    await assertReadsBack(temporary, of.ofBytes, home.onProgress);
    // Linked, not renamed: a rename would replace a file that another program created meanwhile.
    await link(temporary, to).catch((error: unknown) => {
      throw errorCode(error) === "EEXIST" ? exists(to) : error;
    });
    await home.io.disk.syncDir(dirname(to));
  } finally {
    await handle.close().catch(() => {});
    await rm(temporary, { force: true });
  }
}

function exists(path: string): HoldfastError {
  return new HoldfastError("file_exists", `${path} exists already`, { path });
}

/** An export that can't be imported must not be discovered later. */
async function assertReadsBack(
  file: string,
  ofBytes: number,
  onProgress: OnProgress | undefined,
): Promise<void> {
  const meter = new Meter(onProgress, "reading the export back", { ofBytes });
  const unzipped = createReadStream(file).pipe(createZstdDecompress()) as AsyncIterable<Buffer>;
  let length = 0;
  let headLength = 0;
  for await (const chunk of meter.counting(unzipped)) {
    if (headLength === 0 && chunk.includes(LINE_FEED)) headLength = length + chunk.indexOf(LINE_FEED) + 1;
    length += chunk.length;
  }
  const expected = headLength + ofBytes;
  if (length !== expected) throw new Error(`the export has ${length} bytes where ${expected} were written`);
}
