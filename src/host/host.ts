/**
 * Owns the session process: it has the session as its owner, takes in what its inbox holds, drives its tasks one
 * after the other, and ends when there is nothing left to do. It reads no path of another session.
 *
 * What a kill leaves at any moment: a journal that says `active`, a lock that is free, a capsule with its files, an
 * inbox with what was not taken in. The next session process goes on from there; nothing of the command lives.
 */
import { type FSWatcher, mkdirSync, watch } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isHoldfastError, parseSessionId, type SessionId, type TaskSpec } from "../contract/index.ts";
import {
  type Home,
  notFound,
  readPlace,
  readToken,
  restFiles,
  resumeSession,
  sessionDirOf,
} from "../home/index.ts";
import { type Bell, hangBell, Maildir, makeRuntimeDir, removeRuntimeDir } from "../mail/index.ts";
import { readManifest, type Session } from "../session/index.ts";
import { Door } from "./door.ts";
import { driveCutTask, driveTask, type Stop, type Surroundings } from "./drive.ts";
import { Feed } from "./feed.ts";
import { Intake } from "./intake.ts";
import { Outgoing } from "./outgoing.ts";
import { leavePlace, takePlace } from "./place.ts";
import { removeProcessRecord, writeProcessRecord } from "./process-record.ts";
import { RefusalCount } from "./refusals.ts";
import { Named } from "./specs.ts";
import { outputOfCut } from "./spool.ts";
import { callDispatcher, settleIn } from "./start.ts";
import { TerminalSocket } from "./terminal-socket.ts";

const DEFAULT_IDLE_MS = 10 * 60 * 1000;
const LOOK_ANYWAY_MS = 30_000;

export class Host {
  readonly #home: Home;
  readonly #session: Session;
  readonly #sessionDir: string;
  readonly #runtimeDir: string;
  readonly #named: Named;
  readonly #feed: Feed;
  readonly #intake: Intake;
  readonly #outgoing: Outgoing;
  readonly #refusals: RefusalCount;
  #bell: Bell | undefined;
  #watcher: FSWatcher | undefined;
  #looking: NodeJS.Timeout | undefined;
  #opening: Promise<Door> | undefined;
  #door: Door | undefined;
  #terminal: TerminalSocket | undefined;
  /** Of what runs now. */
  #stop: AbortController | undefined;
  #running: string | undefined;
  #isToPause = false;
  #idleMs = DEFAULT_IDLE_MS;
  #wake = () => {};
  #failure: unknown;

  private constructor(home: Home, session: Session, named: Named) {
    this.#home = home;
    this.#session = session;
    this.#sessionDir = sessionDirOf(home, session.id);
    this.#runtimeDir = makeRuntimeDir(home.dir, session.id);
    this.#named = named;
    this.#feed = new Feed(session, named);
    const mail = (name: string) => new Maildir(home.ports.disk, join(this.#sessionDir, name));
    this.#intake = new Intake(session, mail("inbox"), {
      interrupt: () => this.#end("interrupt"),
      pause: () => this.pause(),
      cancel: (request) => this.#cancel(request),
    });
    this.#outgoing = new Outgoing(session, {
      outbox: mail("outbox"),
      newId: home.newId,
      nowMs: () => home.ports.clock.nowMs(),
      notify: () => callDispatcher(home),
    });
    this.#refusals = new RefusalCount(this.#sessionDir);
  }

  /** Becomes the session's owner. `by` says who saw that it had crashed, if that was no person. */
  static async start(home: Home, idText: string, by?: string): Promise<Host> {
    const id = parseSessionId(idText);
    const dir = sessionDirOf(home, id);
    const user = await whenThere(home, id);
    const own = () =>
      resumeSession(home, id, {
        user,
        files: false,
        isHandedOver: true,
        outputOfCut: (state) => outputOfCut(sessionDirOf(home, id), state),
        ...(by !== undefined && { by }),
      });
    const session = await whenFree(own);
    settleIn(home, id);
    const host = new Host(home, session, await Named.read(dir, session.state));
    await host.#listen();
    return host;
  }

  /** Returns when the session is paused, and this process is not its owner any more. */
  async run(): Promise<void> {
    try {
      await this.#feed.settleUnclear();
      await this.#outgoing.settleUnsent(this.#named);
      await this.#intake.look();
      await this.#goOn();
      while (!this.#isToPause && !this.#failure) {
        const [next] = this.#session.state.queue;
        if (next) await this.#drive(next.request);
        else if (!(await this.#news(this.#idleMs))) break;
      }
      if (this.#failure) throw this.#failure;
      await this.#rest();
    } finally {
      await this.#leave();
    }
  }

  /** As soon as what runs is ended and kept. */
  pause(): void {
    this.#isToPause = true;
    this.#end("pause");
    this.#wake();
  }

  async #listen(): Promise<void> {
    this.#session.observe((records) => {
      this.#named.note(records);
      this.#feed.wake();
      this.#bell?.news();
    });
    await this.#hangBell().catch(() => this.#watchInbox());
    // Whoever put something in may have been killed before it could ring.
    this.#looking = setInterval(() => this.#look(), LOOK_ANYWAY_MS).unref();
    await this.#record(null);
  }

  async #hangBell(): Promise<void> {
    this.#bell = await hangBell(join(this.#runtimeDir, "bell"), () => this.#look());
  }

  /** Where no socket can be made. One for each process: there are not many of these on a machine. */
  #watchInbox(): void {
    const path = join(this.#sessionDir, "inbox", "new");
    mkdirSync(path, { recursive: true, mode: 0o700 });
    this.#watcher = watch(path, () => this.#look());
  }

  /** Somebody rang. */
  #look(): void {
    this.#intake.look().then(
      () => this.#wake(),
      (error: unknown) => {
        this.#failure = error;
        this.#end("pause");
        this.#wake();
      },
    );
    // It may have been changed just now.
    this.#door?.copyToken().catch(() => {});
  }

  /** What a crash or a pause cut off. */
  async #goOn(): Promise<void> {
    const { task, queue } = this.#session.state;
    if (!task?.request || task.outcome !== null || task.capsule === "torn_down") return;
    const { request } = task;
    const spec = await this.#named.spec(request);
    this.#idleMs = spec.idlePauseMs;
    // To keep its work takes no memory; to start it again does.
    if (spec.restart && !(await this.#takePlace(spec, queue[0]?.priority ?? 0))) return;
    await this.#driving(request, (stop) => driveCutTask(this.#surroundings(), request, spec, stop));
  }

  async #drive(request: string): Promise<void> {
    const spec = await this.#named.spec(request);
    this.#idleMs = spec.idlePauseMs;
    const { priority = 0 } = this.#session.state.queue.find((one) => one.request === request) ?? {};
    if (!(await this.#takePlace(spec, priority))) return;
    await this.#driving(request, (stop) => driveTask(this.#surroundings(), request, spec, stop));
  }

  async #driving(
    request: string,
    drive: (stop: AbortSignal) => Promise<{ readonly isOverQuota: boolean }>,
  ): Promise<void> {
    this.#stop = new AbortController();
    this.#running = request;
    // Ready when the command is, which takes a moment too.
    this.#openDoor().catch(() => {});
    // Asked for while nothing ran yet.
    if (this.#isToPause) this.#end("pause");
    try {
      const { isOverQuota } = await drive(this.#stop.signal);
      const { status } = this.#session.state;
      if (isOverQuota && status !== "paused")
        await this.#session.append("session_paused", { reason: "quota" });
      // Its budget or its quota is reached.
      if (this.#session.state.status === "paused") this.#isToPause = true;
    } finally {
      this.#stop = undefined;
      this.#running = undefined;
      if (this.#terminal) await this.#record(null);
      this.#terminal = undefined;
      if (this.#session.state.queue.length === 0) await this.#leavePlace();
    }
  }

  /** False when it is not to begin any more. */
  async #takePlace(spec: TaskSpec, priority: number): Promise<boolean> {
    const request = { session: this.#session.id, definition: spec.definition, priority };
    while (!this.#isToPause && !this.#failure) {
      if (await takePlace(this.#home, request)) return true;
      callDispatcher(this.#home);
      await this.#news(PLACE_MS);
    }
    return false;
  }

  #end(why: Stop): void {
    this.#stop?.abort(why);
  }

  async #cancel(request: string): Promise<void> {
    if (this.#running === request) return this.#end("interrupt");
    if (this.#session.state.queue.some((one) => one.request === request))
      await this.#session.append("task_refused", {
        request,
        code: "interrupted",
        reason: "it was taken back",
      });
  }

  /** False when nobody rang for so long. */
  async #news(waitMs: number): Promise<boolean> {
    if (waitMs <= 0) return false;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), waitMs);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = () => {};
        resolve(true);
      };
    });
  }

  #surroundings(): Surroundings {
    return {
      home: this.#home,
      session: this.#session,
      feed: this.#feed,
      news: () => this.#bell?.news(),
      door: () => this.#openDoor(),
      terminal: async () => {
        this.#terminal = await TerminalSocket.open(join(this.#runtimeDir, "terminal"));
        await this.#record(this.#terminal.path);
        return this.#terminal;
      },
    };
  }

  async #openDoor(): Promise<string> {
    const dir = join(this.#runtimeDir, "door");
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    this.#opening ??= Door.open(dir, {
      token: () => readToken(this.#home.ports.disk, this.#sessionDir),
      nextMessage: (waitMs, gone) => this.#feed.next(waitMs, gone),
      entered: (message) => this.#feed.entered(message),
      send: (to, text) => this.#outgoing.send(to, text),
      refused: () => this.#refusals.add(),
    });
    this.#door = await this.#opening;
    return dir;
  }

  #record(terminal: string | null): Promise<void> {
    const bell = this.#bell ? join(this.#runtimeDir, "bell") : null;
    return writeProcessRecord(this.#sessionDir, { epoch: this.#session.epoch, bell, terminal });
  }

  async #rest(): Promise<void> {
    if (this.#session.state.status !== "paused") {
      const { task } = this.#session.state;
      // A task that ended has its checkpoint, and nothing has run since.
      if (task?.outcome === null) await restFiles(this.#home, this.#session);
    }
    // What came in while we got ready to leave is for the next one.
    await this.#session.pause(this.#isToPause ? "asked" : "idle");
  }

  /** Whatever happened: nothing of this process is left. */
  async #leave(): Promise<void> {
    removeProcessRecord(this.#sessionDir);
    await this.#bell?.close();
    this.#watcher?.close();
    clearInterval(this.#looking);
    await this.#door?.close();
    this.#refusals.write();
    await this.#session[Symbol.asyncDispose]().catch(() => {});
    removeRuntimeDir(this.#runtimeDir);
    await this.#leavePlace();
  }

  async #leavePlace(): Promise<void> {
    if (await leavePlace(this.#home, this.#session.id)) callDispatcher(this.#home);
  }
}

/** Whose session it is. It may be on its way: then our place in the line is there before it. */
async function whenThere(home: Home, id: SessionId): Promise<string> {
  for (const deadlineMs = performance.now() + WAIT_MS; ; await sleep(LOOK_MS)) {
    const manifest = await readManifest(sessionDirOf(home, id));
    if (manifest) return manifest.user;
    if (!readPlace(home, id) || performance.now() > deadlineMs) throw notFound(id);
  }
}

/** Whoever opened it lets go of it soon. */
async function whenFree(own: () => Promise<Session>): Promise<Session> {
  for (const deadlineMs = performance.now() + WAIT_MS; ; await sleep(LOOK_MS)) {
    try {
      return await own();
    } catch (error) {
      if (!isHoldfastError(error, "session_owned") || performance.now() > deadlineMs) throw error;
    }
  }
}

const WAIT_MS = 10_000;
const LOOK_MS = 2;

/** How long until a place in the line is looked at again without a ring. */
const PLACE_MS = 2000;
