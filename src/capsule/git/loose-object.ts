/**
 * Owns the writing of one object into a gitdir of Holdfast, without starting git.
 */
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deflateSync } from "node:zlib";

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
