/**
 * Owns what a session gives back of its HOME when its files are put away: caches, and nothing else. What it gives back
 * is in no checkpoint, and is fetched or made again by the program that misses it.
 *
 * T5 A credential stays, wherever it lies; so does what a checkpoint has. An agent wrote all of it: no link is followed.
 */
import { lstatSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { diskUse } from "../../process/index.ts";
import { sessionHomeDir } from "../../util/index.ts";
import { currentLimits, type Room } from "../room/room.ts";
import { isCredential, isLeftInHome } from "./home-files.ts";

/** By their path below HOME. Not programs that were installed, nor the settings beside a cache. */
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

/** With nothing running in it. They are in the trash then; says how many bytes they took. */
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

/** A directory, and so is everything on the way to it. */
function isOwnDir(home: string, path: string): boolean {
  const steps = path.split("/").map((_, index, names) => names.slice(0, index + 1).join("/"));
  return ["", ...steps].every((step) =>
    lstatSync(join(home, step), { throwIfNoEntry: false })?.isDirectory(),
  );
}

interface Parts {
  /** Whether there is no credential in it. */
  readonly isWhole: boolean;
  /** It, or what of it is none. */
  readonly paths: readonly string[];
}

async function withoutCredentials(home: string, path: string): Promise<Parts> {
  const entries = await readdir(join(home, path), { withFileTypes: true }).catch(() => undefined);
  // What can't be looked into may have one.
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
