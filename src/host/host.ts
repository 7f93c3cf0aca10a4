/**
 * Owns the session process: it owns the session, takes in what its inbox has, drives its tasks one after the
 * other, and ends when there is nothing left to do. It reads no path of another session. `life-table.ts`
 * decides what follows from each event; this file reports the events and performs the effects.
 *
 * A kill at any moment leaves a journal with the status `active`, a free lock, a capsule with its files, and
 * an inbox with what was not taken in. The next session process goes on from there; nothing of the command
 * lives on in its sandbox.
 */
import { type JournalRecord, parseSessionId } from "../contract/index.ts";
import { type Home, readSettings } from "../home/index.ts";
import { Intake, recordDecision } from "../task/index.ts";
import { arrive } from "./arrival.ts";
import { DispatcherCalls } from "./calling.ts";
import { nextOf } from "./due.ts";
import { Effects, type Parts } from "./effects.ts";
import type { StartOptions } from "./handover.ts";
import type { Effect, Happening, Life } from "./life.ts";
import { begin, step } from "./life-table.ts";
import { Notices } from "./notices.ts";
import { Presence } from "./presence.ts";
import { SessionMail } from "./session-mail.ts";
import { SessionTasks } from "./session-tasks.ts";

export class Host {
  readonly #parts: Parts;
  readonly #effects: Effects;
  readonly #gone = Promise.withResolvers<void>();
  #life: Life = begin.life;

  private constructor(parts: Omit<Parts, "intake">) {
    const { home, calls, session, mail, tasks } = parts;
    const intake = new Intake(session, mail.inbox, {
      interrupt: () => this.#happen({ kind: "interrupt_asked" }),
      pause: () => this.pause(),
      cancel: (request) => this.#happen({ kind: "cancel_asked", request }),
      shell: (request) => tasks.openShell(request),
      allowHost: (request) => tasks.allowHost(request),
      decide: (decided) =>
        recordDecision(home, session, { ...decided, isAwaited: (request) => tasks.isAwaited(request) }),
      drained: () => calls.call(),
      looked: () => this.#happen({ kind: "looked", next: nextOf(session) }),
      failed: (error) => this.#happen({ kind: "look_failed", error }),
    });
    this.#parts = { ...parts, intake };
    this.#effects = new Effects(this.#parts, (happening) => this.#happen(happening));
    session.observe((records) => this.#note(records));
  }

  /** Becomes the session's owner. */
  static async start(home: Home, idText: string, options: StartOptions): Promise<Host> {
    const session = await arrive(home, parseSessionId(idText), options);
    const calls = new DispatcherCalls(home, options.dispatcher);
    const mail = await SessionMail.read(home, session, calls);
    // A ring that comes before we are ready is answered when we are.
    const ready = Promise.withResolvers<Host>();
    const look = async () => (await ready.promise).look();
    const presence = await Presence.begin(home, session, mail.inbox, look);
    const host = new Host({
      home,
      calls,
      session,
      mail,
      presence,
      tasks: new SessionTasks(home, session, mail, presence),
      notices: new Notices({
        session,
        clock: home.io.clock,
        command: async () => (await readSettings(home.dir)).notify?.command,
        isWatched: () => presence.isWatched,
        onFailure: (why) => void process.stderr.write(`${why}\n`),
      }),
    });
    ready.resolve(host);
    return host;
  }

  /** Returns when the session is paused, and this process no longer owns it. */
  run(): Promise<void> {
    this.#perform(begin.effects);
    return this.#gone.promise;
  }

  /**
   * At a ring. Resolves when the inbox was looked at after the ring; rejects when this process does not look
   * any more.
   */
  look(): Promise<void> {
    return this.#happen({ kind: "rung" });
  }

  /** Pauses as soon as what runs is ended and kept. */
  pause(): void {
    this.#happen({ kind: "pause_asked" });
  }

  /** Resolves when the effects that follow are done, as far as they are done at once. */
  #happen(happening: Happening): Promise<void> {
    const { life, effects } = step(this.#life, happening);
    this.#life = life;
    if (life.state === "gone" && life.failure) this.#gone.reject(life.failure.error);
    else if (life.state === "gone") this.#gone.resolve();
    return this.#perform(effects);
  }

  #perform(effects: readonly Effect[]): Promise<void> {
    const done = Promise.all(effects.map((effect) => this.#effects.perform(effect))).then(() => {});
    // Few callers wait for it; what follows from a failure is decided by a happening.
    done.catch(() => {});
    return done;
  }

  /** These are on disk now. */
  #note(records: readonly JournalRecord[]): void {
    const { mail, presence, intake } = this.#parts;
    mail.note(records);
    presence.news(records.some(({ type }) => AWAITED.includes(type)));
    // There may be room again for what had to wait.
    if (intake.hasLeft && records.some(({ type }) => MAKES_ROOM.includes(type)))
      this.#happen({ kind: "rung" });
  }
}

/** What a person or a program waits for. */
const AWAITED: readonly string[] = [
  ...["task_ended", "task_parked", "task_refused", "task_halted", "session_paused", "session_closed"],
  ...["message_received", "approval_requested", "question_asked", "budget_raised"],
];

const MAKES_ROOM: readonly string[] = ["message_entered_context", "task_started", "task_refused"];
