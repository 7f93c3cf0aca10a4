/**
 * Owns how the place that a session works on is found: its repo, or the stand-in for sessions without one.
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

/**
 * The session's repo or its stand-in; null when the session was imported without its repo, and its files need
 * one.
 */
export function repoPathOf(home: Home, { repo, lacksRepo }: OfRepo): string | null {
  return repo ?? (lacksRepo ? null : noRepoDir(home));
}

/** The path by which sessions refer to the repo at or above the given path. */
export async function resolveRepo(home: Home, path: string): Promise<string> {
  const { checkout, gitDir } = await openRepo(home, resolve(path));
  return checkout ?? gitDir;
}

export async function repoOf(home: Home, state: OfRepo & Pick<SessionState, "id">): Promise<Repo> {
  const path = repoPathOf(home, state);
  if (path === null)
    throw new HoldfastError("no_repo", `session ${state.id} was imported without a repo, which this needs`, {
      session: state.id,
    });
  return openRepo(home, path);
}
