/**
 * Owns the line: which sessions run an agent now, which wait for room, and why. Each session has one small
 * file in `line/`, changed under one lock. The line holds no truth about a session, only about this machine
 * at this time.
 *
 * line-3 A place whose process is gone belongs to no process: it goes back to the line, or away. So does the
 *        place of a session that was never opened.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isSessionId, type SessionId } from "../contract/index.ts";
import { type Home, sessionDirOf } from "../home/index.ts";
import {
  identityOf,
  isAlive,
  lineDir,
  type ProcessIdentity,
  parseIdentity,
  parseObject,
  readTextOr,
  temporaryPath,
  withFileLock,
} from "../util/index.ts";

export interface Place {
  readonly session: SessionId;
  readonly definition: string;
  readonly priority: number;
  /** Smaller is earlier. */
  readonly order: number;
  readonly state: "waiting" | "granted";
  /** Why it waits, for people. */
  readonly reason: string | null;
  /** The session's own limits: it does not begin while more sessions run, or need more memory, than this. */
  readonly maxSessions: number | null;
  readonly maxMemoryBytes: number | null;
  /**
   * Granted: the session process, or the process that starts it. Waiting: the session process, if it has one.
   */
  readonly sessionProcess: ProcessIdentity | null;
  /** The process that saw that the session had crashed, if this was not asked for by a person. */
  readonly by: string | null;
  /** The process that put it in the line, which may be about to open the session. */
  readonly maker: ProcessIdentity | null;
  /** How many processes were started for it and ended before they had the session. */
  readonly attempts: number;
  /** Whether the session process itself has taken the place. */
  readonly isTaken: boolean;
}

/** Comes and goes with its place. */
export const placePath = (home: Pick<Home, "dir">, session: SessionId) =>
  join(lineDir(home.dir), `${session}.json`);

/** Whether the process of a place exists, or is just being started. */
export function hasProcess(place: Place | undefined): boolean {
  const { sessionProcess = null } = place ?? {};
  return sessionProcess !== null && isAlive(sessionProcess);
}

/** All changes of the line are made in here: what is read stays true until this ends. */
export async function withLine<T>(home: Pick<Home, "dir">, work: (line: Line) => Promise<T>): Promise<T> {
  mkdirSync(lineDir(home.dir), { recursive: true, mode: 0o700 });
  return withFileLock(join(lineDir(home.dir), "lock"), () => work(new Line(home)));
}

/** A look from outside, without the lock. */
export function readPlace(home: Pick<Home, "dir">, session: SessionId): Place | undefined {
  return parsePlace(session, readTextOr(placePath(home, session), ""));
}

export class Line {
  readonly #home: Pick<Home, "dir">;

  constructor(home: Pick<Home, "dir">) {
    this.#home = home;
  }

  /** In the order in which they may begin. line-3 is enforced before they are returned. */
  async places(): Promise<Place[]> {
    const found = readdirSync(lineDir(this.#home.dir))
      .map((name) => name.slice(0, -".json".length))
      .filter(isSessionId)
      .flatMap((session) => readPlace(this.#home, session) ?? []);
    const places: Place[] = [];
    for (const place of found) {
      const settled = await this.#settle(place);
      if (settled) places.push(settled);
    }
    return places.sort((a, b) => b.priority - a.priority || a.order - b.order);
  }

  /** After all places that are in the line. */
  async nextOrder(): Promise<number> {
    return (await this.places()).reduce((highest, { order }) => Math.max(highest, order), 0) + 1;
  }

  get(session: SessionId): Place | undefined {
    return readPlace(this.#home, session);
  }

  async set(place: Place): Promise<void> {
    const path = placePath(this.#home, place.session);
    const temporary = temporaryPath(path);
    await writeFile(temporary, `${JSON.stringify(place)}\n`, { mode: 0o600, flag: "wx" });
    await rename(temporary, path);
  }

  remove(session: SessionId): void {
    rmSync(placePath(this.#home, session), { force: true });
  }

  async #settle(place: Place): Promise<Place | undefined> {
    const isGone = place.sessionProcess !== null && !isAlive(place.sessionProcess);
    const isUnborn = !existsSync(sessionDirOf(this.#home, place.session));
    const isOrphan = isUnborn && (place.maker === null || !isAlive(place.maker));
    if (!isGone && !isOrphan) return place;
    const attempts = place.attempts + (place.state === "granted" ? 1 : 0);
    if (isOrphan || (place.state === "granted" && place.isTaken) || attempts >= MAX_ATTEMPTS) {
      this.remove(place.session);
      return undefined;
    }
    const back: Place = { ...place, attempts, state: "waiting", sessionProcess: null, isTaken: false };
    await this.set(back);
    return back;
  }
}

/** A session whose process can't be started is not tried for ever. */
const MAX_ATTEMPTS = 3;

export function myself(): ProcessIdentity {
  return identityOf(process.pid);
}

function parsePlace(session: SessionId, text: string): Place | undefined {
  const value = parseObject(text);
  if (!value || (value["state"] !== "waiting" && value["state"] !== "granted")) return undefined;
  const number = (name: string) => (typeof value[name] === "number" ? (value[name] as number) : null);
  return {
    session,
    definition: String(value["definition"] ?? ""),
    priority: number("priority") ?? 0,
    order: number("order") ?? 0,
    state: value["state"],
    reason: typeof value["reason"] === "string" ? value["reason"] : null,
    maxSessions: number("maxSessions"),
    maxMemoryBytes: number("maxMemoryBytes"),
    sessionProcess:
      parseIdentity(
        (value["sessionProcess"] ?? value["holder"] ?? undefined) as Record<string, unknown> | undefined,
      ) ?? null,
    by: typeof value["by"] === "string" ? value["by"] : null,
    maker: parseIdentity((value["maker"] ?? undefined) as Record<string, unknown> | undefined) ?? null,
    attempts: number("attempts") ?? 0,
    isTaken: value["isTaken"] === true,
  };
}
