/**
 * Owns what is known of the files of sealed layers: which content of the store each has, and what git
 * reported about it. So a snapshot reads only what was written since the last layer was sealed.
 *
 * layer-2 A sealed file is known by its inode, and only while its layer is where it was sealed: in a copy of
 *    a home nothing is known. Git's answer counts while the files with its rules are the same; otherwise git
 *    is asked again.
 */
import { statSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import * as z from "zod/mini";
import { openSealedJson, readIfThere, sealJson } from "../../util/index.ts";
import type { BytePath } from "../files/path.ts";
import { type Role, roles } from "../store/manifest.ts";

export interface KnownFile {
  readonly path: BytePath;
  /** The id of its content in the store. */
  readonly id: string;
  readonly role: Role;
  /** The id of the content that a commit has for it. */
  readonly converted: string | null;
}

export interface LayerFile extends KnownFile {
  /** The key of the inode that it has in its layer. */
  readonly inode: string;
}

export interface LayerFiles {
  readonly rulesKey: string;
  readonly files: readonly LayerFile[];
}

const row = z.tuple([z.string(), z.string(), z.string(), z.enum(roles), z.nullable(z.string())]);
const schema = z.object({ layer: z.string(), rulesKey: z.string(), files: z.array(row) });

const recordOf = (layerDir: string) => `${layerDir}.files.json`;

/** Identifies the directory itself: a copy of it is another directory, made at another time. */
function identityOf(layerDir: string): string {
  const { dev, ino, ctimeNs } = statSync(layerDir, { bigint: true });
  return `${dev}:${ino}:${ctimeNs}`;
}

/**
 * Of a layer that was just sealed. It is a cache and needs no sync: a torn one is ignored, and the files are
 * read.
 */
export async function rememberFiles(layerDir: string, { rulesKey, files }: LayerFiles): Promise<void> {
  const rows = files.map(({ inode, path, id, role, converted }) => [inode, path, id, role, converted]);
  const record = { layer: identityOf(layerDir), rulesKey, files: rows };
  await writeFile(recordOf(layerDir), sealJson(record), { mode: 0o600 });
}

export async function forgetFiles(layerDir: string): Promise<void> {
  await rm(recordOf(layerDir), { force: true });
}

/** What is known of a stack of layers. */
export class KnownFiles {
  readonly #byInode = new Map<string, KnownFile & { readonly rulesKey: string }>();

  /** Topmost first. */
  static async read(layerDirs: readonly string[]): Promise<KnownFiles> {
    const known = new KnownFiles();
    // What was learned last counts.
    for (const dir of layerDirs.toReversed()) await known.#add(dir);
    return known;
  }

  async #add(layerDir: string): Promise<void> {
    const bytes = await readIfThere(recordOf(layerDir));
    const parsed = schema.safeParse(bytes && openSealedJson(bytes));
    if (!parsed.success || parsed.data.layer !== identityOf(layerDir)) return;
    const { rulesKey, files } = parsed.data;
    for (const [inode, path, id, role, converted] of files)
      this.#byInode.set(inode, { path, id, role, converted, rulesKey });
  }

  /** The id of its content, whatever its name is now. */
  contentOf(inode: string): string | undefined {
    return this.#byInode.get(inode)?.id;
  }

  /** What git reported about it, under the same rules and the same name. */
  answerFor(inode: string, path: BytePath, rulesKey: string): KnownFile | undefined {
    const known = this.#byInode.get(inode);
    return known?.path === path && known.rulesKey === rulesKey ? known : undefined;
  }
}
