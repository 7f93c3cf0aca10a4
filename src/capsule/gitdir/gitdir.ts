/**
 * Owns the private gitdir of a capsule: a whole git repo of its own that borrows the user's objects and
 * shares nothing that can be written. Holdfast writes its files directly, without a git process or a lock.
 *
 * gitdir-1 It gives access to what the user has and to what this task made, and to no other task's
 *    unpublished work.
 */

import { writeFileSync } from "node:fs";
import { copyFile, mkdir, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Cursor } from "../files/cursor.ts";
import { removeEntry } from "../files/removal.ts";
import type { Identity } from "../git/git.ts";
import { readRefs } from "../repo/refs.ts";
import { objectsLink, type Repo } from "../repo/repo.ts";
import { readShallow, userExcludes, userIdentity } from "../repo/settings.ts";
import { GIVEN_REFS, packedRefs, type Ref } from "./agent-git.ts";

/** What a gitdir needs to know of the user's repo. It is read once for many gitdirs. */
export interface Surroundings {
  readonly refs: readonly Ref[];
  readonly identity: Identity;
  readonly shallow: Buffer | undefined;
  /** The user's own ignore rules. */
  readonly excludes: string;
}

/** For a gitdir that only Holdfast uses. */
export const noSurroundings: Surroundings = {
  refs: [],
  identity: { name: "", email: "" },
  shallow: undefined,
  excludes: "",
};

export async function surroundingsOf(repo: Repo): Promise<Surroundings> {
  const [refs, identity, excludes] = await Promise.all([
    readRefs(repo),
    userIdentity(repo),
    userExcludes(repo),
  ]);
  return { refs, identity, shallow: readShallow(repo), excludes };
}

export interface NewGitdir {
  readonly path: string;
  readonly repo: Repo;
  readonly surroundings: Surroundings;
  /** The branch that is checked out; without a commit, an unborn branch. */
  readonly branch: string;
  readonly commit: string | null;
  /** Copied if there is one, so that no file has to be read again. */
  readonly index?: string;
  /** Where it finds the user's objects. By default, this home's link to them, which a sandbox shows too. */
  readonly objects?: string;
  /** Whether it is removed when the process that makes it ends. Then nothing of it is synced. */
  readonly isPassing?: boolean | undefined;
}

export async function makeGitdir({
  path,
  repo,
  surroundings,
  branch,
  commit,
  index,
  objects = objectsLink(repo),
  isPassing = false,
}: NewGitdir): Promise<void> {
  await mkdir(join(path, "objects", "info"), { recursive: true });
  await mkdir(join(path, "info"));
  const refFile = join(path, "refs", "heads", branch);
  await mkdir(join(refFile, ".."), { recursive: true });
  const { identity, refs, shallow } = surroundings;
  const flush = !isPassing;
  const write = (name: string, text: string | Buffer) => writeFile(join(path, name), text, { flush });
  await Promise.all([
    write("HEAD", `ref: refs/heads/${branch}\n`),
    write("config", configOf(repo, identity)),
    write("packed-refs", packedRefs(refs)),
    // If it is lost, the refs are not updated later; nothing else depends on it, so it is not synced.
    writeFile(join(path, GIVEN_REFS), packedRefs(refs)),
    write("info/exclude", surroundings.excludes),
    write("objects/info/alternates", `${objects}\n`),
    commit && writeFile(refFile, `${commit}\n`, { flush }),
    shallow && write("shallow", shallow),
    index && (isPassing ? copyFile : copySynced)(index, join(path, "index")),
  ]);
}

async function copySynced(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  const handle = await open(to, "r+");
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/**
 * Writes anew where it borrows objects from, after a restore, because the path is of this home. If the task
 * changed the gitdir so that it is not made of plain directories, it stays as it is: nothing is written
 * through a link.
 */
export function linkObjects(root: string, repo: Repo): void {
  using cursor = new Cursor(root);
  cursor.inParent(".git/objects/info/alternates", (dir, name) => {
    removeEntry(dir, name);
    writeFileSync(dir.at(name), `${objectsLink(repo)}\n`, { flag: "wx" });
  });
}

function configOf(repo: Repo, { name, email }: Identity): string {
  const format = repo.objectFormat === "sha256" ? "\n[extensions]\n\tobjectFormat = sha256" : "";
  return `[core]
\trepositoryformatversion = ${format ? 1 : 0}
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
\ttrustctime = false${format}
[gc]
\tauto = 0
[maintenance]
\tauto = false
[user]
\tname = ${quotedValue(name)}
\temail = ${quotedValue(email)}
`;
}

function quotedValue(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replace(/\p{Cc}/gu, " ")}"`;
}
