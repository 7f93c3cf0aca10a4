/**
 * Owns the session process: it has the session as its owner, takes in what its inbox holds, drives its tasks one
 * after the other, and ends when there is nothing left to do. It reads no path of another session.
 *
 * What it does when is decided in `life-table.ts`; here, what happens is told to its life, and what that says is done.
 *
 * What a kill leaves at any moment: a journal that says `active`, a lock that is free, a capsule with its files, an
 * inbox with what was not taken in. The next session process goes on from there; in its sandbox, nothing of the
 * command lives.
 */
import { type JournalRecord, parseSessionId } from "../contract/index.ts";
import type { Home } from "../home/index.ts";
import { Intake } from "../task/index.ts";
import { arrive } from "./arrival.ts";
import { DispatcherCalls } from "./calling.ts";
import { Driver } from "./driver.ts";
import { nextOf } from "./due.ts";
import { Effects, type Parts } from "./effects.ts";
import type { StartOptions } from "./handover.ts";
import type { Effect, Happening, Life } from "./life.ts";
import { begin, step } from "./life-table.ts";
import { Presence } from "./presence.ts";
import { SessionMail } from "./session-mail.ts";

export class Host {
  readonly #parts: Parts;
  readonly #effects: Effects;
  readonly #gone = Promise.withResolvers<void>();
  #life: Life = begin.life;

  private constructor(parts: Omit<Parts, "intake">) {
    const { calls, session, mail, driver } = parts;
    const intake = new Intake(session, mail.inbox, {
      interrupt: () => this.#happen({ kind: "interrupt_asked" }),
      pause: () => this.pause(),
      cancel: (request) => this.#happen({ kind: "cancel_asked", request }),
      shell: (request) => driver.openShell(request),
      allowHost: (request) => driver.allowHost(request),
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
      driver: new Driver(home, session, mail, presence),
    });
    ready.resolve(host);
    return host;
  }

  /** Returns when the session is paused, and this process is not its owner any more. */
  run(): Promise<void> {
    this.#perform(begin.effects);
    return this.#gone.promise;
  }

  /** At a ring. Resolves when the inbox was looked at after it; rejects when this process looks no more. */
  look(): Promise<void> {
    return this.#happen({ kind: "rung" });
  }

  /** As soon as what runs is ended and kept. */
  pause(): void {
    this.#happen({ kind: "pause_asked" });
  }

  /** Resolves when what it calls for is done, as far as that is done at once. */
  #happen(happening: Happening): Promise<void> {
    const { life, effects } = step(this.#life, happening);
    this.#life = life;
    if (life.state === "gone" && life.failure) this.#gone.reject(life.failure.error);
    else if (life.state === "gone") this.#gone.resolve();
    return this.#perform(effects);
  }

  #perform(effects: readonly Effect[]): Promise<void> {
    const done = Promise.all(effects.map((effect) => this.#effects.perform(effect))).then(() => {});
    // Few callers wait for it: what follows from a failure is decided by a happening.
    done.catch(() => {});
    return done;
  }

  /** These are on disk now. */
  #note(records: readonly JournalRecord[]): void {
    const { mail, presence, intake } = this.#parts;
    mail.note(records);
    presence.news();
    // There may be room again for what had to wait.
    if (intake.hasLeft && records.some(({ type }) => MAKES_ROOM.includes(type)))
      this.#happen({ kind: "rung" });
  }
}

const MAKES_ROOM: readonly string[] = ["message_entered_context", "task_started", "task_refused"];
