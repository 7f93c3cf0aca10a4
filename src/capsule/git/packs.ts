/**
 * Owns the files of packs in a store: the place of each object, and whether each file is as git wrote it. It
 * continues after damage, and never fails because of it.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, Meter, type OnProgress } from "../../util/index.ts";
import { type GitPlace, runGit } from "./git.ts";

type Gitdir = Pick<GitPlace, "gitDir">;

export interface PackedAt {
  /** The path of the pack in the store. */
  readonly file: string;
  readonly offset: number;
}

/** The places of objects, as far as the indexes of the packs show them. */
export async function locateObjects(
  gitdir: Gitdir,
  ids: ReadonlySet<string>,
): Promise<{ readonly places: ReadonlyMap<string, PackedAt>; readonly packs: ReadonlySet<string> }> {
  const places = new Map<string, PackedAt>();
  const packs = new Set<string>();
  for (const name of await packFiles(gitdir)) {
    if (!name.endsWith(".idx")) continue;
    const file = `objects/pack/${name.replace(/\.idx$/, ".pack")}`;
    let rest = "";
    const onOutput = (chunk: Buffer) => {
      const lines = (rest + chunk.toString("latin1")).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const [offset, id = ""] = line.split(" ");
        if (!ids.has(id)) continue;
        places.set(id, { file, offset: Number(offset) });
        packs.add(file);
      }
    };
    const input = createReadStream(join(gitdir.gitDir, "objects", "pack", name));
    // If this index can't be read, git can't use it either: the objects of its pack are missing.
    await runGit(gitdir, ["show-index"], { input, onOutput, accept: [0, 1, 128] });
  }
  return { places, packs };
}

export interface BadFile {
  /** Its path in the store. */
  readonly file: string;
  readonly reason: string;
}

/** Checks every byte of every pack and of its index, by the hash at the end of each. */
export async function findBadPacks(
  gitdir: Gitdir,
  hashBytes: 20 | 32,
  onProgress?: OnProgress,
): Promise<BadFile[]> {
  const names = await packFiles(gitdir);
  const meter = new Meter(onProgress, "reading packs", { ofFiles: names.length });
  const bad: BadFile[] = [];
  for (const name of names) {
    const file = `objects/pack/${name}`;
    const reason = await whyDamaged(join(gitdir.gitDir, file), hashBytes, meter);
    meter.add({ files: 1 });
    if (reason !== undefined) bad.push({ file, reason });
    const twin = name.replace(/\.(pack|idx)$/, (end) => (end === ".pack" ? ".idx" : ".pack"));
    if (twin !== name && !names.includes(twin))
      bad.push({ file: `objects/pack/${twin}`, reason: `it is missing, but ${name} exists` });
  }
  return bad;
}

async function packFiles({ gitDir }: Gitdir): Promise<string[]> {
  const names = await readdir(join(gitDir, "objects", "pack")).catch(() => []);
  return names.filter((name) => /^pack-[0-9a-f]+\.(pack|idx|rev|bitmap)$/.test(name)).sort();
}

/** Checks a file of git that ends with the hash of everything before it. */
export async function whyDamaged(
  path: string,
  hashBytes: 20 | 32,
  meter?: Meter,
): Promise<string | undefined> {
  try {
    const { size } = await stat(path);
    if (size <= hashBytes) return "it is too short";
    const digest = createHash(hashBytes === 32 ? "sha256" : "sha1");
    const ending: Buffer[] = [];
    let missing = size - hashBytes;
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      const body = chunk.subarray(0, missing);
      digest.update(body);
      meter?.add({ bytes: chunk.length });
      missing -= body.length;
      ending.push(chunk.subarray(body.length));
    }
    const isSame = digest.digest().equals(Buffer.concat(ending));
    return isSame ? undefined : "its bytes do not match the hash at its end";
  } catch (error) {
    // Since it was listed, one pack has replaced many.
    if (errorCode(error) === "ENOENT") return undefined;
    return `it can't be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}
