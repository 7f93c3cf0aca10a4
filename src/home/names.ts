/**
 * Owns the names of sessions: that no two sessions of a repo get the same one, nor one that a branch of it has, also
 * when they are opened in the same moment.
 *
 * I3 A name is claimed before its session is there: `names/<repo>/<name>`, a file that says which session it is
 *    for, and until that is there, which process makes it. It holds as long as one of the two is there. So a crash
 *    leaves a claim that holds nothing, and a session that is removed need not give its name back.
 *
 * The journal says what a session is called; claims are needed only to choose. Where some are lost, two sessions may be
 * called the same: then a name alone is refused, and their ids tell them apart.
 */
import { existsSync } from "node:fs";
import { link, mkdir, readdir, rename, rm, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isBranchTaken, publishedBranch, refsDirOf } from "../capsule/index.ts";
import {
  HoldfastError,
  isSessionId,
  numberedName,
  parseSessionName,
  type SessionId,
} from "../contract/index.ts";
import {
  errorCode,
  identityOf,
  isAlive,
  namesDir,
  readIfThere,
  sha256Hex,
  temporaryPath,
  withFileLock,
} from "../util/index.ts";
import { type Home, sessionDirOf } from "./home.ts";

/** What a session is to be called: exactly so, or so with a number where that is taken. */
export type NameWish = { readonly exactly: string } | { readonly like: string };

export interface Claimant {
  readonly id: SessionId;
  readonly repo: string | null;
  /** One of its own, where it published before it came here: that is no reason to be called otherwise. */
  readonly branch?: string | undefined;
}

/** Settled when the session is there, released when it will never be. */
export interface Claim {
  readonly name: string;
  settle(): Promise<void>;
  release(): Promise<void>;
}

export async function claimName(home: Home, claimant: Claimant, wish: NameWish): Promise<Claim> {
  const names = new RepoNames(home, claimant);
  await mkdir(names.dir, { recursive: true, mode: 0o700 });
  const name = await names.choose(wish);
  return { name, settle: () => names.settle(name), release: () => names.release(name) };
}

class RepoNames {
  readonly dir: string;
  readonly #home: Home;
  readonly #session: SessionId;
  readonly #branch: string | undefined;
  /** Where the branches are that must not have the name either. */
  readonly #refsDir: string | undefined;

  constructor(home: Home, { id, repo, branch }: Claimant) {
    this.#home = home;
    this.#session = id;
    this.#branch = branch;
    this.#refsDir = repo === null ? undefined : refsDirOf(repo);
    // Linked working trees have one repo, and one set of branches.
    const place = this.#refsDir ?? repo;
    this.dir = join(namesDir(home.dir), place === null ? "none" : sha256Hex(place).slice(0, 16));
  }

  async choose(wish: NameWish): Promise<string> {
    if ("like" in wish) return this.#chooseLike(wish.like);
    const name = parseSessionName(wish.exactly);
    if (await this.#claim(name)) return name;
    throw new HoldfastError("name_taken", `a session or a branch of this repo is called ${name} already`, {
      name,
    });
  }

  /** The session is there, and the claim as good as the session from now on: its maker need not be known any more. */
  async settle(name: string): Promise<void> {
    const temporary = temporaryPath(join(this.dir, name));
    try {
      await writeFile(temporary, `${this.#session}\n`, { mode: 0o600 });
      await rename(temporary, join(this.dir, name));
    } catch {
      // A full disk, say: while the session is there, the claim holds as it is.
      await rm(temporary, { force: true });
    }
  }

  async release(name: string): Promise<void> {
    await unlink(join(this.dir, name)).catch(() => {});
  }

  async #chooseLike(name: string): Promise<string> {
    if (await this.#claim(name)) return name;
    const numbers = (await readdir(this.dir)).map((taken) => numberIn(taken, name));
    for (let number = Math.max(1, ...numbers) + 1; ; number += 1) {
      const next = numberedName(name, number);
      if (await this.#claim(next)) return next;
    }
  }

  /** Whether it is this session's now. */
  async #claim(name: string): Promise<boolean> {
    const isOwn = this.#branch === publishedBranch({ id: this.#session, name });
    if (this.#refsDir && !isOwn && (await isBranchTaken(this.#refsDir, name))) return false;
    const path = join(this.dir, name);
    if (await this.#link(path)) return true;
    if (await this.#holds(path)) return false;
    // Looked at again under a lock: it may have been cleared, and claimed, since.
    await withFileLock(join(this.dir, ".lock"), async () => {
      if (!(await this.#holds(path))) await unlink(path).catch(() => {});
    });
    return this.#link(path);
  }

  /** Whole from the first moment: others may read it at once. Not synced: what a power loss takes is chosen again. */
  async #link(path: string): Promise<boolean> {
    const { pid, startTicks } = identityOf(process.pid);
    const temporary = temporaryPath(path);
    await writeFile(temporary, `${this.#session} ${pid} ${startTicks ?? ""}\n`, { mode: 0o600, flag: "wx" });
    try {
      await link(temporary, path);
      return true;
    } catch (error) {
      if (errorCode(error) === "EEXIST") return false;
      throw error;
    } finally {
      await unlink(temporary);
    }
  }

  async #holds(path: string): Promise<boolean> {
    const text = (await readIfThere(path))?.toString("utf8") ?? "";
    const [session = "", pid, ticks] = text.trim().split(" ");
    if (isSessionId(session) && existsSync(sessionDirOf(this.#home, session))) return true;
    return pid !== undefined && isAlive({ pid: Number(pid), startTicks: ticks ? Number(ticks) : null });
  }
}

/** `fix-login-3` is the third of `fix-login`. */
function numberIn(taken: string, name: string): number {
  const number = /-(\d{1,9})$/.exec(taken)?.[1];
  return number !== undefined && taken === numberedName(name, Number(number)) ? Number(number) : 1;
}
