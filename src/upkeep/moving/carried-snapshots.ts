/**
 * Owns the snapshots of an export: those of the files as they are, and those of HOME without private files.
 *
 * export-1 A file of HOME in which a secret is found, at any checkpoint, is not in an export unless it is
 *    asked for.
 *
 * A snapshot can't be changed: a snapshot with such a file is replaced by another one without it, and
 * `homes.json` names the replacement.
 */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  hasSnapshot,
  isCommitId,
  type NamedSnapshot,
  openStore,
  packSnapshots,
  type Store,
  unpackSnapshots,
} from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import { type FoundSession, type Home, repoOf } from "../../home/index.ts";
import { redactingValues } from "../../redaction/index.ts";
import { inspectSession, KnownSecrets } from "../../session/index.ts";
import { encodeHomes, readHomes, readWithheld } from "../../task/index.ts";
import { homesPath, IN_SESSION, snapshotsPath, tellStep } from "../../util/index.ts";
import { HomeScan, type LeftOut } from "./home-scan.ts";
import type { Named } from "./named.ts";
import { filePart, type Missing, type Part } from "./parts.ts";

export interface ExportOptions {
  /** All of HOME, whatever it contains. */
  readonly withHome?: boolean;
}

export interface SnapshotParts {
  readonly parts: readonly Part[];
  readonly leftOut: readonly LeftOut[];
  readonly missing: readonly Missing[];
}

export async function snapshotParts(
  home: Home,
  { id, dir }: FoundSession,
  named: Named,
  aside: string,
  { withHome = false }: ExportOptions,
): Promise<SnapshotParts> {
  const snapshots = [...named.snapshots.keys()];
  if (snapshots.length + named.homes.size === 0) return { parts: [], leftOut: [], missing: [] };
  const here = await readHomes(dir);
  const brought = snapshotsPath(dir);
  const isBrought = existsSync(brought);
  // It comes from an export without HOME, so there is nothing to search.
  if (isBrought && here.size === 0)
    return {
      parts: [filePart(snapshotsPath(IN_SESSION), brought)],
      leftOut: [],
      missing: missingHomes(named.homes.size),
    };

  const cameAlong = [...here.values()].map(({ commit }) => commit);
  const store = isBrought
    ? await unpackAside(home, id, brought, [...snapshots, ...cameAlong], aside)
    : await borrowStore(home, dir, aside);
  const known = new KnownSecrets(() => dir);
  const scan = new HomeScan(
    redactingValues(home.io.redact, () => known.all()),
    store,
    id,
    readWithheld(dir),
  );
  const homes = new Map<string, NamedSnapshot>();
  for (const [index, own] of [...named.homes.values()].entries()) {
    tellStep(
      home.onProgress,
      `looking through HOME for secrets, snapshot ${index + 1} of ${named.homes.size}`,
    );
    const is = here.get(own.commit) ?? own;
    if (isCommitId(is.commit) && (await hasSnapshot(store, is.commit)))
      homes.set(own.commit, withHome ? is : await scan.withoutSecrets(is));
  }

  const table = homesPath(aside);
  await writeFile(table, encodeHomes(homes), { mode: 0o600 });
  let pack = brought;
  // A snapshot that was imported and has no repo yet is passed on as it came, unless it has files that must
  // be left out.
  if (!isBrought || scan.leftOut.length > 0) {
    pack = snapshotsPath(aside);
    const carried = [...homes.values()].map(({ commit }) => commit);
    await packSnapshots(store, [...new Set([...snapshots, ...carried])], pack, home.onProgress);
  }
  return {
    parts: [
      filePart(snapshotsPath(IN_SESSION), pack),
      ...(homes.size > 0 ? [filePart(homesPath(IN_SESSION), table)] : []),
    ],
    leftOut: scan.leftOut,
    missing: missingHomes(named.homes.size - homes.size),
  };
}

/** A temporary store for the snapshots that are made for the export. It reads from the session's store. */
async function borrowStore(home: Home, dir: string, aside: string): Promise<Store> {
  const { disk } = home.io;
  const source = await openStore(await repoOf(home, (await inspectSession(dir)).state), disk);
  const store = await openStore({ dir: aside, objectFormat: source.objectFormat }, disk);
  return { ...store, alternates: [join(source.gitDir, "objects")] };
}

async function unpackAside(
  home: Home,
  session: string,
  pack: string,
  commits: readonly string[],
  aside: string,
): Promise<Store> {
  if (!commits.every(isCommitId))
    throw new HoldfastError("snapshot_invalid", "the journal names a snapshot that has no valid manifest");
  const objectFormat = commits.some((commit) => commit.length === 64) ? "sha256" : "sha1";
  const store = await openStore({ dir: aside, objectFormat }, home.io.disk);
  await unpackSnapshots(store, session, pack, commits, home.onProgress);
  return store;
}

/** For a session that was imported without HOME. */
function missingHomes(count: number): Missing[] {
  if (count === 0) return [];
  return [{ what: `HOME of ${count} snapshot${count === 1 ? "" : "s"}`, why: "it is not in this home" }];
}
