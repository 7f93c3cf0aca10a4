/**
 * Owns the session process: it has the session as its owner, takes in what its inbox holds, drives its tasks one
 * after the other, and ends when there is nothing left to do. It reads no path of another session.
 *
 * What a kill leaves at any moment: a journal that says `active`, a lock that is free, a capsule with its files, an
 * inbox with what was not taken in. The next session process goes on from there; in its sandbox, nothing of the
 * command lives.
 */

import { adapterOf } from "../agent/index.ts";
import {
  HoldfastError,
  isHoldfastError,
  type JournalRecord,
  parseSessionId,
  type TaskSpec,
} from "../contract/index.ts";
import { type Home, readToken, sessionDirOf } from "../home/index.ts";
import { leavePlace, takePlace } from "../line/index.ts";
import { idOf, type Maildir } from "../mail/index.ts";
import {
  isTaskOver,
  removeEnvironment,
  removeOldEnvironments,
  type Session,
  taskUnderWay,
  textIn,
  workDue,
} from "../session/index.ts";
import { Feed, Intake, Named, restFiles, type Stop } from "../task/index.ts";
import { arrive, mailIn } from "./arrival.ts";
import { DispatcherCalls } from "./calling.ts";
import { Door } from "./door.ts";
import { driveTask, type HostParts } from "./drive.ts";
import { Outgoing } from "./outgoing.ts";
import { Presence } from "./presence.ts";
import { RefusalCount } from "./refusals.ts";
import { Shells } from "./shells.ts";
import { removeOldSpools } from "./spool.ts";
import type { StartOptions } from "./start.ts";
import { TerminalSocket } from "./terminal-socket.ts";

export class Host {
  readonly #home: Home;
  readonly #calls: DispatcherCalls;
  readonly #session: Session;
  readonly #sessionDir: string;
  readonly #named: Named;
  readonly #inbox: Maildir;
  readonly #outbox: Maildir;
  readonly #feed: Feed;
  readonly #intake: Intake;
  readonly #outgoing: Outgoing;
  readonly #refusals: RefusalCount;
  readonly #presence: Presence;
  readonly #shells: Shells;
  #opening: Promise<Door> | undefined;
  #door: Door | undefined;
  #terminal: TerminalSocket | undefined;
  /** Of what runs now. */
  #stop: AbortController | undefined;
  #running: string | undefined;
  #isToPause = false;
  #isLeaving = false;
  #wake = () => {};
  #failure: unknown;

  private constructor(
    home: Home,
    calls: DispatcherCalls,
    session: Session,
    named: Named,
    presence: Presence,
  ) {
    this.#home = home;
    this.#calls = calls;
    this.#session = session;
    this.#presence = presence;
    this.#sessionDir = sessionDirOf(home, session.id);
    this.#named = named;
    this.#feed = new Feed(session, named, home.ports.clock);
    this.#inbox = mailIn(home, session.id, "inbox");
    this.#intake = new Intake(session, this.#inbox, {
      interrupt: () => this.#end("interrupt"),
      pause: () => this.pause(),
      cancel: (request) => this.#cancel(request),
      shell: (request) => this.#shells.open(request),
      drained: () => calls.call(),
    });
    this.#shells = new Shells(session, (shell) => presence.shellSocket(shell));
    this.#outbox = mailIn(home, session.id, "outbox");
    this.#outgoing = new Outgoing(session, {
      outbox: this.#outbox,
      redact: session.redact,
      newId: home.newId,
      nowMs: () => home.ports.clock.nowMs(),
      notify: () => calls.call(),
    });
    this.#refusals = new RefusalCount(this.#sessionDir);
    session.observe((records) => this.#note(records));
  }

  /** Becomes the session's owner. */
  static async start(home: Home, idText: string, options: StartOptions): Promise<Host> {
    const session = await arrive(home, parseSessionId(idText), options);
    const { id, state } = session;
    const inbox = mailIn(home, id, "inbox");
    const named = await Named.read(sessionDirOf(home, id), inbox, state);
    // A ring that comes before we are ready is answered when we are.
    const ready = Promise.withResolvers<Host>();
    const look = async () => (await ready.promise).look();
    const presence = await Presence.begin(home, session, inbox, look);
    const host = new Host(home, new DispatcherCalls(home, options.dispatcher), session, named, presence);
    ready.resolve(host);
    return host;
  }

  /** Returns when the session is paused, and this process is not its owner any more. */
  async run(): Promise<void> {
    try {
      await this.#feed.settleUnclear();
      await this.#outgoing.settleUnsent(this.#named);
      await this.#tidy();
      await this.#intake.look();
      await this.#goOn();
      if (this.#session.state.queue.length === 0) await this.#leavePlace();
      while (!this.#isToPause && !this.#failure) {
        const [next] = this.#session.state.queue;
        if (next) await this.#drive(next.request);
        else if (await this.#hasNothingToDo()) break;
      }
      if (this.#failure) throw this.#failure;
      await this.#rest();
    } finally {
      await this.#leave();
    }
  }

  /** From here on nothing is taken in: it is for the next process, whom whoever puts it there starts. */
  async #hasNothingToDo(): Promise<boolean> {
    this.#isLeaving = true;
    await this.#intake.look();
    // A pause among it is another way to leave.
    this.#isLeaving = this.#session.state.queue.length === 0 && !this.#isToPause;
    // Who rang meanwhile was not heard.
    if (!this.#isLeaving) await this.#intake.look();
    return this.#isLeaving;
  }

  /** What others before us could not put away. */
  async #tidy(): Promise<void> {
    await this.#inbox.forgetOld();
    const { task, queue } = this.#session.state;
    const waiting = new Set((await this.#inbox.waiting()).map(idOf));
    const needed = new Set([
      ...queue.map(({ request }) => request),
      ...(task?.request ? [task.request] : []),
    ]);
    removeOldSpools(this.#sessionDir, (request) => needed.has(request) || waiting.has(request));
    // Its process was killed when all of it was on record.
    if (task?.request && this.#isOver(task.request)) await this.#forget(task.request);
    await removeOldEnvironments(
      this.#home.ports.disk,
      this.#sessionDir,
      (request) => !this.#isOver(request) || waiting.has(request),
    );
    await this.#inbox.emptyAllBut((request) => needed.has(request));
    await this.#outbox.forgetOld();
  }

  /** As soon as what runs is ended and kept. */
  pause(): void {
    this.#isToPause = true;
    this.#end("pause");
    this.#wake();
  }

  /** These are on disk now. */
  #note(records: readonly JournalRecord[]): void {
    this.#named.note(records);
    this.#feed.wake();
    this.#presence.news();
    for (const { type, data } of records)
      if (type === "task_refused") this.#forget(textIn(data["request"])).catch(() => {});
    // There may be room again for what had to wait.
    if (this.#intake.hasLeft && records.some(({ type }) => MAKES_ROOM.includes(type)))
      this.look().catch(() => {});
  }

  /** What a task needs beside its record, until it is over: its command as it was asked for, and its values. */
  async #forget(request: string): Promise<void> {
    await this.#inbox.empty(request);
    await removeEnvironment(this.#home.ports.disk, this.#sessionDir, request);
  }

  #isOver(request: string): boolean {
    return isTaskOver(this.#session.state, request);
  }

  /** Resolves when the inbox was looked at. Fails where we leave: what lies there is for the next process. */
  async look(): Promise<void> {
    if (this.#isLeaving) throw new HoldfastError("not_running", "the session process leaves");
    // It may have been changed just now.
    this.#door?.copyToken().catch(() => {});
    try {
      await this.#intake.look();
    } catch (error) {
      this.#failure = error;
      this.#end("pause");
      throw error;
    } finally {
      this.#wake();
    }
  }

  /** What a crash or a pause cut off. */
  async #goOn(): Promise<void> {
    const due = workDue(this.#session.state);
    if (due.kind === "end") {
      await this.#session.append("task_ended", { task: due.task, outcome: "interrupted" });
      await this.#forget(due.request);
    }
    if (due.kind !== "go_on") return;
    const { request } = due;
    const { queue } = this.#session.state;
    const spec = await this.#named.spec(request);
    // To keep its work takes no memory; to start it again does.
    if (adapterOf(spec.agent).goesOn(spec.agent) && !(await this.#takePlace(spec, queue[0]?.priority ?? 0)))
      return;
    await this.#driving(request, (stop) => driveTask(this.#parts(), { request, spec, stop }));
  }

  async #drive(request: string): Promise<void> {
    const spec = await this.#named.spec(request).catch((error: unknown) => {
      if (!isHoldfastError(error)) throw error;
      return error;
    });
    if (isHoldfastError(spec)) {
      const { code, message: reason } = spec;
      await this.#session.append("task_refused", { request, code, reason });
      return;
    }
    const { priority = 0 } = this.#session.state.queue.find((one) => one.request === request) ?? {};
    // Taken back meanwhile, or one that is more urgent came in.
    const isNext = () => this.#session.state.queue[0]?.request === request;
    if (!(await this.#takePlace(spec, priority, isNext))) return;
    await this.#driving(request, (stop) => driveTask(this.#parts(), { request, spec, stop }));
  }

  #isQueued(request: string): boolean {
    return this.#session.state.queue.some((one) => one.request === request);
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
      // One that is paused goes on later, as it was asked for.
      if (this.#isOver(request)) await this.#forget(request);
      if (this.#terminal) await this.#presence.tell(null);
      this.#terminal = undefined;
      if (this.#session.state.queue.length === 0) await this.#leavePlace();
    }
  }

  /** False when it is not to begin any more. */
  async #takePlace(spec: TaskSpec, priority: number, isWanted = () => true): Promise<boolean> {
    const request = { session: this.#session.id, definition: spec.definition, priority };
    for (
      let waitMs = PLACE_MS;
      !this.#isToPause && !this.#failure;
      waitMs = Math.min(2 * waitMs, PLACE_MAX_MS)
    ) {
      if (!isWanted()) return false;
      if (await takePlace(this.#home, request)) return isWanted();
      this.#calls.call();
      await this.#news(waitMs);
    }
    return false;
  }

  #end(why: Stop): void {
    this.#stop?.abort(why);
  }

  async #cancel(request: string): Promise<void> {
    if (this.#running === request) return this.#end("interrupt");
    if (this.#isQueued(request))
      await this.#session.append("task_refused", {
        request,
        code: "interrupted",
        reason: "it was taken back",
      });
  }

  /** Until somebody rings, and so long at most. */
  async #news(waitMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = () => {};
        resolve();
      };
    });
  }

  #parts(): HostParts {
    return {
      home: this.#home,
      session: this.#session,
      feed: this.#feed,
      shells: this.#shells,
      news: () => this.#presence.news(),
      door: () => this.#openDoor(),
      terminal: async () => {
        const path = this.#presence.path("terminal");
        this.#terminal = await TerminalSocket.open(path, {
          typed: (typed, type) => this.#feed.type(typed, type),
        });
        await this.#presence.tell(this.#terminal.path);
        return this.#terminal;
      },
    };
  }

  async #openDoor(): Promise<string> {
    const dir = this.#presence.makeDir("door");
    this.#opening ??= Door.open(dir, {
      token: () => readToken(this.#home.ports.disk, this.#sessionDir),
      nextMessage: (waitMs, gone) => this.#feed.next(waitMs, gone),
      entered: (message) => this.#feed.entered(message),
      send: (to, text) => this.#outgoing.send(to, text),
      refused: () => this.#refusals.add(),
    });
    this.#opening.catch(() => {
      this.#opening = undefined;
    });
    this.#door = await this.#opening;
    return dir;
  }

  async #rest(): Promise<void> {
    if (this.#session.state.status !== "paused") {
      // A task that ended has its checkpoint, and nothing has run since.
      if (taskUnderWay(this.#session.state)) await restFiles(this.#home, this.#session);
    }
    // What came in while we got ready to leave is for the next one. It is ours until nothing of us is left.
    if (this.#session.state.status !== "paused")
      await this.#session.append("session_paused", { reason: this.#isToPause ? "asked" : "idle" });
  }

  /** Whatever happened: nothing of this process is left. */
  async #leave(): Promise<void> {
    this.#isLeaving = true;
    this.#refusals.write();
    await this.#door?.close();
    this.#presence.end();
    await this.#session[Symbol.asyncDispose]().catch(() => {});
    await this.#leavePlace();
    await this.#outgoing.callOnce().catch(() => {});
    await this.#calls.done();
  }

  async #leavePlace(): Promise<void> {
    if (await leavePlace(this.#home, this.#session.id)) this.#calls.call();
  }
}

const MAKES_ROOM: readonly string[] = ["message_entered_context", "task_started", "task_refused"];
/** How long until a place in the line is looked at again without a ring. */
const PLACE_MS = 2000;
const PLACE_MAX_MS = 60_000;
