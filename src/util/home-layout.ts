/**
 * Owns the names of what lies directly in a home, as docs/format.md lists it: no other file spells one out. It does no
 * I/O. What an entry holds, and what lies below it, is known by the file that owns it.
 */
import { join } from "node:path";

/** In place of a home's directory: the path below it, as findings name it. */
export const IN_HOME = "";

/** home/preparing.ts: which home it is. */
export const homeManifestPath = (homeDir: string) => join(homeDir, "home.json");
/** config/settings.ts: what the user has decided, for all repos. */
export const settingsPath = (homeDir: string) => join(homeDir, "settings.yaml");
/** home/ballast.ts: space for a full disk. */
export const ballastPath = (homeDir: string) => join(homeDir, "ballast");
/** home/index-db.ts: the cache over all sessions. */
export const indexPath = (homeDir: string) => join(homeDir, "index.db");
/** task/room/sandbox.ts: under which circumstances a sandbox could be made. */
export const sandboxProbePath = (homeDir: string) => join(homeDir, "sandbox-probe.json");
/** capsule/strategy/probe.ts: what the machine can do, until the next boot. */
export const probePath = (homeDir: string) => join(homeDir, "probe.json");

/** home/home.ts: a directory for each session, by its id. What lies in one is in session-layout.ts. */
export const sessionsDir = (homeDir: string) => join(homeDir, "sessions");
/** home/staging.ts: sessions that are being made, and what else must not be seen before it is whole. */
export const stagingDir = (homeDir: string) => join(homeDir, "staging");
/** capsule/files/directories.ts: what is being deleted. */
export const trashDir = (homeDir: string) => join(homeDir, "trash");

/** capsule/repo/repo.ts: a directory for each repo, by its key, with its store, bases and layers. */
export const reposDir = (homeDir: string) => join(homeDir, "repos");
/** home/names.ts: which names are taken. */
export const namesDir = (homeDir: string) => join(homeDir, "names");
/** lane/trust-store.ts: what a person accepted of each repo's file. */
export const trustDir = (homeDir: string) => join(homeDir, "trust");
/** capsule/dir/port-leases.ts: which session has a port. */
export const leasesDir = (homeDir: string) => join(homeDir, "leases");
/** mail/runtime-dir.ts: says where the sockets are. */
export const runtimePath = (homeDir: string) => join(homeDir, "runtime");

/** line/line.ts: the places. */
export const lineDir = (homeDir: string) => join(homeDir, "line");
/** line/peaks.ts: what tasks have needed of memory. */
export const statsDir = (homeDir: string) => join(homeDir, "stats");
/** line/limits.ts: how much all sessions may take together. */
export const limitsPath = (homeDir: string) => join(homeDir, "limits.json");
/** Node's: compiled code. */
export const cacheDir = (homeDir: string) => join(homeDir, "cache");
/** host/serve-record.ts: which process serves the home. */
export const serveRecordPath = (homeDir: string) => join(homeDir, "serve.json");
/** server/api-token.ts: a directory for each user, with what opens the API. */
export const usersDir = (homeDir: string) => join(homeDir, "users");
