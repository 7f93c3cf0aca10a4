/**
 * Owns looking at the machine's files for a sandbox: it follows links step by step, and expects strange
 * directories. A path that can't be read counts as missing, so that no single directory makes a task fail.
 */
import {
  type Dirent,
  lstatSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname, join, normalize, resolve } from "node:path";
import { isWithin } from "../../util/index.ts";

/** The text of a link, and its path. */
export type Link = readonly [target: string, path: string];

export interface Followed {
  /** The path without any link in it. */
  readonly real: string;
  /** All links on the way, in this order. */
  readonly links: readonly Link[];
}

/** The kernel's own limit. */
const MAX_LINKS = 40;

/** Undefined for a path that leads nowhere. */
export function follow(path: string): Followed | undefined {
  const plain = withoutSlash(normalize(path));
  const real = realOr(plain);
  if (real === undefined) return undefined;
  return { real, links: real === plain ? [] : linksOn(plain) };
}

/**
 * `normalize` alone would shorten `a/../b` by its words, but `a` may be a link. So each name is looked at.
 */
function linksOn(path: string): Link[] {
  const links: Link[] = [];
  const left = namesOf(path);
  let at = "/";
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    const next = name === ".." ? dirname(at) : join(at, name);
    const target = links.length < MAX_LINKS && lstatOr(next)?.isSymbolicLink() ? targetOf(next) : "";
    if (target === "") {
      at = next;
      continue;
    }
    links.push([target, next]);
    if (target.startsWith("/")) at = "/";
    left.unshift(...namesOf(target));
  }
  return links;
}

const namesOf = (path: string) => path.split("/").filter((name) => name !== "" && name !== ".");

const withoutSlash = (path: string) => (path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path);

/** `~/…` is below the user's home; undefined for a path that is neither that nor absolute. */
export function absolute(path: string, userHome: string): string | undefined {
  const whole = path === "~" || path.startsWith("~/") ? join(userHome, path.slice(1)) : path;
  return whole.startsWith("/") ? resolve(whole) : undefined;
}

export function realOr(path: string): string | undefined {
  return orUndefined(() => realpathSync.native(path));
}

export function lstatOr(path: string): Stats | undefined {
  return orUndefined(() => lstatSync(path, { throwIfNoEntry: false }));
}

export function statOr(path: string): Stats | undefined {
  return orUndefined(() => statSync(path, { throwIfNoEntry: false }));
}

/** The text of a link; empty if it is gone. */
export function targetOf(link: string): string {
  return orUndefined(() => readlinkSync(link)) ?? "";
}

export function entriesOf(dir: string): Dirent[] {
  return orUndefined(() => readdirSync(dir, { withFileTypes: true })) ?? [];
}

function orUndefined<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** The innermost of these directories that contains the path and is not the path itself. */
export function nearest(dirs: readonly string[], path: string): string | undefined {
  const around = dirs.filter((dir) => dir !== path && isWithin(dir, path));
  return around.sort().at(-1);
}

/** From the outermost to its own directory, without `/`. */
export function parentsOf(path: string): string[] {
  const parents: string[] = [];
  for (let dir = dirname(path); dir !== dirname(dir); dir = dirname(dir)) parents.unshift(dir);
  return parents;
}
