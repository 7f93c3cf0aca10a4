/**
 * Owns `homes.json` of an imported session: for each HOME snapshot that the journal names, the snapshot that
 * was imported. They can differ: an export leaves out files that contain a secret, the content of a snapshot
 * determines its id, and the journal can't be changed. All code that needs a HOME snapshot that a journal
 * names asks here.
 *
 * carried-home-1 A restored HOME is the one that the journal names, or the one that the export put in its
 *    place.
 */
import { isCommitId, type NamedSnapshot } from "../../capsule/index.ts";
import { damaged, FORMAT_VERSION } from "../../journal/index.ts";
import type { HomeState } from "../../session/index.ts";
import {
  homesPath,
  IN_SESSION,
  isPlainObject,
  openSealedJson,
  readIfThere,
  sealJson,
} from "../../util/index.ts";

/** By the commit that the journal names. */
export type Homes = ReadonlyMap<string, NamedSnapshot>;

const SHA256 = /^[0-9a-f]{64}$/;

export function encodeHomes(homes: Homes): Uint8Array {
  const rows = [...homes].map(([named, { commit, manifest }]) => [named, { snapshot: commit, manifest }]);
  return sealJson({ holdfast: FORMAT_VERSION, kind: "homes", homes: Object.fromEntries(rows) });
}

/** Undefined for bytes of any other form. */
export function decodeHomes(bytes: Buffer): Homes | undefined {
  const value = openSealedJson(bytes);
  if (value?.["holdfast"] !== FORMAT_VERSION || value["kind"] !== "homes") return undefined;
  if (!isPlainObject(value["homes"])) return undefined;
  const homes = new Map<string, NamedSnapshot>();
  for (const [named, row] of Object.entries(value["homes"])) {
    const { snapshot, manifest } = isPlainObject(row) ? row : {};
    if (typeof snapshot !== "string" || typeof manifest !== "string") return undefined;
    if (!isCommitId(named) || !isCommitId(snapshot) || !SHA256.test(manifest)) return undefined;
    homes.set(named, { commit: snapshot, manifest });
  }
  return homes;
}

/** Empty for a session that was not imported. */
export async function readHomes(sessionDir: string): Promise<Homes> {
  const bytes = await readIfThere(homesPath(sessionDir));
  const homes = bytes ? decodeHomes(bytes) : new Map();
  if (homes) return homes;
  throw damaged({ file: homesPath(IN_SESSION), offset: 0, seq: 0, reason: "it was changed" });
}

/** The local snapshot of a HOME that the journal names; undefined when that HOME was empty. */
export async function homeSnapshot(
  sessionDir: string,
  { commit, manifest }: HomeState,
): Promise<NamedSnapshot | undefined> {
  if (commit === "") return undefined;
  return (await readHomes(sessionDir)).get(commit) ?? { commit, manifest };
}
