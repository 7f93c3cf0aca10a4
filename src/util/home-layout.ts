/**
 * Owns the names of the entries directly in a home, as docs/format.md lists them: no other file spells one
 * out. It does no I/O. The file that owns an entry knows its content and what is below it.
 */
import { join } from "node:path";

/** Stands for a home's directory: the path below it, as findings name it. */
export const IN_HOME = "";

/** home/preparing.ts: which home it is. */
export const homeManifestPath = (homeDir: string) => join(homeDir, "home.json");
/** config/settings.ts: the user's decisions for all repos. */
export const settingsPath = (homeDir: string) => join(homeDir, "settings.yaml");
/** home/ballast.ts: reserved space for a full disk. */
export const ballastPath = (homeDir: string) => join(homeDir, "ballast");
/** home/index-db.ts: the cache over all sessions. */
export const indexPath = (homeDir: string) => join(homeDir, "index.db");
/** home/feed.ts: the order in which records of all sessions are handed out together. */
export const feedPath = (homeDir: string) => join(homeDir, "feed.db");
/** task/room/sandbox.ts: the circumstances in which a sandbox could be made. */
export const sandboxProbePath = (homeDir: string) => join(homeDir, "sandbox-probe.json");
/** capsule/strategy/probe.ts: the abilities of this machine, until the next boot. */
export const probePath = (homeDir: string) => join(homeDir, "probe.json");

/** home/home.ts: a directory for each session, by its id. session-layout.ts lists its entries. */
export const sessionsDir = (homeDir: string) => join(homeDir, "sessions");
/**
 * home/staging.ts: sessions that are being made, and other things that must not be seen before they are
 * whole.
 */
export const stagingDir = (homeDir: string) => join(homeDir, "staging");
/** capsule/files/directories.ts: directories that are being deleted. */
export const trashDir = (homeDir: string) => join(homeDir, "trash");

/** capsule/repo/repo.ts: a directory for each repo, by its key, with its store, bases and layers. */
export const reposDir = (homeDir: string) => join(homeDir, "repos");
/** home/names.ts: which names are taken. */
export const namesDir = (homeDir: string) => join(homeDir, "names");
/** lane/trust-store.ts: what a person accepted of the file of each repo. */
export const trustDir = (homeDir: string) => join(homeDir, "trust");
/** approval/operator-public.ts, operator/key.ts: the key that grants are signed with. */
export const operatorDir = (homeDir: string) => join(homeDir, "operator");
/** approval/spend.ts: a file for each approval that was spent. */
export const spentDir = (homeDir: string) => join(homeDir, "spent");
/** capsule/dir/port-leases.ts: which session has a port. */
export const leasesDir = (homeDir: string) => join(homeDir, "leases");
/** mail/runtime-dir.ts: where the sockets are. */
export const runtimePath = (homeDir: string) => join(homeDir, "runtime");

/** line/line.ts: the places. */
export const lineDir = (homeDir: string) => join(homeDir, "line");
/** line/peaks.ts: how much memory tasks have needed. */
export const statsDir = (homeDir: string) => join(homeDir, "stats");
/** line/limits.ts: how much all sessions together may use. */
export const limitsPath = (homeDir: string) => join(homeDir, "limits.json");
/** Compiled code that Node caches. */
export const cacheDir = (homeDir: string) => join(homeDir, "cache");
/** host/serve-record.ts: which process serves the home. */
export const serveRecordPath = (homeDir: string) => join(homeDir, "serve.json");
/** server/api-token.ts: a directory for each user, with the token that opens the API. */
export const usersDir = (homeDir: string) => join(homeDir, "users");
