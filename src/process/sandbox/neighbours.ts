/**
 * Owns what has to be covered in the directories of the machine's programs, which a sandbox shows completely:
 * other Holdfast homes, and what lies around a checkout there, for example around /opt/work/app.
 */
import type { Dirent } from "node:fs";
import { join } from "node:path";
import { isWithin } from "../../util/index.ts";
import { isHome, isOfPackages } from "./look.ts";
import { entriesOf, parentsOf } from "./paths.ts";
import type { RootDirs } from "./root-dirs.ts";

/** Where people put things of their own. Packages of the system are elsewhere. */
const OWN_PLACES = ["/opt", "/usr/local", "/usr/src"];
/** Directories that programs need, whatever else is in them. */
const SHARED = new Set(["/usr/local", "/usr/lib", "/usr/share", "/usr/libexec"]);
const MAX_DEPTH = 3;
/** For each place. */
const MAX_DIRS = 64;

/** `programs`: directories that have to stay visible. */
export function neighbours(
  checkout: string | undefined,
  { dirs }: RootDirs,
  programs: readonly string[],
): string[] {
  return [...(checkout === undefined ? [] : around(checkout, dirs, programs)), ...otherHomes(dirs)];
}

/** The outermost directory around the checkout that has no programs, as a whole. Otherwise the neighbours. */
function around(checkout: string, dirs: readonly string[], programs: readonly string[]): string[] {
  const root = dirs.find((dir) => dir !== checkout && isWithin(dir, checkout));
  if (root === undefined) return [];
  const parents = parentsOf(checkout).filter((dir) => isWithin(root, dir));
  const own = parents.find(
    (dir) => dir !== root && !SHARED.has(dir) && !programs.some((one) => isWithin(dir, one)),
  );
  const shared = own === undefined ? parents : parents.slice(0, parents.indexOf(own));
  const siblings = shared.flatMap((dir) =>
    directories(dir, entriesOf(dir)).filter((path) => !isWithin(path, checkout) && isCheckout(path)),
  );
  return [...(own === undefined ? [] : [own]), ...siblings];
}

function otherHomes(dirs: readonly string[]): string[] {
  const places = OWN_PLACES.filter((place) => dirs.some((dir) => isWithin(dir, place)));
  return places.flatMap(homesIn);
}

function homesIn(place: string): string[] {
  const homes: string[] = [];
  let level = [place];
  let left = MAX_DIRS;
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) {
    const below: string[] = [];
    for (const dir of level.slice(0, left)) {
      const entries = entriesOf(dir);
      if (isHome(entries)) homes.push(dir);
      else below.push(...directories(dir, entries).filter((path) => !isOfPackages(path)));
    }
    left -= Math.min(left, level.length);
    level = below;
  }
  return homes;
}

const isCheckout = (dir: string) => entriesOf(dir).some(({ name }) => name === ".git");

const directories = (dir: string, entries: readonly Dirent[]) =>
  entries.flatMap((entry) => (entry.isDirectory() ? [join(dir, entry.name)] : []));
