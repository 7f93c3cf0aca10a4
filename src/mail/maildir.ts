/**
 * Owns a directory of messages by the rules of maildir: a message is written to `tmp`, synced, renamed into
 * `new`, and moved to `cur` when it has been taken in. Any process that may write to the directory can put
 * something in; one process takes it out.
 *
 * mail-1 What `put` has acknowledged is on disk, whole, and under its own id.
 * mail-2 What one writer puts in after another is listed after it, whatever the clock says.
 * mail-3 An id that was put in before is not put in again, as long as `cur` remembers it.
 */
import { constants } from "node:fs";
import { lstat, open, readdir, readFile, truncate } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ageMs, createFile, type Disk, errorCode } from "../util/index.ts";

/** Larger than the longest message with its envelope. */
export const MAX_ENVELOPE_BYTES = 1024 * 1024;
/**
 * How many may wait in one inbox. Messages from other sessions are limited to fewer, which leaves room for
 * people.
 */
export const MAX_WAITING = 1000;
export const MAX_WAITING_FROM_SESSIONS = 500;
/** `cur` remembers at least this many. */
const REMEMBERED = 1000;
const NUMBER_DIGITS = 12;
const idForm = /^[a-z0-9_]{1,64}$/;

export interface Put {
  readonly isNew: boolean;
}

/** The directories of a maildir. `new` is made last: if it exists, all of them do. */
export const maildirDirs = (dir: string): string[] => [
  dir,
  ...["tmp", "cur", "new"].map((name) => join(dir, name)),
];

export class Maildir {
  readonly dir: string;
  readonly #disk: Disk;

  constructor(disk: Disk, dir: string) {
    this.#disk = disk;
    this.dir = dir;
  }

  get newDir(): string {
    return join(this.dir, "new");
  }

  /** Most sessions never get a message, so the first one makes the directories. */
  async #waitingOrMade(): Promise<string[]> {
    try {
      return await readdir(this.newDir);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
      await this.make();
      return readdir(this.newDir);
    }
  }

  async make(): Promise<void> {
    for (const path of maildirDirs(this.dir)) {
      await this.#disk.mkdir(path).catch((error: unknown) => {
        if (errorCode(error) !== "EEXIST") throw error;
      });
    }
    await this.#disk.syncDir(this.dir);
    await this.#disk.syncDir(dirname(this.dir));
  }

  async put(id: string, bytes: Uint8Array): Promise<Put> {
    if (!idForm.test(id)) throw new Error(`not an id: ${id}`);
    const waiting = await this.#waitingOrMade();
    if (waiting.some((name) => idOf(name) === id) || (await this.#remembers(id))) {
      // The process that put it there may have been killed before it was on disk.
      await this.#disk.syncDir(this.newDir);
      return { isNew: false };
    }
    // mail-2: after all that wait. Writers at the same moment may get the same number; their ids tell them
    // apart.
    const number = waiting.reduce((highest, name) => Math.max(highest, numberOf(name)), 0) + 1;
    const temporary = join(this.dir, "tmp", `${id}.${process.pid}.${Math.random().toString(36).slice(2)}`);
    await createFile(this.#disk, temporary, bytes);
    const name = `${String(number).padStart(NUMBER_DIGITS, "0")}-${id}`;
    await this.#disk.rename(temporary, join(this.newDir, name));
    await this.#disk.syncDir(this.newDir);
    return { isNew: true };
  }

  /** Whether it was put in, as far as that is remembered. */
  async knows(id: string): Promise<boolean> {
    return (await this.waiting()).some((name) => idOf(name) === id) || this.#remembers(id);
  }

  /** Names of what waits, in order. */
  async waiting(): Promise<string[]> {
    const names = await readdir(this.newDir).catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    });
    return names.sort();
  }

  /**
   * Undefined if it is gone. Null if it is no file of an acceptable size: it is not an envelope, or it was
   * damaged.
   */
  async read(name: string): Promise<Buffer | null | undefined> {
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const handle = await open(join(this.newDir, name), flags).catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") return undefined;
      if (["ELOOP", "ENXIO"].includes(errorCode(error) ?? "")) return null;
      throw error;
    });
    if (!handle) return handle;
    try {
      const stat = await handle.stat();
      return stat.isFile() && stat.size <= MAX_ENVELOPE_BYTES ? await handle.readFile() : null;
    } finally {
      await handle.close();
    }
  }

  /**
   * Marks them as taken in: they are not listed any more, also not after a crash. Their content is on record,
   * without secrets, so only their names are kept here, unless the rest is still needed.
   */
  async done(names: readonly string[], isKept: (name: string) => boolean = () => false): Promise<void> {
    for (const name of names) {
      await this.#move(name, join(this.dir, "cur", idOf(name)));
      if (!isKept(name)) await this.empty(idOf(name));
    }
    if (names.length === 0) return;
    await this.#disk.syncDir(join(this.dir, "cur"));
    await this.#disk.syncDir(this.newDir);
  }

  /**
   * The content that was put in under this id, for a message that is on record and may be just about to be
   * moved away. Undefined if only its name is kept.
   */
  async readTaken(id: string): Promise<Buffer | undefined> {
    return (await this.#readDone(id)) ?? (await this.#readWaiting(id)) ?? (await this.#readDone(id));
  }

  async #readWaiting(id: string): Promise<Buffer | undefined> {
    const name = (await this.waiting()).find((one) => idOf(one) === id);
    return name === undefined ? undefined : ((await this.read(name)) ?? undefined);
  }

  async #readDone(id: string): Promise<Buffer | undefined> {
    const bytes = await readFile(join(this.dir, "cur", id)).catch(() => undefined);
    return bytes && bytes.length > 0 ? bytes : undefined;
  }

  /** Only its name is needed now. */
  async empty(id: string): Promise<void> {
    await truncate(join(this.dir, "cur", id)).catch(() => {});
  }

  /** Keeps only the names of what was taken in, except for these. */
  async emptyAllBut(isNeeded: (id: string) => boolean): Promise<void> {
    for (const id of await readdir(join(this.dir, "cur")).catch(() => []))
      if (!isNeeded(id) && (await lstat(join(this.dir, "cur", id)).catch(() => undefined))?.size !== 0)
        await this.empty(id);
  }

  /** A file that can't be read, or can't be taken in, is kept, so that a person can look at it. */
  async setAside(name: string): Promise<string> {
    const aside = join(this.dir, "aside");
    await this.#disk.mkdir(aside).catch(() => {});
    const path = join(aside, name);
    await this.#move(name, path);
    await this.#disk.syncDir(aside);
    await this.#disk.syncDir(this.newDir);
    return path;
  }

  /** Forgets what `cur` need not remember any more, oldest first. Doing this now and then is enough. */
  async forgetOld(): Promise<void> {
    const names = await readdir(join(this.dir, "cur")).catch(() => []);
    if (names.length > 2 * REMEMBERED) await this.#forget(names);
    // A process that was killed while it wrote has left its draft.
    const drafts = await readdir(join(this.dir, "tmp")).catch(() => []);
    for (const name of drafts) await forgetDraft(this.#disk, join(this.dir, "tmp", name));
  }

  async #forget(names: readonly string[]): Promise<void> {
    const aged = [];
    for (const name of names) {
      const path = join(this.dir, "cur", name);
      aged.push({ path, atMs: (await lstat(path).catch(() => undefined))?.ctimeMs ?? 0 });
    }
    aged.sort((a, b) => a.atMs - b.atMs);
    for (const { path } of aged.slice(0, names.length - REMEMBERED))
      await this.#disk.unlink(path).catch(() => {});
  }

  async #remembers(id: string): Promise<boolean> {
    const handle = await open(join(this.dir, "cur", id), constants.O_RDONLY | constants.O_NOFOLLOW).catch(
      () => undefined,
    );
    await handle?.close();
    return handle !== undefined;
  }

  async #move(name: string, to: string): Promise<void> {
    await this.#disk.rename(join(this.newDir, name), to).catch((error: unknown) => {
      // Taken back by the process that put it in.
      if (errorCode(error) !== "ENOENT") throw error;
    });
  }
}

const DRAFT_LIFE_MS = 60_000;

async function forgetDraft(disk: Disk, path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined);
  const stat = await handle?.stat();
  await handle?.close();
  if (stat && ageMs(stat) > DRAFT_LIFE_MS) await disk.unlink(path).catch(() => {});
}

/** `000000000012-msg_01k…` → `msg_01k…`; a name of another form stands for itself. */
export function idOf(name: string): string {
  const id = name.slice(NUMBER_DIGITS + 1);
  return /^\d{12}-/.test(name) && idForm.test(id) ? id : name;
}

function numberOf(name: string): number {
  return /^\d{12}-/.test(name) ? Number(name.slice(0, NUMBER_DIGITS)) : 0;
}
