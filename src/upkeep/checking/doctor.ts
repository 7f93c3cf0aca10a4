/**
 * Owns the answer to "does it work here?": what this machine can do, and the state of each session in the
 * home.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { keyNotes } from "../../broker/index.ts";
import { chooseStrategy, listStores, probeStrategies, whyUnusable } from "../../capsule/index.ts";
import type { SessionId } from "../../contract/index.ts";
import {
  abandonedStages,
  assertPrivate,
  type Home,
  inspectAll,
  PackChecks,
  sessionDirOf,
} from "../../home/index.ts";
import { acquireOwner, listSegments, readChain } from "../../journal/index.ts";
import { taskUser, tryCgroup, trySandbox, unusableTools } from "../../process/index.ts";
import { toolsOf } from "../../task/index.ts";
import { createFile, journalDir, saying, stagingDir, temporaryPath } from "../../util/index.ts";
import { findLeftovers } from "../gc/leftovers.ts";
import { auditSession } from "./audit.ts";
import type { KeptOptions } from "./audit-kept.ts";

export interface Finding {
  readonly level: "ok" | "note" | "bad";
  readonly what: string;
  readonly detail: string;
}

export interface DeepOptions {
  /** Whether every byte of every snapshot and of every pack is read. */
  readonly deep: boolean;
}

export async function examine(home: Home, options: DeepOptions): Promise<Finding[]> {
  const kept: KeptOptions = { ...options, packs: new PackChecks(home.onProgress) };
  return [
    { level: "ok", what: "node", detail: process.version },
    { level: "ok", what: "home", detail: `${home.dir} (${home.id})` },
    await attempt("permissions", "only this user can enter the home", () => assertPrivate(home.dir)),
    await attempt("lock", "the lock of a session keeps a second owner out", () => tryLock(home)),
    await attempt("sync", "files and directories can be synced", () => trySync(home)),
    await attempt("search", "SQLite has full text search", trySearch),
    ...(await examineCapsules(home)),
    ...(await examineKeys(home)),
    ...(await examineLeftovers(home)),
    ...(await examineStores(home, kept)),
    ...(await examineSessions(home, kept)),
  ];
}

async function attempt(what: string, good: string, work: () => Promise<void> | void): Promise<Finding> {
  try {
    await work();
    return { level: "ok", what, detail: good };
  } catch (error) {
    return { level: "bad", what, detail: error instanceof Error ? error.message : String(error) };
  }
}

async function tryLock(home: Home): Promise<void> {
  const dir = join(stagingDir(home.dir), `${process.pid}-${home.newId("probe")}`);
  await home.io.disk.mkdir(dir);
  try {
    const lock = await acquireOwner(dir);
    const second = await acquireOwner(dir).catch(() => undefined);
    second?.release();
    lock.release();
    if (second) throw new Error("two owners got the same lock: this file system does not lock");
  } finally {
    await home.io.disk.removeTree(dir);
  }
}

async function trySync(home: Home): Promise<void> {
  const path = temporaryPath(join(home.dir, "probe"));
  await createFile(home.io.disk, path, Buffer.from("probe"));
  await home.io.disk.unlink(path);
  await home.io.disk.syncDir(home.dir);
}

function trySearch(): void {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE VIRTUAL TABLE probe USING fts5(text)");
  database.close();
}

/** What each strategy can do on this machine, which one `auto` takes, and whether there is a sandbox. */
async function examineCapsules(home: Home): Promise<Finding[]> {
  const probes = await probeStrategies(home.dir);
  const auto = await chooseStrategy(home.dir, "auto");
  return [
    ...probes.map(({ strategy, isAvailable, detail }): Finding => {
      const chosen = strategy === auto ? " (auto takes this one)" : "";
      return { level: isAvailable ? "ok" : "note", what: strategy, detail: `${detail}${chosen}` };
    }),
    ...(await examineSandbox(home)),
    await examineLimits(),
    ...(await examineRead(home)),
  ];
}

/**
 * Paths in the user's settings that tasks don't see, and paths that tasks see without a complete search for
 * credentials.
 */
async function examineRead(home: Home): Promise<Finding[]> {
  try {
    const { refused, unfinished } = await toolsOf(home.dir);
    const details = [
      ...refused.map(([path, why]) => `sandbox.read: tasks don't see ${path}: ${why}`),
      ...unfinished.map(
        (path) =>
          `tasks see ${path}, which has too many directories to search for credentials: keep none there`,
      ),
    ];
    return details.map((detail) => ({ level: "note", what: "settings", detail }));
  } catch (error) {
    return [
      { level: "bad", what: "settings", detail: error instanceof Error ? error.message : String(error) },
    ];
  }
}

/** Where the key to each provider would come from, when this user asks. It never shows the key. */
async function examineKeys(home: Home): Promise<Finding[]> {
  // Settings that can't be read are reported as a finding of their own.
  const notes = await keyNotes(home, process.env).catch(() => []);
  return notes.map(({ provider, isUsable, detail }) => ({
    level: isUsable ? "ok" : "note",
    what: "keys",
    detail: `${provider}: ${detail}`,
  }));
}

/** Programs that nearly every task needs. */
const TOOLS = ["node", "npm", "python3", "claude", "codex", "opencode", "pi"];

/** Tried in the same way as for a task. */
async function examineSandbox(home: Home): Promise<Finding[]> {
  const what = "sandbox";
  const refusal = await trySandbox();
  if (refusal) {
    const { reason, wayOut } = refusal;
    const detail = `none can be made: ${reason}; ${wayOut}. Until then tasks need --no-sandbox`;
    return [{ level: "note", what, detail }];
  }
  const user = taskUser("/");
  const whose = user ? `; tasks that root starts run as the owner of their repo, or as user ${user.uid}` : "";
  const findings: Finding[] = [{ level: "ok", what, detail: `bubblewrap makes one${whose}` }];
  // Settings that can't be read are reported as a finding of their own.
  const tools = await toolsOf(home.dir).catch(() => undefined);
  const unusable = tools ? await unusableTools(tools, TOOLS) : [];
  for (const path of unusable) {
    const detail = `a task can't run ${path}: ${user ? `user ${user.uid} may not read it` : "it is not shown"}; chmod -R o+rX its directory, or install it below /usr/local`;
    findings.push({ level: "note", what: "tools", detail });
  }
  return findings;
}

/** What holds a session to its quota of processes and memory. */
async function examineLimits(): Promise<Finding> {
  const what = "quota";
  const { processes, memory } = await tryCgroup();
  if (processes && memory)
    return { level: "ok", what, detail: "the kernel limits a session's processes and memory, by a cgroup" };
  const held = processes
    ? "the kernel limits a session's processes, and a watch limits its memory"
    : "no cgroup can be made, so a session's processes are limited by rlimit and a watch, and its memory by the watch";
  const wayOut =
    "as root a cgroup can be made; as another user it can where systemd delegates one: systemd-run --user --scope -p Delegate=yes holdfast serve";
  return { level: "note", what, detail: `${held}; ${wayOut}` };
}

async function examineLeftovers(home: Home): Promise<Finding[]> {
  const stages = await abandonedStages(home);
  const left = (await findLeftovers(home)).filter(({ isCache }) => !isCache);
  const findings: Finding[] = left.map(({ what, why }) => {
    return { level: "note", what: "left over", detail: `${what}: ${why}; holdfast gc clears it` };
  });
  if (stages.length > 0)
    findings.push({
      level: "note",
      what: "staging",
      detail: `${stages.length} left by processes that ended before they were done: holdfast gc clears them`,
    });
  return findings;
}

/** Packs belong to all sessions: a damaged one is reported here even if no session needs it. */
async function examineStores(home: Home, { deep, packs }: KeptOptions): Promise<Finding[]> {
  const stores = await listStores(home);
  const findings: Finding[] = [];
  for (const store of stores) {
    const bad = (detail: string) => findings.push({ level: "bad", what: "store", detail });
    const unusable = await whyUnusable(store);
    if (unusable !== undefined) bad(`${store.path}: ${unusable}`);
    for (const { file, reason } of deep ? await packs.badPacks(store) : [])
      bad(`${join(store.path, file)}: ${reason}`);
  }
  const said = deep
    ? "every byte of every pack was read"
    : "their packs and the contents of snapshots were not read: holdfast doctor --deep reads them";
  return [{ level: "ok", what: "stores", detail: `${stores.length}; ${said}` }, ...findings];
}

/** Checks every record of every session. No daily work would notice damage before a cached fold. */
async function examineSessions(home: Home, options: KeptOptions): Promise<Finding[]> {
  const inspected = await inspectAll(home);
  const findings: Finding[] = [];
  for (const [index, { state, damage }] of inspected.entries()) {
    const id = state.id as SessionId;
    const which = `session ${index + 1} of ${inspected.length}`;
    const onProgress = saying(which, home.onProgress);
    try {
      findings.push(...(await examineSession({ ...home, onProgress }, id, options)));
    } catch (error) {
      // A session that can't be read must not hide the others.
      findings.push({ level: "bad", what: state.id, detail: damage?.reason ?? (error as Error).message });
    }
  }
  const damaged = new Set(findings.filter(({ level }) => level === "bad").map(({ what }) => what)).size;
  const level = damaged === 0 ? "ok" : "note";
  return [
    { level, what: "sessions", detail: `${inspected.length}, of which ${damaged} damaged` },
    ...findings,
  ];
}

async function examineSession(home: Home, id: SessionId, options: KeptOptions): Promise<Finding[]> {
  const dir = sessionDirOf(home, id);
  await assertPrivate(dir);
  const { findings: damages, tornBytes, ignoredBytes } = await auditSession(home, { id, dir }, options);
  const findings: Finding[] = damages.map(({ file, offset, seq, reason }) => {
    return { level: "bad", what: id, detail: `${file} at byte ${offset}, seq ${seq}: ${reason}` };
  });
  const note = (detail: string) => findings.push({ level: "note", what: id, detail });
  if (tornBytes > 0) note(`${tornBytes} bytes of a torn tail: the next resume sets them aside`);
  if (ignoredBytes > 0) note(`${ignoredBytes} bytes after the ends of segments; they are ignored`);
  const { segments } = await readChain(dir, 0);
  const onChain = new Set(segments.map(({ header }) => header.segment));
  const strays = (await listSegments(dir)).filter((segment) => !onChain.has(segment));
  if (strays.length > 0) note(`${strays.length} segments that belong to no owner; they are ignored`);
  const broken = (await readdir(journalDir(dir))).filter((name) => name.endsWith(".broken"));
  if (broken.length > 0) note(`torn tails that were set aside: ${broken.join(", ")}`);
  return findings;
}
