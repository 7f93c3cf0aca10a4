/**
 * Owns the strategies that give a capsule plain directories of its own: `worktree`, a checkout that works
 * everywhere, and `clone`, a copy of a base that shares its blocks with it.
 *
 * A worktree has a gitdir of its own too, instead of an entry in the user's repo. Nothing there is shared, so
 * there is no lock to wait for, and nothing that an agent does to its gitdir reaches the user's.
 */
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { endMarked, enterHolder } from "../../process/index.ts";
import { isAlive, parseObject, readTextOr, realDisk, replaceFile, tellStep } from "../../util/index.ts";
import { openBase } from "../base/bases.ts";
import type { CapsuleDir, CapsuleSpec } from "../dir/capsule-dir.ts";
import { contentId, type Listed, type Listing, listedChanges } from "../files/changes.ts";
import { OpenDir } from "../files/open-dir.ts";
import { giveTo } from "../files/ownership.ts";
import { ancestorsOf, type BytePath } from "../files/path.ts";
import { copySharing } from "../files/share.ts";
import { plainView, type View } from "../files/view.ts";
import { checkOut } from "../git/check-out.ts";
import { makeGitdir, noSurroundings } from "../gitdir/gitdir.ts";
import { listCommit, treeOf } from "../repo/commits.ts";
import type { Repo } from "../repo/repo.ts";
import { comingHolder, endHolderOf, networkOf } from "./overlay.ts";
import type { Strategy } from "./strategy.ts";

/** The files are at their own path. In a sandbox, their holder exists for its network alone. */
const plain: Pick<Strategy, "attach" | "reached" | "detach"> = {
  async attach(ground, layout) {
    const reached = viewOf(layout);
    if (!ground.sandbox || reached.hasNetwork) return reached;
    const coming = await comingHolder(ground, layout);
    await coming.hold({ record: (holder) => layout.writeHolder(holder) });
    return viewOf(layout);
  },
  reached: viewOf,
  async detach(layout) {
    await endHolderOf(layout);
    await endMarked(layout.dir);
  },
};

function viewOf(layout: CapsuleDir): View {
  const holder = layout.readHolder();
  const view = plainView(layout.tree);
  if (!holder?.netNamespace || !isAlive(holder)) return view;
  return { ...view, enter: enterHolder(holder), ...networkOf(holder) };
}

export const worktree: Strategy = {
  name: "worktree",
  usesBase: false,
  ...plain,

  async populate({ repo, onProgress, sandbox }, layout, spec, surroundings) {
    await mkdir(layout.tree, { mode: 0o700 });
    const gitDir = join(layout.tree, ".git");
    const { branch, lower } = spec;
    const own = surroundings ?? noSurroundings;
    await makeGitdir({ path: gitDir, repo, surroundings: own, branch, commit: lower });
    const treeish = lower ?? (await treeOf(repo, null));
    giveTo(sandbox?.user, layout.tree);
    await checkOut({ gitDir, workTree: layout.tree }, treeish, { onProgress, sandbox });
    // The files will bring the gitdir that belongs to them.
    if (!surroundings) await rm(gitDir, { recursive: true });
  },

  async *changes({ repo, onProgress }, layout, spec) {
    const listing = await listingOf(repo, spec, layout.listingFile);
    using root = OpenDir.root(layout.tree);
    yield* listedChanges(root, listing, repo.objectFormat, onProgress);
  },
};

export const clone: Strategy = {
  name: "clone",
  usesBase: true,
  ...plain,

  async populate({ repo, onProgress }, layout, spec, surroundings) {
    const base = openBase(repo, spec.baseKey ?? "");
    const listing = join(base.dir, LISTING_FILE);
    // What set-up left in the base is read once for all its clones.
    if (spec.setup !== "" && !existsSync(listing)) await recordSetup(repo, spec, base.tree, listing);
    tellStep(onProgress, "cloning the base");
    await copySharing(base.tree, layout.tree);
    if (!surroundings) return;
    const { branch, lower } = spec;
    await makeGitdir({
      path: join(layout.tree, ".git"),
      repo,
      surroundings,
      branch,
      commit: lower,
      index: base.index,
    });
  },

  async *changes(ground, layout, spec) {
    const extras = join(openBase(ground.repo, spec.baseKey ?? "").dir, LISTING_FILE);
    const listing = await listingOf(ground.repo, spec, extras);
    using root = OpenDir.root(layout.tree);
    yield* listedChanges(root, listing, ground.repo.objectFormat, ground.onProgress);
  },
};

const LISTING_FILE = "listing.json";

/** The files of the checkout: those of the commit, corrected by what set-up changed. */
async function listingOf(repo: Repo, spec: CapsuleSpec, extrasFile: string): Promise<Listing> {
  const listing = new Map<BytePath, Listed>();
  const dirMode = 0o777 & ~spec.umask;
  const addDirs = (path: BytePath) => {
    for (const dir of ancestorsOf(path))
      if (!listing.has(dir)) listing.set(dir, { id: "", kind: "dir", mode: dirMode });
  };
  for (const { path, mode, id } of await listCommit(repo, spec.lower)) {
    addDirs(path);
    if (mode === "160000") listing.set(path, { id: "", kind: "dir", mode: dirMode });
    else if (mode === "120000") listing.set(path, { id, kind: "symlink", mode: 0o777 });
    else listing.set(path, { id, kind: "file", mode: (mode === "100755" ? 0o777 : 0o666) & ~spec.umask });
  }
  const extras = parseObject(readTextOr(extrasFile, "")) as
    | { entries?: [BytePath, Listed][]; gone?: BytePath[] }
    | undefined;
  for (const path of extras?.gone ?? []) listing.delete(path);
  for (const [path, listed] of extras?.entries ?? []) listing.set(path, listed);
  return listing;
}

/** Records what set-up left in a tree, so that it is not taken for the task's work. */
export async function recordSetup(
  repo: Repo,
  spec: CapsuleSpec,
  tree: string,
  listingFile: string,
): Promise<void> {
  const listing = await listingOf(repo, spec, "/dev/null");
  const entries: [BytePath, Listed][] = [];
  const gone: BytePath[] = [];
  using root = OpenDir.root(tree);
  for (const change of listedChanges(root, listing, repo.objectFormat)) {
    if ("gone" in change) gone.push(change.gone);
    else if (change.entry.path !== ".git" && !change.entry.path.startsWith(".git/")) {
      const { entry, dir, name } = change;
      if (entry.kind === "dir") entries.push([entry.path, { id: "", kind: "dir", mode: entry.mode }]);
      if (entry.kind === "symlink")
        entries.push([
          entry.path,
          { id: contentId(repo.objectFormat, [dir.link(name)]), kind: "symlink", mode: entry.mode },
        ]);
      if (entry.kind !== "file") continue;
      using file = dir.file(name);
      entries.push([
        entry.path,
        { id: contentId(repo.objectFormat, file.chunks(), file.size), kind: "file", mode: entry.mode },
      ]);
    }
  }
  await replaceFile(realDisk, listingFile, Buffer.from(JSON.stringify({ entries, gone })));
}
