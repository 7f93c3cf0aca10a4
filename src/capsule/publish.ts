/**
 * Owns publishing: the task's work becomes a branch of the user's repo, and nothing else there changes.
 *
 * K9 What reaches the user's repo is exactly the objects of one commit, checked by git as they come in, and one
 *    ref, moved only from where it was known to be. No tag, no FETCH_HEAD, no hook.
 */

import { createReadStream, existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { HoldfastError } from "../contract/index.ts";
import type { Disk } from "../util/index.ts";
import { git, gitToFile, type Identity, runGit } from "./git.ts";
import { objectsLink, type Repo, userPlace } from "./repo.ts";
import { makeAside, type Store } from "./store.ts";

export interface Publication {
  readonly repo: Repo;
  readonly store: Store;
  readonly disk: Disk;
  readonly commit: string;
  readonly base: string | null;
  readonly branch: string;
  /** Whose work it is: a tip that doesn't say so was put there by somebody else. */
  readonly session: string;
  readonly identity: Identity;
}

export const publishedBranch = (session: string, task: number) => `holdfast/${session}/${task}`;

export async function publish({
  repo,
  store,
  disk,
  commit,
  base,
  branch,
  session,
  identity,
}: Publication): Promise<void> {
  const ref = `refs/heads/${branch}`;
  const before = await currentValue(repo, ref);
  if (before === commit) return;
  if (before !== undefined && !(await isOurs(repo, before, session)))
    throw new HoldfastError("publish_refused", `the branch ${branch} was moved by somebody else`, { branch });
  await copyObjects(repo, store, commit, base);
  await disk.syncDir(join(repo.objects, "pack"));
  const { exitCode, stderr } = await runGit(
    userPlace(repo),
    ["update-ref", "-m", "holdfast: published", ref, commit, before ?? "0".repeat(commit.length)],
    { accept: [0, 128], identity },
  );
  if (exitCode !== 0)
    throw new HoldfastError("publish_refused", `the branch ${branch} could not be set: ${stderr.trim()}`, {
      branch,
    });
  // Where refs are files, their directory has the new name.
  const dir = dirname(join(repo.gitDir, ref));
  if (existsSync(dir)) await disk.syncDir(dir);
}

async function currentValue(repo: Repo, ref: string): Promise<string | undefined> {
  const { exitCode, stdout } = await runGit(userPlace(repo), ["rev-parse", "--verify", "--quiet", ref], {
    accept: [0, 1, 128],
  });
  return exitCode === 0 ? stdout.toString("utf8").trim() : undefined;
}

async function isOurs(repo: Repo, commit: string, session: string): Promise<boolean> {
  // The bytes of the commit, and not `git log`, which may have its signature checked by a program of the config.
  const text = (await git(userPlace(repo), ["cat-file", "commit", commit])).toString("utf8");
  const message = text.slice(text.indexOf("\n\n"));
  return message.split("\n").includes(`Session: ${session}`);
}

/** One pack with what the base has not got; refused as a whole if any object is not as it should be. */
async function copyObjects(repo: Repo, store: Store, commit: string, base: string | null): Promise<void> {
  const from = { gitDir: store.gitDir, alternates: [objectsLink(repo)] };
  const revisions = Buffer.from(`${commit}\n${base === null ? "" : `^${base}\n`}`);
  const aside = await makeAside(store);
  const pack = join(aside, "work.pack");
  try {
    const packing = ["pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset"];
    await gitToFile(from, packing, pack, { input: [revisions], config: ["pack.threads=1"] });
    await takeInto(repo, pack);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

async function takeInto(repo: Repo, pack: string): Promise<void> {
  const { exitCode, stderr } = await runGit(
    userPlace(repo),
    ["index-pack", "--stdin", "--strict", "--fix-thin"],
    {
      input: createReadStream(pack),
      config: ["transfer.fsckObjects=true", "fsck.zeroPaddedFilemode=ignore"],
      accept: [0, 1, 128],
    },
  );
  if (exitCode !== 0) {
    const said = stderr.trim().split("\n").slice(-2).join("; ");
    throw new HoldfastError("publish_refused", `git refuses the work: ${said}`);
  }
}
