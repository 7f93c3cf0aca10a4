/**
 * Owns access to files that differ between two trees: their modes, sizes and contents, before and after, as
 * far as they are not too large to read.
 */
import { type BytePath, toText } from "../files/path.ts";
import { git } from "../git/git.ts";
import { GITLINK_MODE, LINK_MODE, NO_MODE, type RawChange, rawDiff } from "../git/raw-diff.ts";
import { type Repo, withUsersObjects } from "../repo/repo.ts";
import { readContents } from "../store/contents.ts";
import type { Store } from "../store/store.ts";

export interface ChangedFile {
  readonly path: string;
  /** Null: the file did not exist, or does not exist any more. */
  readonly before: FileVersion | null;
  readonly after: FileVersion | null;
}

export interface FileVersion {
  readonly kind: "file" | "executable" | "link" | "submodule";
  /** Zero for a submodule. */
  readonly bytes: number;
  /** Undefined if it is too large, or a submodule. */
  readonly content: Buffer | undefined;
}

export interface Trees {
  readonly from: string;
  readonly to: string;
  /** The content of larger files is not read. */
  readonly maxBytes: number;
  /** Versions, as `versionsBetween` names them, that were already looked at. They are left out. */
  readonly without?: ReadonlySet<string>;
}

/** The changed files as they are in the second tree, each as one string: path, mode and content. */
export async function versionsBetween(
  repo: Repo,
  store: Store,
  from: string,
  to: string,
): Promise<ReadonlySet<string>> {
  const place = withUsersObjects(store, repo);
  return new Set((await rawDiff(place, from, to)).map(versionOf));
}

const versionOf = ({ path, mode, id }: RawChange) => `${mode} ${id} ${path}`;

/** How many bytes of contents are in memory at once: one git reads so many. */
const BATCH_BYTES = 16 * 1024 * 1024;

/** One after the other. */
export async function* readChangedFiles(
  repo: Repo,
  store: Store,
  { from, to, maxBytes, without }: Trees,
): AsyncGenerator<ChangedFile> {
  const place = withUsersObjects(store, repo);
  const changes = (await rawDiff(place, from, to)).filter((change) => !without?.has(versionOf(change)));
  const isContent = (mode: string) => mode !== NO_MODE && mode !== GITLINK_MODE;
  const ids = changes.flatMap(({ oldMode, oldId, mode, id }) => [
    ...(isContent(oldMode) ? [oldId] : []),
    ...(isContent(mode) ? [id] : []),
  ]);
  const sizes = await sizesOf(place, ids);
  const wantedOf = ({ oldId, id }: RawChange) =>
    [oldId, id].filter((one) => (sizes.get(one) ?? maxBytes + 1) <= maxBytes);
  const bytesOf = (change: RawChange) =>
    wantedOf(change).reduce((bytes, id) => bytes + (sizes.get(id) ?? 0), 0);
  for (const batch of batchesOf(changes, bytesOf)) {
    const contents = await contentsOf(place, batch.flatMap(wantedOf));
    const version = (mode: string, id: string): FileVersion | null =>
      mode === NO_MODE ? null : { kind: kindOf(mode), bytes: sizes.get(id) ?? 0, content: contents.get(id) };
    for (const { path, oldMode, oldId, mode, id } of batch)
      yield { path: textOf(path), before: version(oldMode, oldId), after: version(mode, id) };
  }
}

function* batchesOf(
  changes: readonly RawChange[],
  bytesOf: (change: RawChange) => number,
): Generator<readonly RawChange[]> {
  let batch: RawChange[] = [];
  let left = BATCH_BYTES;
  for (const change of changes) {
    const bytes = bytesOf(change);
    if (bytes > left && batch.length > 0) {
      yield batch;
      batch = [];
      left = BATCH_BYTES;
    }
    batch.push(change);
    left -= bytes;
  }
  if (batch.length > 0) yield batch;
}

const textOf = (path: BytePath) => toText(path);

function kindOf(mode: string): FileVersion["kind"] {
  if (mode === GITLINK_MODE) return "submodule";
  if (mode === LINK_MODE) return "link";
  return mode === "100755" ? "executable" : "file";
}

async function sizesOf(place: Store, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map();
  const input = [Buffer.from(`${[...new Set(ids)].join("\n")}\n`)];
  const out = await git(place, ["cat-file", "--batch-check=%(objectname) %(objectsize)"], { input });
  const rows = out.toString("utf8").trimEnd().split("\n");
  return new Map(rows.map((row) => [row.split(" ")[0] ?? "", Number(row.split(" ")[1])]));
}

async function contentsOf(place: Store, ids: readonly string[]): Promise<ReadonlyMap<string, Buffer>> {
  const pieces = new Map<string, Buffer[]>(ids.map((id) => [id, []]));
  await readContents(place, [...pieces.keys()], async (id, bytes) => {
    pieces.get(id)?.push(Buffer.from(bytes));
  });
  return new Map([...pieces].map(([id, list]) => [id, Buffer.concat(list)]));
}
