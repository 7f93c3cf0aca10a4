/**
 * Owns where the files of a hand-off go: beside a checkout, never inside one, and never over existing files.
 */
import { existsSync, lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { Repo } from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import type { SessionState } from "../../session/index.ts";

type UsersRepo = Pick<Repo, "checkout" | "gitDir" | "isStandIn">;

/**
 * Named after the repo and the session. Without a repo, it is beside the checkout that the person is in, or
 * where they are.
 */
export function defaultDirectory(
  { checkout, gitDir, isStandIn }: UsersRepo,
  { id, name }: Pick<SessionState, "id" | "name">,
  here: string,
): string {
  const top = isStandIn ? topAround(here) : (checkout ?? gitDir);
  const repoName = isStandIn ? "holdfast" : basename(checkout ?? gitDir);
  const wanted = join(top === undefined ? here : dirname(top), `${repoName}-${name ?? id.slice(-6)}`);
  for (let number = 1; ; number += 1) {
    const path = number === 1 ? wanted : `${wanted}-${number}`;
    if (!lstatSync(path, { throwIfNoEntry: false })) return path;
  }
}

function topAround(here: string): string | undefined {
  if (existsSync(join(here, ".git"))) return here;
  return here === dirname(here) ? undefined : topAround(dirname(here));
}

export function assertOutside({ checkout }: Pick<UsersRepo, "checkout">, directory: string): void {
  if (checkout === null) return;
  const way = relative(realOf(checkout), realOf(directory));
  if (way === ".." || way.startsWith("../")) return;
  throw new HoldfastError(
    "usage",
    `${directory} is inside ${checkout}, the checkout of the session: name a directory outside of it with --to`,
    { path: directory },
  );
}

/** Works for a path that does not exist yet, too. */
function realOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  return path === dirname(path) ? path : join(realOf(dirname(path)), basename(path));
}
