/**
 * Owns the export file: everything of one session, byte for byte, behind a manifest of hashes.
 *
 * The form (docs/format.md): a zstd stream of one sealed JSON line, the manifest, and then the contents of
 * the files that it lists, in its order, with nothing between them. There are no entry types, no links and
 * no names but those that the importer knows, so there is nothing to climb out with.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { link, mkdir, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { openStore, packSnapshots } from "../capsule/index.ts";
import { HoldfastError } from "../contract/index.ts";
import {
  blobReferences,
  blobsDir,
  damaged,
  FORMAT_VERSION,
  journalDir,
  type Position,
  readChain,
  readDurable,
  readMaybeCompressed,
  segmentName,
} from "../journal/index.ts";
import { inspectSession } from "../session/index.ts";
import { errorCode, LINE_FEED, sealJson, temporaryPath } from "../util/index.ts";
import { auditSession } from "./audit.ts";
import { type FoundSession, type Home, stagingDir } from "./home.ts";
import { repoOf } from "./tasks.ts";

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

export const SNAPSHOTS_FILE = "snapshots.pack";

interface Part {
  readonly path: string;
  /** The same bytes each time. */
  content(): AsyncIterable<Uint8Array>;
}

export async function exportSession(
  home: Home,
  { id, dir }: FoundSession,
  to: string,
): Promise<ExportManifest> {
  if (existsSync(to)) throw exists(to);
  const [damage] = (await auditSession(dir)).findings;
  if (damage) throw damaged(damage);

  const { head, parts, snapshots } = await partsOf(dir);
  const aside = join(stagingDir(home), `${process.pid}-${home.newId("export")}`);
  try {
    parts.push(...(await snapshotParts(home, dir, snapshots, aside)));
    return await exportParts(home, id, to, head, parts);
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
  for (const part of parts) {
    const digest = createHash("sha256");
    let bytes = 0;
    for await (const chunk of part.content()) {
      digest.update(chunk);
      bytes += chunk.length;
    }
    files.push({ path: part.path, bytes, sha256: digest.digest("hex") });
  }
  const exportedAt = new Date(home.ports.clock.nowMs()).toISOString();
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
  // Opened first: a directory that is missing or not ours is an error of the path, not of the stream.
  const handle = await open(temporary, "wx", 0o600).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HoldfastError(
      "file_unwritable",
      `${to} can't be written: ${reason}`,
      { path: to },
      { cause: error },
    );
  });
  try {
    const content = async function* () {
      yield sealJson(manifest);
      for (const part of parts) yield* part.content();
    };
    await pipeline(content, createZstdCompress(), handle.createWriteStream({ flush: true }));
    await assertReadsBack(temporary, manifest);
    // Linked, not renamed: that would replace a file that somebody made meanwhile.
    await link(temporary, to).catch((error: unknown) => {
      throw errorCode(error) === "EEXIST" ? exists(to) : error;
    });
    await home.ports.disk.syncDir(dirname(to));
  } finally {
    await handle.close().catch(() => {});
    await rm(temporary, { force: true });
  }
}

function exists(path: string): HoldfastError {
  return new HoldfastError("file_exists", `${path} exists already`, { path });
}

/** An export that could not be taken in would be found out too late. */
async function assertReadsBack(file: string, { files }: ExportManifest): Promise<void> {
  let length = 0;
  let headLength = 0;
  for await (const chunk of createReadStream(file).pipe(createZstdDecompress()) as AsyncIterable<Buffer>) {
    if (headLength === 0 && chunk.includes(LINE_FEED)) headLength = length + chunk.indexOf(LINE_FEED) + 1;
    length += chunk.length;
  }
  const expected = headLength + files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (length !== expected) throw new Error(`the export has ${length} bytes where ${expected} were written`);
}

/** Every segment up to its end, and every blob that a record names. Caches, lock and token stay at home. */
async function partsOf(dir: string): Promise<{ head: Position; parts: Part[]; snapshots: string[] }> {
  const blobs = new Map<string, number>();
  const snapshots = new Set<string>();
  const records = readDurable(dir);
  for (;;) {
    const step = await records.next();
    if (step.done) {
      const head = step.value.end;
      const { segments } = await readChain(dir, 0);
      const parts = segments
        .filter(({ header }) => header.segment <= head.segment)
        .map(({ header, end }) =>
          segmentPart(dir, header.segment, header.segment === head.segment ? head.bytes : end?.bytes),
        );
      return {
        head,
        parts: [...parts, ...[...blobs].map(([sha256, bytes]) => blobPart(dir, sha256, bytes))],
        snapshots: [...snapshots],
      };
    }
    const { record } = step.value;
    if (record.type === "snapshot_taken") snapshots.add(String(record.data["snapshot"]));
    for (const { $blob } of blobReferences(record.data)) blobs.set($blob.sha256, $blob.bytes);
  }
}

/** The files of every checkpoint, as one pack; one that was brought here and has no repo yet goes as it came. */
async function snapshotParts(
  home: Home,
  dir: string,
  snapshots: readonly string[],
  aside: string,
): Promise<Part[]> {
  if (snapshots.length === 0) return [];
  const brought = join(dir, SNAPSHOTS_FILE);
  if (existsSync(brought)) return [filePart(brought)];
  const { state } = await inspectSession(dir);
  const store = await openStore(await repoOf(home, state), home.ports.disk);
  await mkdir(aside, { mode: 0o700 });
  await packSnapshots(store, snapshots, join(aside, SNAPSHOTS_FILE));
  return [filePart(join(aside, SNAPSHOTS_FILE))];
}

function filePart(file: string): Part {
  return { path: SNAPSHOTS_FILE, content: () => createReadStream(file) as AsyncIterable<Buffer> };
}

function segmentPart(dir: string, segment: number, end: number | undefined): Part {
  const name = segmentName(segment);
  return {
    path: `journal/${name}`,
    content: async function* () {
      yield (await readMaybeCompressed(join(journalDir(dir), name))).subarray(0, end);
    },
  };
}

function blobPart(dir: string, sha256: string, bytes: number): Part {
  return {
    path: `blobs/${sha256}`,
    content: async function* () {
      yield await readMaybeCompressed(join(blobsDir(dir), sha256), bytes);
    },
  };
}
