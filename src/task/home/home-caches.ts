/**
 * Owns what is deleted from a session's HOME when its files are put away: caches, and nothing else. They are
 * in no checkpoint, and the program that misses one fetches or makes it again.
 *
 * cache-1 Credentials are kept, wherever they are, and so is everything that a checkpoint has. An agent wrote
 *    all of it, so no link is followed.
 */
import { lstatSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { diskUse } from "../../process/index.ts";
import { sessionHomeDir } from "../../util/index.ts";
import { currentLimits, type Room } from "../room/room.ts";
import { isCredential, isLeftInHome } from "./home-files.ts";

/** Paths below HOME. Installed programs, and settings beside a cache, are not among them. */
const CACHES: readonly string[] = [
  ".cache",
  ".npm/_cacache",
  ".npm/_npx",
  ".yarn/cache",
  ".yarn/berry/cache",
  ".pnpm-store",
  ".local/share/pnpm/store",
  ".bun/install/cache",
  ".cargo/registry",
  ".cargo/git",
  ".rustup/downloads",
  ".gradle/caches",
  ".m2/repository",
  "go/pkg/mod",
  "Library/Caches",
];

/**
 * Call it with no process running in HOME. Moves the caches to the trash, and returns how many bytes they
 * took.
 */
export async function giveBackCaches(room: Room): Promise<number> {
  const { session, sessionDir, io, trashDir } = room;
  const home = sessionHomeDir(sessionDir);
  const isLeft = isLeftInHome((await currentLimits(room)).homeExclude);
  const caches = CACHES.filter((path) => isLeft(path) && isOwnDir(home, path));
  const parts = await Promise.all(caches.map((path) => withoutCredentials(home, path)));
  const paths = parts.flatMap((part) => part.paths);
  const { bytes } = await diskUse(paths.map((path) => join(home, path)));
  for (const [index, path] of paths.entries())
    await io.disk.rename(
      join(home, path),
      join(trashDir, `${session.id}-cache-${io.clock.nowMs()}-${index}`),
    );
  return bytes;
}

/** Whether the path and all of its parents below HOME are directories, not links. */
function isOwnDir(home: string, path: string): boolean {
  const steps = path.split("/").map((_, index, names) => names.slice(0, index + 1).join("/"));
  return ["", ...steps].every((step) =>
    lstatSync(join(home, step), { throwIfNoEntry: false })?.isDirectory(),
  );
}

interface Parts {
  /** Whether it contains no credential. */
  readonly isWhole: boolean;
  /** The directory itself, or the parts of it that contain no credential. */
  readonly paths: readonly string[];
}

async function withoutCredentials(home: string, path: string): Promise<Parts> {
  const entries = await readdir(join(home, path), { withFileTypes: true }).catch(() => undefined);
  // A directory that can't be read may contain one.
  if (!entries) return { isWhole: false, paths: [] };
  const inside: Parts[] = [];
  for (const entry of entries) {
    const child = `${path}/${entry.name}`;
    if (isCredential(child)) inside.push({ isWhole: false, paths: [] });
    else if (entry.isDirectory()) inside.push(await withoutCredentials(home, child));
    else inside.push({ isWhole: true, paths: [child] });
  }
  if (inside.every(({ isWhole }) => isWhole)) return { isWhole: true, paths: [path] };
  return { isWhole: false, paths: inside.flatMap(({ paths }) => paths) };
}
