/**
 * Owns which program a tool's first word means, and the check that it is the same program later. A program of
 * the machine or the user is identified by its path and the hash of its bytes; a program of the repo by its
 * path in the tree, because the tree determines its bytes.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { gitLine, type Repo, type Store, withUsersObjects } from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import { programsNamed, type Sandbox } from "../../process/index.ts";

export type Executable = { readonly path: string; readonly sha256: string } | { readonly tree: string };

export interface ProgramTarget {
  readonly executable: Executable;
}

export interface InTree {
  readonly repo: Repo;
  readonly store: Store;
  readonly tree: string;
}

/** Looks as a shell in the sandbox would. `files`: the files of the tool's tree; null if it sees none. */
export async function findExecutable(
  sandbox: Sandbox,
  name: string,
  files: InTree | null,
): Promise<Executable> {
  for (const { kind, path } of programsNamed(sandbox, name)) {
    if (kind === "file") return { path, sha256: await hashFile(path) };
    if (files && (await isProgram(files, path))) return { tree: path };
  }
  throw new HoldfastError(
    "program_missing",
    `the program ${name} was not found where the tool could run it`,
    {
      program: name,
    },
  );
}

/** Links are not followed: their target may be outside of the tree. */
async function isProgram({ repo, store, tree }: InTree, path: string): Promise<boolean> {
  const place = withUsersObjects(store, repo);
  const line = await gitLine(place, ["--literal-pathspecs", "ls-tree", tree, "--", path]);
  return line.startsWith("100755 blob ");
}

/** Fails with `grant_invalid` if its bytes have changed. A program in the tree is determined by the tree. */
export async function assertSame(executable: Executable): Promise<void> {
  if (!("path" in executable) || (await hashFile(executable.path)) === executable.sha256) return;
  throw new HoldfastError(
    "grant_invalid",
    `${executable.path} is not the program that was approved: its content has changed`,
  );
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    await pipeline(createReadStream(path), hash);
  } catch {
    throw new HoldfastError("program_missing", `${path} can't be read`, { program: path });
  }
  return hash.digest("hex");
}
