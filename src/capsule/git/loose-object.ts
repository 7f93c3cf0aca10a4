/**
 * Owns one object in a file of its own, without starting git: writing it into a gitdir of Holdfast, and
 * reading a commit's tree.
 */
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deflateSync, inflateSync } from "node:zlib";
import { readPlainFile } from "../../util/index.ts";

const MAX_COMMIT_BYTES = 1024 * 1024;
const COMMIT = /^commit \d+\0tree ([0-9a-f]{40,64})\n/;

/** Returns its id. It is not synced. */
export async function writeLoose(
  gitDir: string,
  algorithm: "sha1" | "sha256",
  { type, bytes }: { readonly type: "commit"; readonly bytes: Buffer },
): Promise<string> {
  const object = Buffer.concat([Buffer.from(`${type} ${bytes.length}\0`), bytes]);
  const id = createHash(algorithm).update(object).digest("hex");
  const dir = join(gitDir, "objects", id.slice(0, 2));
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, id.slice(2)), deflateSync(object));
  return id;
}

/** The tree of a commit. Undefined: ask git, which also finds it in a pack. */
export function readLooseTree(objects: string, algorithm: "sha1" | "sha256", id: string): string | undefined {
  const packed = readPlainFile(join(objects, id.slice(0, 2), id.slice(2)), { maxBytes: MAX_COMMIT_BYTES });
  if (!packed) return undefined;
  try {
    const object = inflateSync(packed, { maxOutputLength: MAX_COMMIT_BYTES });
    if (createHash(algorithm).update(object).digest("hex") !== id) return undefined;
    return COMMIT.exec(object.toString("latin1"))?.[1];
  } catch {
    return undefined;
  }
}
