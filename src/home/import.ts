/**
 * Owns taking a session in from an export file, which may come from anywhere and say anything.
 *
 * N1 Nothing is visible before all of it was checked: hashes, chain, blobs, head.
 * N2 Only files of known names are written, only below the staging directory, only as long as they said.
 * N3 It lands paused, as the importing user's; requests, tokens and caches of the other home stay there.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { createZstdDecompress } from "node:zlib";
import {
  dropSnapshots,
  hasObject,
  type NamedSnapshot,
  openRepo,
  openStore,
  unpackSnapshots,
} from "../capsule/index.ts";
import { HoldfastError, isSessionId, parseUser, type SessionId } from "../contract/index.ts";
import {
  FORMAT_VERSION,
  isBadCompression,
  isPosition,
  MAX_SEGMENT,
  MAX_SEGMENT_BYTES,
  readChain,
  readDurable,
  segmentName,
} from "../journal/index.ts";
import { readSnapshot } from "../task/index.ts";
import { type Disk, isPlainObject, LINE_FEED, openSealedJson, present, writeAll } from "../util/index.ts";
import { type Audit, auditSession } from "./audit.ts";
import { type ExportedFile, type ExportManifest, SNAPSHOTS_FILE } from "./export.ts";
import { defaultUser, type Home } from "./home.ts";
import { stageSession } from "./staging.ts";
import { bringFiles } from "./tasks.ts";

const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;
const MAX_TOTAL_BYTES = 64 * 1024 * 1024 * 1024;
/** Above this much output, more than so many bytes out of one byte in is taken for a bomb. */
const BOMB_FLOOR_BYTES = 256 * 1024 * 1024;
const BOMB_RATIO = 200;

export interface ImportOptions {
  readonly user?: string;
  readonly repo?: string;
}

export async function importSession(
  home: Home,
  file: string,
  options: ImportOptions = {},
): Promise<SessionId> {
  const user = parseUser(options.user ?? defaultUser());
  await using input = await openInput(file);
  const manifest = parseManifest(await input.line(MAX_MANIFEST_BYTES));
  const id = manifest.session;
  const imported = await stageSession(home, id, async (staged, own, disk) => {
    // Not with the syncs put off: each file is closed before the next, however many there are.
    for (const entry of manifest.files) await extract(home.ports.disk, input, entry, staged);
    await input.end();
    await check(manifest, staged);
    if (options.repo !== undefined) await takeSnapshots(home, options.repo, id, staged);
    const session = await own();
    const { state } = session;
    const droppedMessages = state.user !== user && state.unread.length > 0 ? state.unread.length : undefined;
    const { seq: headSeq, hash: headHash } = manifest.head;
    const from = { fromHome: manifest.home, headSeq, headHash };
    await session.record("session_imported", {
      user,
      ...from,
      ...present({ repo: options.repo, droppedMessages }),
    });
    // What a session of this home will be read with must take it as it is now.
    await assertWhole(staged);
    await disk.syncDir(join(staged, "blobs"));
  });
  try {
    if (options.repo !== undefined) await bringFiles(home, imported);
  } finally {
    await imported.release();
  }
  return id;
}

/** Into the store of the repo that was named; each is what the journal says of it, or the import fails. */
async function takeSnapshots(home: Home, repoPath: string, id: SessionId, staged: string): Promise<void> {
  const named = new Map<string, NamedSnapshot>();
  for await (const { record } of readDurable(staged)) {
    if (record.type !== "snapshot_taken") continue;
    const { snapshot, manifest } = record.data;
    named.set(String(snapshot), {
      commit: String(snapshot),
      manifest: String(manifest),
    });
  }
  if (named.size === 0) return;
  const pack = join(staged, SNAPSHOTS_FILE);
  if (!existsSync(pack)) throw invalid("its journal names files, and it has none");
  if (![...named.keys()].every((commit) => /^[0-9a-f]{40,64}$/.test(commit)))
    throw invalid("its journal names a snapshot that is none");
  const repo = await openRepo(home, repoPath);
  const store = await openStore(repo, home.ports.disk);
  await unpackSnapshots(store, id, pack, [...named.keys()]);
  try {
    for (const one of named.values()) {
      const { manifest } = await readSnapshot(store, one);
      for (const commit of [manifest.base, manifest.lower])
        if (commit !== null && !(await hasObject(repo, commit)))
          throw new HoldfastError(
            "base_missing",
            `its files stand on commit ${commit}, which is not in ${repoPath}`,
          );
    }
  } catch (error) {
    await dropSnapshots(store, id);
    throw error;
  }
  await home.ports.disk.unlink(join(staged, SNAPSHOTS_FILE));
}

/** The journal must be whole, be that session's, end where the manifest says, and be all that was brought. */
async function check({ session, head, files }: ExportManifest, staged: string): Promise<void> {
  const audit = await assertWhole(staged);
  const { position, state } = audit.good;
  if (state.id !== session) throw invalid(`the journal is that of ${state.id || "no session"}`);
  if (audit.tornBytes > 0 || !isDeepStrictEqual(position, head))
    throw invalid("the journal does not end where it should");
  const { segments } = await readChain(staged, 0);
  const lengths = new Map(
    segments.map(({ header, end }) => [`journal/${segmentName(header.segment)}`, (end ?? head).bytes]),
  );
  for (const { path, bytes, sha256 } of files) {
    if (path === SNAPSHOTS_FILE) continue;
    const isNamed = path.startsWith("journal/") ? lengths.get(path) === bytes : audit.goodBlobs.has(sha256);
    if (!isNamed) throw invalid(`${path} is not part of the session, or longer than it`);
  }
}

async function assertWhole(staged: string): Promise<Audit> {
  const audit = await auditSession(staged);
  // A file that stands beside the journal is made here, so only what was brought is judged.
  const finding = audit.findings.find(({ file }) => file.startsWith("journal/") || file.startsWith("blobs"));
  if (finding) throw invalid(`${finding.file} at byte ${finding.offset}: ${finding.reason}`);
  return audit;
}

function parseManifest(line: Buffer): ExportManifest & { session: SessionId } {
  const value = openSealedJson(line);
  if (value?.["kind"] !== "export") throw invalid("it does not begin with a whole manifest");
  if (typeof value["holdfast"] !== "number" || value["holdfast"] > FORMAT_VERSION) {
    throw new HoldfastError(
      "newer_format",
      `the export has format ${String(value["holdfast"])}, this program knows ${FORMAT_VERSION}`,
    );
  }
  const { session, home, exportedAt, head, files } = value;
  const isNamed =
    typeof session === "string" && isSessionId(session) && typeof home === "string" && home.length > 0;
  if (!isNamed || typeof exportedAt !== "string" || !isPosition(head) || !Array.isArray(files))
    throw invalid("its manifest has not the right form");
  if (!files.every(isExportedFile)) throw refused("it names files that no session has");
  if (new Set(files.map(({ path }) => path)).size !== files.length) throw refused("it names a file twice");
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total > MAX_TOTAL_BYTES) throw refused(`${total} bytes are more than an import may have`);
  return {
    holdfast: FORMAT_VERSION,
    kind: "export",
    session,
    home: home.slice(0, 100),
    exportedAt,
    head,
    files,
  };
}

function isExportedFile(value: unknown): value is ExportedFile {
  if (!isPlainObject(value)) return false;
  const { path, bytes, sha256 } = value;
  if (typeof path !== "string" || !Number.isSafeInteger(bytes) || (bytes as number) < 0) return false;
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256)) return false;
  if (path === SNAPSHOTS_FILE) return true;
  const segment = /^journal\/(\d{6,8})\.jsonl$/.exec(path)?.[1];
  if (segment === undefined) return path === `blobs/${sha256}`;
  return Number(segment) >= 1 && Number(segment) < MAX_SEGMENT && (bytes as number) <= MAX_SEGMENT_BYTES;
}

async function extract(disk: Disk, input: Input, entry: ExportedFile, staged: string): Promise<void> {
  const file = await disk.create(join(staged, entry.path));
  const hash = createHash("sha256");
  try {
    let position = 0;
    for await (const chunk of input.bytes(entry.bytes)) {
      hash.update(chunk);
      await writeAll(file, chunk, position);
      position += chunk.length;
    }
    await file.datasync();
  } finally {
    await file.close();
  }
  if (hash.digest("hex") !== entry.sha256) throw invalid(`${entry.path} is not what its manifest says`);
}

interface Input extends AsyncDisposable {
  line(max: number): Promise<Buffer>;
  bytes(count: number): AsyncGenerator<Buffer>;
  /** Nothing may follow. */
  end(): Promise<void>;
}

/** The decompressed stream, read piece by piece; a bomb is refused while it unfolds. */
async function openInput(file: string): Promise<Input> {
  // Opened first, so that a missing file is its own error and not one of the stream's.
  const handle = await open(file).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HoldfastError(
      "export_invalid",
      `${file} can't be read: ${reason}`,
      { path: file },
      { cause: error },
    );
  });
  const source = handle.createReadStream();
  const unzip = createZstdDecompress();
  source.on("error", (error) => unzip.destroy(error));
  source.pipe(unzip);
  const chunks = unzip[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let rest: Buffer = Buffer.alloc(0);
  let outBytes = 0;

  /** The next piece of the stream in `rest`, which has been used up; false at the end. */
  async function more(): Promise<boolean> {
    const step = await chunks.next().catch((error: unknown) => {
      if (isBadCompression(error)) throw invalid("it can't be decompressed");
      throw invalid(error instanceof Error ? error.message : String(error));
    });
    if (step.done) return false;
    outBytes += step.value.length;
    if (outBytes > BOMB_FLOOR_BYTES && outBytes > source.bytesRead * BOMB_RATIO) {
      throw refused("it unfolds to far more than it holds");
    }
    rest = step.value;
    return true;
  }

  return {
    async line(max) {
      const pieces: Buffer[] = [];
      let length = 0;
      while (length <= max && (await more())) {
        const end = rest.indexOf(LINE_FEED) + 1;
        pieces.push(end > 0 ? rest.subarray(0, end) : rest);
        length += rest.length;
        rest = end > 0 ? rest.subarray(end) : Buffer.alloc(0);
        if (end > 0) return Buffer.concat(pieces);
      }
      throw invalid("it does not begin with a whole manifest");
    },
    async *bytes(count) {
      let missing = count;
      while (missing > 0) {
        if (rest.length === 0 && !(await more())) throw invalid("it was cut");
        const chunk = rest.subarray(0, missing);
        rest = rest.subarray(chunk.length);
        missing -= chunk.length;
        yield chunk;
      }
    },
    async end() {
      const hasMore = rest.length > 0 || (await more());
      if (hasMore) throw invalid("something follows the last file");
    },
    async [Symbol.asyncDispose]() {
      unzip.destroy();
      // The stream closes the handle when nothing reads from it any more.
      if (!source.closed) await once(source.destroy(), "close");
    },
  };
}

function invalid(reason: string): HoldfastError {
  return new HoldfastError("export_invalid", `the file is not a whole export: ${reason}`);
}

function refused(reason: string): HoldfastError {
  return new HoldfastError("export_refused", `the file is not taken in: ${reason}`);
}
