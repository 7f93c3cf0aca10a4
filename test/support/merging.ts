/**
 * A repo with branches for tests of merging, and the store that replays are written to; sessions with work to
 * merge, and what is on record of their merges.
 */
import { cpSync, mkdirSync } from "node:fs";
import {
  type Conflicted,
  isConflicted,
  openRepo,
  openStore,
  type Replayed,
} from "../../src/capsule/index.ts";
import type { LocalHome } from "../../src/library/local-home.ts";
import { realDisk } from "../../src/util/index.ts";
import { TempDir } from "./home.ts";
import { commitFiles, gitIn, makeRepo } from "./repo.ts";
import { type TaskHome, turn } from "./tasks.ts";

export const identity = { name: "Ani", email: "ani@example.org" };
export const atMs = 1_700_000_000_000;

export class MergeLab extends TempDir {
  readonly main: string;

  /** `from`: the files of the repo, or another lab, which is copied. */
  constructor(from: MergeLab | Record<string, string> = { "a.txt": "1\n2\n3\n4\n5\n", "b.txt": "b\n" }) {
    super();
    this.main = this.join("main");
    if (from instanceof MergeLab) cpSync(from.main, this.main, { recursive: true, preserveTimestamps: true });
    else makeRepo(this.main, from);
    mkdirSync(this.join("home"));
  }

  async open(path = this.main) {
    const repo = await openRepo({ dir: this.join("home"), id: "home_x" }, path);
    return { repo, store: await openStore(repo, realDisk) };
  }

  /** Commits on a branch, which is made at `from` if it does not exist; then main is checked out again. */
  commitOn(
    branch: string,
    files: Record<string, string | Buffer>,
    message = `on ${branch}`,
    from = "main",
  ): string {
    const isThere = gitIn(this.main, "branch", "--list", branch) !== "";
    gitIn(this.main, "checkout", "-q", ...(isThere ? [branch] : ["-b", branch, from]));
    const commit = commitFiles(this.main, files, message);
    gitIn(this.main, "checkout", "-q", "main");
    return commit;
  }

  idOf(name: string): string {
    return gitIn(this.main, "rev-parse", name);
  }
}

export function replayed(result: Replayed | Conflicted): Replayed {
  if (isConflicted(result)) throw new Error(`conflict in ${result.paths.join(", ")}`);
  return result;
}

export function conflicted(result: Replayed | Conflicted): Conflicted {
  if (!isConflicted(result)) throw new Error("there was no conflict");
  return result;
}

/** A paused session whose task ran the script and published its work. */
export async function worked(
  home: TaskHome,
  hf: LocalHome,
  script: string,
  title = `it did ${script.slice(0, 80)}`,
): Promise<string> {
  const { session, task } = await home.start(hf, title);
  await turn(task, script);
  const { unpublished } = await task.end("done");
  if (unpublished) throw new Error(unpublished.reason);
  await session.pause();
  return session.id;
}

/** The records whose type the pattern names. */
export async function eventsOf(hf: LocalHome, id: string, pattern: RegExp) {
  const found: { type: string; data: unknown }[] = [];
  for await (const { type, data } of hf.readJournal(id)) if (pattern.test(type)) found.push({ type, data });
  return found;
}
