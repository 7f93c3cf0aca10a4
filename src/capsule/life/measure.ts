/**
 * Owns what a snapshot of a capsule contains: which changes are the capsule's own, and by which rules they
 * are judged.
 */
import { chmodSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Sandbox } from "../../process/index.ts";
import { sha256Hex } from "../../util/index.ts";
import { baseGitlinks, openBase } from "../base/bases.ts";
import type { CapsuleSpec } from "../dir/capsule-dir.ts";
import { isUnchangedInclude } from "../dir/include.ts";
import type { Change } from "../files/changes.ts";
import { Cursor } from "../files/cursor.ts";
import { removeTree } from "../files/directories.ts";
import { fromText } from "../files/path.ts";
import type { View } from "../files/view.ts";
import { ConfinedGit, makeEmptyGitdir } from "../git/confined.ts";
import { KnownFiles } from "../layer/known-files.ts";
import { layerDir } from "../layer/layers.ts";
import { committedCrlf, isGitlink, listCommit } from "../repo/commits.ts";
import type { Repo } from "../repo/repo.ts";
import { userExcludes } from "../repo/settings.ts";
import type { SnapshotLimits } from "../snapshot/choose.ts";
import type { Rules } from "../snapshot/classify.ts";
import { type Snapshot, takeSnapshot } from "../snapshot/snapshot.ts";
import { makeAside } from "../store/objects.ts";
import { openStore } from "../store/store.ts";
import type { CapsuleIo } from "./io.ts";

const ANSWER_MS = 30_000;

export interface Measured {
  readonly repo: Repo;
  readonly spec: CapsuleSpec;
  /** What its task's sandbox shows around its files; undefined if it has none. */
  readonly sandbox: Sandbox | undefined;
  readonly view: View;
  /** Everything that differs from what the capsule stands on. */
  readonly changes: Iterable<Change> | AsyncIterable<Change>;
  /** Null for a snapshot that no ref will name. */
  readonly name: string | null;
  readonly limits: SnapshotLimits;
}

export async function measure(io: CapsuleIo, measured: Measured): Promise<Snapshot> {
  const { repo, spec, view, limits, name } = measured;
  // The task may have locked all of it. The mode of the root itself is not part of a snapshot.
  if ((statSync(view.root).mode & 0o700) !== 0o700) chmodSync(view.root, 0o755);
  const store = await openStore(repo, io.disk);
  const aside = await makeAside(store);
  try {
    const { base, lower, setupKey, branch, session } = spec;
    return await takeSnapshot({
      store,
      known: await KnownFiles.read(spec.stack.map((layer) => layerDir(repo, layer))),
      changes: ownChanges(measured),
      rules: { ...(await rulesOf(measured, aside)), clock: io.clock },
      limits,
      facts: { base, lower, setupKey, branch },
      session,
      name,
      atMs: io.clock.nowMs(),
      onProgress: io.onProgress,
    });
  } finally {
    await removeTree(aside);
  }
}

/** Leaves out what every capsule gets anew: the link to the user's objects, and unchanged includes. */
async function* ownChanges({ repo, spec, view, changes }: Measured): AsyncGenerator<Change> {
  const { included } = spec;
  for await (const change of changes) {
    if (!("gone" in change)) {
      const { entry, dir } = change;
      if (entry.path === ".git/objects/info/alternates") continue;
      if (
        entry.kind === "dir" &&
        Object.keys(included).some((path) => fromText(path).startsWith(`${entry.path}/`))
      )
        continue;
      if (
        (entry.kind === "file" || entry.kind === "symlink") &&
        isUnchangedInclude(included, dir, entry.path, repo.objectFormat)
      )
        continue;
    }
    yield change;
  }
  // These files are in no base, so nothing else shows that they are gone.
  using cursor = new Cursor(view.root);
  for (const path of Object.keys(included).map(fromText))
    if (!cursor.inParent(path, (dir, name) => dir.stat(name))) yield { gone: path };
}

async function rulesOf(
  { repo, spec, view, sandbox, limits }: Measured,
  aside: string,
): Promise<Omit<Rules, "clock">> {
  const { baseKey, lower, included } = spec;
  const listed = baseKey === null ? await listCommit(repo, lower) : [];
  const gitlinks =
    baseKey === null ? listed.filter(isGitlink).map(({ path }) => path) : await baseGitlinks(repo, baseKey);
  const gitDir = join(aside, "gitdir");
  await makeEmptyGitdir(gitDir, repo.objectFormat);
  await mkdir(join(gitDir, "info"));
  const excludes = await userExcludes(repo);
  await writeFile(join(gitDir, "info", "exclude"), excludes);
  return {
    key: sha256Hex(JSON.stringify([excludes, baseKey, lower, gitlinks, Object.keys(included)])),
    confined: new ConfinedGit({ gitDir, view, sandbox }),
    view,
    aside,
    index: baseKey === null ? undefined : openBase(repo, baseKey).index,
    gitlinks: new Set(gitlinks),
    tracked: new Set(listed.map(({ path }) => path)),
    included: Object.keys(included).map(fromText),
    algorithm: repo.objectFormat,
    answerMs: limits.answerMs ?? ANSWER_MS,
    committedCrlf: (paths) => committedCrlf(repo, lower, paths),
  };
}
