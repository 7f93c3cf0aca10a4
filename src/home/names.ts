/**
 * Owns the names of sessions. No two sessions of a repo get the same name, and no session gets the name of a
 * branch, even when sessions are opened at the same moment.
 *
 * name-2 A name is claimed before its session exists: `names/<repo>/<name>` is a file that names the session,
 *    and until the session exists, the process that makes it. The claim holds while one of the two exists. So
 *    a crash leaves a claim without effect, and a session that is removed does not have to give its name
 *    back.
 *
 * The journal records the name of a session; claims are needed only to choose one. If claims are lost, two
 * sessions may get the same name. That name alone is then refused, and their ids tell them apart.
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

/** The name that a session is to get: exactly this one, or this one with a number if it is taken. */
export type NameWish = { readonly exactly: string } | { readonly like: string };

export interface Claimant {
  readonly id: SessionId;
  readonly repo: string | null;
  /** The session's own branch from where it came from. It does not count as taken. */
  readonly branch?: string | undefined;
}

/** Settle it once the session exists; release it when the session will never exist. */
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
  /** Where the repo's branches are, which must not have the name either. */
  readonly #refsDir: string | undefined;

  constructor(home: Home, { id, repo, branch }: Claimant) {
    this.#home = home;
    this.#session = id;
    this.#branch = branch;
    this.#refsDir = repo === null ? undefined : refsDirOf(repo);
    // All linked working trees of a repo share its branches.
    const place = this.#refsDir ?? repo;
    this.dir = join(namesDir(home.dir), place === null ? "none" : sha256Hex(place).slice(0, 16));
  }

  async choose(wish: NameWish): Promise<string> {
    if ("like" in wish) return this.#chooseLike(wish.like);
    const name = parseSessionName(wish.exactly);
    if (await this.#claim(name)) return name;
    throw new HoldfastError("name_taken", `a session or a branch of this repo is already called ${name}`, {
      name,
    });
  }

  /**
   * The session exists: from now on the claim holds as long as the session does, and its maker is not
   * recorded any more.
   */
  async settle(name: string): Promise<void> {
    const temporary = temporaryPath(join(this.dir, name));
    try {
      await writeFile(temporary, `${this.#session}\n`, { mode: 0o600 });
      await rename(temporary, join(this.dir, name));
    } catch {
      // For example on a full disk. While the session exists, the claim holds as it is.
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

  /** Returns whether the name now belongs to this session. */
  async #claim(name: string): Promise<boolean> {
    const isOwn = this.#branch === publishedBranch({ id: this.#session, name });
    if (this.#refsDir && !isOwn && (await isBranchTaken(this.#refsDir, name))) return false;
    const path = join(this.dir, name);
    if (await this.#link(path)) return true;
    if (await this.#holds(path)) return false;
    // Checked again under a lock, because the claim may have been cleared and renewed meanwhile.
    await withFileLock(join(this.dir, ".lock"), async () => {
      if (!(await this.#holds(path))) await unlink(path).catch(() => {});
    });
    return this.#link(path);
  }

  /**
   * Links a complete file, because other processes may read it at once. It is not synced: after a power loss
   * the name is chosen again.
   */
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

/** `fix-login-3` has the number 3 for `fix-login`. */
function numberIn(taken: string, name: string): number {
  const number = /-(\d{1,9})$/.exec(taken)?.[1];
  return number !== undefined && taken === numberedName(name, Number(number)) ? Number(number) : 1;
}
