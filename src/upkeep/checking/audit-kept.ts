/**
 * Owns the check of what a session keeps outside its journal: artifacts, snapshots of its files and of HOME,
 * the refs that keep them in the store, and the pack that an import brought. Damage in one place hides none
 * in another.
 *
 * It always checks every byte of the artifacts and of a brought pack, and that each snapshot exists and has
 * the manifest that the journal names. With `deep` it checks every byte of every snapshot, and of the packs
 * that hold it.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type FoundStore,
  findBadManifests,
  findBadObjects,
  findLost,
  locateObjects,
  openStore,
  removeTree,
  takeInPack,
  whyDamaged,
  whyUnusable,
} from "../../capsule/index.ts";
import { findStore, type Home, type PackChecks } from "../../home/index.ts";
import type { Damage } from "../../journal/index.ts";
import type { KeptArtifact, KeptNames, KeptSnapshot } from "../../task/index.ts";
import {
  artifactsDir,
  errorCode,
  IN_HOME,
  IN_SESSION,
  Meter,
  type OnProgress,
  reposDir,
  snapshotsPath,
  stagingDir,
  TEMPORARY_PREFIX,
  tellStep,
} from "../../util/index.ts";

export interface KeptOptions {
  readonly deep: boolean;
  /** Shared by the sessions that are checked together, so that each pack is read once. */
  readonly packs: PackChecks;
}

export interface KeptAudit {
  readonly artifacts: number;
  readonly snapshots: number;
  readonly findings: readonly Damage[];
  /**
   * How many snapshots could not be checked because their store is not here: an import without a repo, or a
   * fork of it.
   */
  readonly unseen: number;
}

/** A session and where its files are. */
interface Keeper {
  readonly id: string;
  readonly dir: string;
  readonly repo: string | null;
}

export async function auditKept(
  home: Home,
  keeper: Keeper,
  names: KeptNames,
  options: KeptOptions,
): Promise<KeptAudit> {
  const findings: Damage[] = [];
  const artifacts = [...names.artifacts.values()];
  const meter = new Meter(home.onProgress, "checking artifacts", { ofFiles: artifacts.length });
  for (const artifact of artifacts) {
    const finding = await checkArtifact(keeper.dir, artifact, meter);
    meter.add({ files: 1 });
    if (finding) findings.push(finding);
  }
  const { isUnseen, findings: damages } = await checkSnapshots(home, keeper, names, options);
  return {
    artifacts: artifacts.length,
    snapshots: names.snapshots.size,
    findings: [...findings, ...damages],
    unseen: isUnseen ? names.snapshots.size : 0,
  };
}

async function checkArtifact(dir: string, artifact: KeptArtifact, meter: Meter): Promise<Damage | undefined> {
  const file = join(artifactsDir(IN_SESSION, artifact.task), artifact.name);
  const found = (reason: string): Damage => ({ file, offset: 0, seq: artifact.seq, reason });
  const digest = createHash("sha256");
  let bytes = 0;
  try {
    for await (const chunk of meter.counting(createReadStream(join(dir, file)) as AsyncIterable<Buffer>)) {
      digest.update(chunk);
      bytes += chunk.length;
    }
  } catch (error) {
    if (errorCode(error) !== "ENOENT") return found(`the artifact can't be read: ${String(error)}`);
    return artifact.mayBeElsewhere ? undefined : found("the artifact is missing");
  }
  const isSame = bytes === artifact.bytes && digest.digest("hex") === artifact.sha256;
  return isSame ? undefined : found("the artifact does not have the bytes that the journal names");
}

type Checked = { readonly isUnseen?: boolean; readonly findings: readonly Damage[] };

async function checkSnapshots(
  home: Home,
  keeper: Keeper,
  names: KeptNames,
  options: KeptOptions,
): Promise<Checked> {
  const brought = snapshotsPath(keeper.dir);
  if (existsSync(brought)) return { findings: await checkBrought(home, brought, names, options) };
  const snapshots = [...names.snapshots.values()];
  if (snapshots.length === 0) return { findings: [] };
  const missing = (file: string, reason: string) => ({ findings: [spoilsAll(file, reason, snapshots)] });
  if (keeper.repo === null)
    return names.isPackExpected
      ? missing(snapshotsPath(IN_SESSION), "the pack with the session's snapshots is missing")
      : { isUnseen: true, findings: [] };
  const store = await findStore(home, keeper.repo);
  if (!store) return missing(reposDir(IN_HOME), `the store of ${keeper.repo} is missing`);
  const unusable = await whyUnusable(store);
  if (unusable !== undefined) return missing(store.path, unusable);
  const findings = [
    ...(await checkNamed(store, snapshots, options, home.onProgress)),
    ...(await checkRefs(store, keeper.id, names)),
  ];
  return { findings };
}

/** Checks the snapshots in a store, or in one that was made of a brought pack. */
async function checkNamed(
  store: FoundStore,
  snapshots: readonly KeptSnapshot[],
  { deep, packs }: KeptOptions,
  onProgress: OnProgress | undefined,
): Promise<Damage[]> {
  tellStep(onProgress, "checking snapshots");
  const manifests = await findBadManifests(store, snapshots);
  const isElsewhere = ({ commit, mayBeElsewhere }: KeptSnapshot) => mayBeElsewhere && manifests.has(commit);
  const here = snapshots.filter((one) => !isElsewhere(one));
  const bad = new Map(
    [...manifests].map(([commit, reason]) => [commit, { id: commit, path: "manifest.json", reason }]),
  );
  const findings: Damage[] = [];
  if (deep) {
    const commits = here.map(({ commit }) => commit);
    const checked = await findBadObjects(store, commits, onProgress);
    for (const [commit, object] of checked.bad) bad.set(commit, object);
    const damaged = await packs.badPacks(store);
    const { packs: holding } = await locateObjects(store, damaged.length > 0 ? checked.objects : new Set());
    for (const { file, reason } of damaged)
      if (holding.has(file.replace(/\.\w+$/, ".pack")))
        findings.push({ file: join(store.path, file), offset: 0, seq: 0, reason });
  }
  if (bad.size === 0) return findings;
  const { places } = await locateObjects(store, new Set([...bad.values()].map(({ id }) => id)));
  for (const snapshot of here) {
    const object = bad.get(snapshot.commit);
    if (!object) continue;
    const at = places.get(object.id);
    const what = object.path === "" ? "its commit" : object.path;
    findings.push({
      ...spoils(at ? join(store.path, at.file) : store.path, `${what}: ${object.reason}`, snapshot),
      offset: at?.offset ?? 0,
    });
  }
  return findings;
}

/** A ref of the store keeps its snapshot, so a ref that leads nowhere keeps nothing. */
async function checkRefs(store: FoundStore, id: string, names: KeptNames): Promise<Damage[]> {
  const folder = join("refs", "snapshots", id);
  const refs = new Map<string, string | undefined>();
  for (const name of await readdir(join(store.gitDir, folder)).catch(() => [])) {
    if (name.startsWith(TEMPORARY_PREFIX)) continue;
    const text = await readFile(join(store.gitDir, folder, name), "latin1").catch(() => "");
    refs.set(name, /^([0-9a-f]{40}|[0-9a-f]{64})\n$/.exec(text)?.[1]);
  }
  // A crash may have come between a snapshot and its record. A fork has refs to later snapshots of its
  // parent.
  const unnamed = [...refs.values()].filter((commit) => commit !== undefined && !names.snapshots.has(commit));
  const lost = await findLost(store, unnamed as string[]);
  return [...refs]
    .filter(([, commit]) => commit === undefined || lost.has(commit))
    .map(([name]) => ({
      file: join(store.path, folder, name),
      offset: 0,
      seq: 0,
      reason: "the ref of a snapshot leads to a commit that is missing",
    }));
}

/** The pack's hash vouches for every byte. To check its contents, a temporary store is made of it. */
async function checkBrought(
  home: Home,
  path: string,
  names: KeptNames,
  options: KeptOptions,
): Promise<readonly Damage[]> {
  const snapshots = [...names.snapshots.values()];
  const isSha256 = snapshots.some(({ commit }) => commit.length === 64);
  const meter = new Meter(home.onProgress, "checking the imported pack of snapshots");
  const reason = await whyDamaged(path, isSha256 ? 32 : 20, meter);
  if (reason !== undefined) return [spoilsAll(snapshotsPath(IN_SESSION), reason, snapshots)];
  if (!options.deep || snapshots.length === 0) return [];
  const aside = join(stagingDir(home.dir), `${process.pid}-${home.newId("audit")}`);
  try {
    await home.io.disk.mkdir(aside);
    const objectFormat = isSha256 ? "sha256" : "sha1";
    const store = await openStore({ dir: aside, objectFormat }, home.io.disk);
    const refused = await takeInPack(store, path, home.onProgress);
    if (refused !== undefined) return [spoilsAll(snapshotsPath(IN_SESSION), refused, snapshots)];
    const brought = { gitDir: store.gitDir, path: snapshotsPath(IN_SESSION) };
    const found = await checkNamed(brought, snapshots, options, home.onProgress);
    return found.map((finding) => ({ ...finding, file: snapshotsPath(IN_SESSION) }));
  } finally {
    await removeTree(aside);
  }
}

function spoils(file: string, reason: string, { commit, seq, turns, isHome }: KeptSnapshot): Damage {
  const whose = isHome ? "HOME" : "the files";
  const said = `snapshot ${commit} (${whose} of turn ${turns.join(", ")}) is damaged: ${reason}`;
  return { file, offset: 0, seq, reason: said, snapshot: commit, turns };
}

/** If the whole of it is gone, one finding covers all snapshots. */
function spoilsAll(file: string, reason: string, snapshots: readonly KeptSnapshot[]): Damage {
  const turns = [...new Set(snapshots.flatMap((one) => one.turns))].sort((a, b) => a - b);
  const last = snapshots.at(-1);
  const needed = turns.length > 0 ? `; turns ${turns.join(", ")} need it` : "";
  return {
    file,
    offset: 0,
    seq: last?.seq ?? 0,
    reason: reason + needed,
    turns,
    ...(last && { snapshot: last.commit }),
  };
}
