/**
 * Owns the way from a session to what it works on: its repo, or what stands in for one.
 */
import { resolve } from "node:path";
import { type CapsuleIo, noRepoDir, openRepo, type Repo } from "../capsule/index.ts";
import { HoldfastError } from "../contract/index.ts";
import type { SessionState } from "../session/index.ts";
import type { Home } from "./home.ts";

export function capsuleIo(home: Home): CapsuleIo {
  const { disk, clock } = home.io;
  return { homeDir: home.dir, disk, clock, onProgress: home.onProgress };
}

type OfRepo = Pick<SessionState, "repo" | "lacksRepo">;

/** Where what a session works on is: its repo, or what stands in for one; null where its files wait for its repo. */
export function repoPathOf(home: Home, { repo, lacksRepo }: OfRepo): string | null {
  return repo ?? (lacksRepo ? null : noRepoDir(home));
}

/** The path by which a session knows the repo that stands at or above this one. */
export async function resolveRepo(home: Home, path: string): Promise<string> {
  const { checkout, gitDir } = await openRepo(home, resolve(path));
  return checkout ?? gitDir;
}

export async function repoOf(home: Home, state: OfRepo & Pick<SessionState, "id">): Promise<Repo> {
  const path = repoPathOf(home, state);
  if (path === null)
    throw new HoldfastError("no_repo", `session ${state.id} was imported without its repo`, {
      session: state.id,
    });
  return openRepo(home, path);
}
