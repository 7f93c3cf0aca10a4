/**
 * Owns `homes.json` of a session that came from an export: for each HOME snapshot that its journal names, the one that
 * came along. That may be another one: files with a secret in them are left out of an export, a snapshot is named by
 * all that it holds, and the journal can't be changed. Whoever wants a HOME snapshot that a journal names asks here.
 *
 * N4 What is restored is the HOME that the journal names, or the one that its export put in its place.
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

/** Undefined for whatever is none. */
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

/** Empty for a session that did not come from elsewhere. */
export async function readHomes(sessionDir: string): Promise<Homes> {
  const bytes = await readIfThere(homesPath(sessionDir));
  const homes = bytes ? decodeHomes(bytes) : new Map();
  if (homes) return homes;
  throw damaged({ file: homesPath(IN_SESSION), offset: 0, seq: 0, reason: "it was changed" });
}

/** The snapshot that is here of a HOME that the journal names; undefined where there was nothing in it. */
export async function homeSnapshot(
  sessionDir: string,
  { commit, manifest }: HomeState,
): Promise<NamedSnapshot | undefined> {
  if (commit === "") return undefined;
  return (await readHomes(sessionDir)).get(commit) ?? { commit, manifest };
}
