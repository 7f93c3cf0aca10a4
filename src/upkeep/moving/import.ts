/**
 * Owns the import of a session from an export file, which may come from anywhere and contain anything.
 *
 * import-1 Nothing is visible before everything was checked: hashes, chain, blobs, head.
 * import-2 Only files with known names are written, only below the staging directory, and only with the
 *    stated length.
 * import-3 The session arrives paused and belongs to the importing user. Requests, tokens and caches of the
 *    other home are not imported. Messages for another user, its agent definition and its permissions are
 *    dropped. Its budget is at most the user's.
 * import-4 Nothing in an import starts a program, opens a host or fills a variable by itself.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Budget, type BudgetLimit, parseUser, type SessionId } from "../../contract/index.ts";
import {
  type Claim,
  claimName,
  defaultUser,
  type Home,
  readSettings,
  repoPathOf,
  stageSession,
} from "../../home/index.ts";
import { readChain, segmentFile } from "../../journal/index.ts";
import type { SessionState } from "../../session/index.ts";
import { bringFiles, decodeHomes, type Homes } from "../../task/index.ts";
import {
  blobsDir,
  type Disk,
  homesPath,
  IN_SESSION,
  inboxDir,
  journalDir,
  Meter,
  type OnProgress,
  present,
  snapshotsPath,
  tasksDir,
  writeAll,
} from "../../util/index.ts";
import { auditJournal, type JournalAudit } from "../checking/audit-journal.ts";
import { INBOX_DIRS, isMessagePath, readCarried } from "./carried-mail.ts";
import type { ExportedFile, ExportManifest } from "./export.ts";
import { invalid, MAX_MANIFEST_BYTES, parseManifest } from "./import-manifest.ts";
import { takeSnapshots } from "./import-snapshots.ts";
import { type Input, openInput } from "./import-stream.ts";
import { type Named, readNamed } from "./named.ts";

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
  let claim: Claim | undefined;
  const imported = await stageSession(home, id, async (staged, own, disk) => {
    const dirs = dirsFor(manifest.files);
    for (const dir of dirs) await disk.mkdir(join(staged, dir));
    // Syncs are not put off here: each file is closed before the next one, however many there are.
    const { files } = manifest;
    const of = { ofFiles: files.length, ofBytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
    const meter = new Meter(home.onProgress, "unpacking the export", of);
    for (const entry of files) await extract(home.io.disk, input, entry, staged, meter);
    await input.end();
    const came = await check(manifest, staged, home.onProgress);
    const path = options.repo ?? repoPathOf(home, { lacksRepo: came.isOfRepo, repo: null });
    if (path !== null) await takeSnapshots(home, { path, id, staged }, came.named, came.homes);
    const session = await own();
    const { state } = session;
    // Messages that were written to another user are not for this one to read.
    const isOthers = state.user !== user;
    if (isOthers) await disk.removeTree(inboxDir(staged));
    const dropped = isOthers ? state.unread.length + came.messages : 0;
    if (state.name !== null)
      claim = await claimName(
        home,
        { id, repo: options.repo ?? null, branch: state.branch?.name },
        { like: state.name },
      );
    const { seq: headSeq, hash: headHash } = manifest.head;
    const from = { fromHome: manifest.home, headSeq, headHash };
    await session.record("session_imported", {
      user,
      ...from,
      ...present({
        name: claim?.name === state.name ? undefined : claim?.name,
        repo: options.repo,
        droppedMessages: dropped > 0 ? dropped : undefined,
        home: cameAlong(state, came.homes),
      }),
    });
    const budget = withinOwn(session.state.budget, (await readSettings(home.dir)).budget);
    if (!isDeepStrictEqual(budget, session.state.budget)) await session.record("budget_raised", { budget });
    // The import is checked with the same code that later reads the session.
    await assertWhole(staged, home.onProgress);
    for (const dir of [blobsDir(IN_SESSION), ...dirs])
      if (!isOthers || !INBOX_DIRS.includes(dir)) await disk.syncDir(join(staged, dir));
  }).catch(async (error: unknown) => {
    await claim?.release();
    throw error;
  });
  try {
    await claim?.settle();
    await bringFiles(home, imported);
  } finally {
    await imported.release();
  }
  return id;
}

/** The budget from the other home, with no limit above the user's own. */
function withinOwn(came: Budget, own: Budget): Budget {
  const limits = (Object.entries(own) as [BudgetLimit, number][]).map(([name, limit]) => [
    name,
    Math.min(limit, came[name] ?? limit),
  ]);
  return { ...came, ...Object.fromEntries(limits) };
}

/** HOME at the last checkpoint, as it was imported. */
function cameAlong({ home }: SessionState, homes: Homes | undefined) {
  const here = home && homes?.get(home.commit);
  if (here) return { snapshot: here.commit, manifest: here.manifest };
  return home?.commit === "" && homes ? {} : undefined;
}

/** All but `journal` and `blobs`, which every session has. Parents come first. */
function dirsFor(files: readonly ExportedFile[]): string[] {
  const dirs = new Set<string>();
  for (const { path } of files) {
    if (isMessagePath(path, 0)) for (const dir of INBOX_DIRS) dirs.add(dir);
    if (!isBelow(tasksDir(IN_SESSION), path)) continue;
    const artifacts = dirname(path);
    for (const dir of [tasksDir(IN_SESSION), dirname(artifacts), artifacts]) dirs.add(dir);
  }
  return [...dirs];
}

const isBelow = (dir: string, path: string) => path.startsWith(`${dir}/`);

interface Came {
  /** The session's files need a repo. */
  readonly isOfRepo: boolean;
  readonly named: Named;
  /** Undefined: HOME was not exported. */
  readonly homes: Homes | undefined;
  /** How many messages came with it. */
  readonly messages: number;
}

/**
 * The journal must be whole, belong to that session, end where the manifest says, and be all that was
 * brought.
 */
async function check(
  { session, head, files }: ExportManifest,
  staged: string,
  onProgress: OnProgress | undefined,
): Promise<Came> {
  const audit = await assertWhole(staged, onProgress);
  const { position, state } = audit.good;
  if (state.id !== session) throw invalid(`the journal belongs to ${state.id || "no session"}`);
  if (audit.tornBytes > 0 || !isDeepStrictEqual(position, head))
    throw invalid("the journal does not end where the manifest says");
  const { segments } = await readChain(staged, 0);
  const lengths = new Map(
    segments.map(({ header, end }) => [segmentFile(header.segment), (end ?? head).bytes]),
  );
  const named = await readNamed(staged);
  const isNamed = ({ path, bytes, sha256 }: ExportedFile) => {
    if (isBelow(journalDir(IN_SESSION), path)) return lengths.get(path) === bytes;
    if (isBelow(blobsDir(IN_SESSION), path)) return audit.goodBlobs.has(sha256);
    if (isBelow(tasksDir(IN_SESSION), path))
      return isDeepStrictEqual(named.artifacts.get(path), { bytes, sha256 });
    // These files are checked by their own readers.
    return true;
  };
  const stray = files.find((file) => !isNamed(file));
  if (stray)
    throw invalid(`${stray.path} is not part of the session, or is longer than its part of the session`);
  const paths = files.map(({ path }) => path);
  return {
    isOfRepo: state.repo !== null || state.lacksRepo,
    named,
    homes: paths.includes(homesPath(IN_SESSION)) ? await readCarriedHomes(staged, paths, named) : undefined,
    messages: await countMessages(staged, paths, named),
  };
}

async function readCarriedHomes(staged: string, paths: readonly string[], { homes }: Named): Promise<Homes> {
  const carried = decodeHomes(await readFile(homesPath(staged)));
  if (!carried || carried.size === 0 || !paths.includes(snapshotsPath(IN_SESSION)))
    throw invalid(`${homesPath(IN_SESSION)} is not whole`);
  if ([...carried.keys()].some((commit) => !homes.has(commit)))
    throw invalid(`${homesPath(IN_SESSION)} does not agree with the journal`);
  return carried;
}

/** None of them may have been taken in before: it would be there twice. */
async function countMessages(staged: string, paths: readonly string[], { messages }: Named): Promise<number> {
  const ids = await readCarried(
    staged,
    paths.filter((path) => isMessagePath(path, 0)),
  );
  if (ids === undefined) throw invalid("it has a file that is not a valid message, or has a message twice");
  if ([...ids].some((id) => messages.has(id))) throw invalid("it has a message twice");
  return ids.size;
}

async function assertWhole(staged: string, onProgress: OnProgress | undefined): Promise<JournalAudit> {
  const audit = await auditJournal(staged, onProgress);
  // The files beside the journal are made here, so only the imported ones are judged.
  const brought = [journalDir(IN_SESSION), blobsDir(IN_SESSION)];
  const finding = audit.findings.find(({ file }) =>
    brought.some((dir) => file === dir || isBelow(dir, file)),
  );
  if (finding) throw invalid(`${finding.file} at byte ${finding.offset}: ${finding.reason}`);
  return audit;
}

async function extract(
  disk: Disk,
  input: Input,
  entry: ExportedFile,
  staged: string,
  meter: Meter,
): Promise<void> {
  const file = await disk.create(join(staged, entry.path));
  const hash = createHash("sha256");
  try {
    let position = 0;
    for await (const chunk of meter.counting(input.bytes(entry.bytes))) {
      hash.update(chunk);
      await writeAll(file, chunk, position);
      position += chunk.length;
    }
    await file.datasync();
    meter.add({ files: 1 });
  } finally {
    await file.close();
  }
  if (hash.digest("hex") !== entry.sha256) throw invalid(`${entry.path} is not what its manifest says`);
}
