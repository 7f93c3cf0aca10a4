/**
 * Owns `withheld.json`: which file contents in HOME contain a value of an environment. Only the checkpoint
 * can tell, because it knows the values. An export, perhaps much later, leaves these contents out.
 */
import {
  contentsOf,
  type NamedSnapshot,
  openStore,
  readNamedManifest,
  textsInContents,
} from "../../capsule/index.ts";
import { ruleOf } from "../../redaction/index.ts";
import { type Disk, parseObject, readTextOr, replaceFile, withheldPath } from "../../util/index.ts";
import type { Room } from "../room/room.ts";

/** The redaction rules that matched, by the id of a content. */
export type Withheld = ReadonlyMap<string, readonly string[]>;

export function readWithheld(sessionDir: string): Withheld {
  const value = parseObject(readTextOr(withheldPath(sessionDir), "")) ?? {};
  return new Map(
    Object.entries(value).flatMap(([id, rules]): [string, string[]][] =>
      Array.isArray(rules) ? [[id, rules.map(String)]] : [],
    ),
  );
}

async function writeWithheld(disk: Disk, sessionDir: string, withheld: Withheld): Promise<void> {
  await replaceFile(
    disk,
    withheldPath(sessionDir),
    Buffer.from(`${JSON.stringify(Object.fromEntries(withheld))}\n`),
  );
}

/** A fork shares the snapshots of its parent, and so their contents. */
export async function inheritWithheld(disk: Disk, parentDir: string, dir: string): Promise<void> {
  const withheld = readWithheld(parentDir);
  if (withheld.size > 0) await writeWithheld(disk, dir, withheld);
}

/** Call it before the snapshot is recorded. */
export async function noteWithheld(
  { session, sessionDir, repo, io }: Room,
  home: NamedSnapshot,
): Promise<void> {
  const { secrets } = session;
  if (secrets.length === 0) return;
  const store = await openStore(repo, io.disk);
  const manifest = await readNamedManifest(store, home);
  const { contents } = await contentsOf(store, home.commit, manifest);
  const found = await textsInContents(
    store,
    [...contents.values()],
    secrets.map(({ value }) => value),
  );
  if (found.size === 0) return;
  const withheld = new Map(readWithheld(sessionDir));
  for (const [id, texts] of found) {
    const rules = secrets.filter(({ value }) => texts.has(value)).map(ruleOf);
    withheld.set(id, [...new Set([...(withheld.get(id) ?? []), ...rules])].sort());
  }
  await writeWithheld(io.disk, sessionDir, withheld);
}
