/**
 * Owns what a session process does: one method for each effect of its life. Work that takes time reports its
 * end, or its failure, as a happening.
 */
import { HoldfastError } from "../contract/index.ts";
import type { Home } from "../home/index.ts";
import { leavePlace } from "../line/index.ts";
import type { Session } from "../session/index.ts";
import type { Intake } from "../task/index.ts";
import type { DispatcherCalls } from "./calling.ts";
import { cutWork, nextOf } from "./due.ts";
import type { Effect, Happening, Work } from "./life.ts";
import type { Notices } from "./notices.ts";
import { askForPlace } from "./place-request.ts";
import type { Presence } from "./presence.ts";
import { putFilesToRest, recordPause } from "./rest.ts";
import type { SessionMail } from "./session-mail.ts";
import type { SessionTasks } from "./session-tasks.ts";

/** Effects that take time. */
type Lasting = Exclude<
  Effect,
  { kind: "look" | "turn_away" | "take_back" | "stop_turn" | "wait" | "stop_waiting" }
>;

/** What belongs to a session that has a process. */
export interface Parts {
  readonly home: Home;
  readonly calls: DispatcherCalls;
  readonly session: Session;
  readonly mail: SessionMail;
  readonly intake: Intake;
  readonly presence: Presence;
  readonly tasks: SessionTasks;
  readonly notices: Notices;
}

export class Effects {
  readonly #parts: Parts;
  readonly #happen: (happening: Happening) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: Parts, happen: (happening: Happening) => void) {
    this.#parts = parts;
    this.#happen = happen;
  }

  /** Resolves when it is done. Work that takes time has only begun by then: its end is a happening. */
  async perform(effect: Effect): Promise<void> {
    const { tasks, intake, mail } = this.#parts;
    switch (effect.kind) {
      case "look":
        tasks.doorway.copyToken();
        return intake.look();
      case "turn_away":
        throw new HoldfastError("not_running", "this process is about to end: the next one takes it in");
      case "take_back":
        return mail.takeBack(effect.request);
      case "stop_turn":
        return tasks.stopTurn(effect.by);
      case "wait":
        // The process that would ring when there is room may have been killed.
        this.#timer = setTimeout(() => this.#happen({ kind: "wait_over" }), effect.timeoutMs);
        return;
      case "stop_waiting":
        return clearTimeout(this.#timer);
      default:
        this.#carryOut(effect).catch((error: unknown) => this.#happen({ kind: "failed", error }));
    }
  }

  async #carryOut(effect: Lasting): Promise<void> {
    const { home, session } = this.#parts;
    switch (effect.kind) {
      case "arrive":
        return this.#arrive();
      case "ask_place":
        return this.#askPlace(effect.work);
      case "drive":
        return this.#drive(effect.work);
      case "give_place_back":
        await this.#givePlaceBack();
        return this.#happen({ kind: "place_given_back" });
      case "rest_files":
        await putFilesToRest(home, session);
        return this.#happen({ kind: "files_at_rest" });
      case "record_pause":
        await recordPause(session, effect.reason);
        return this.#happen({ kind: "pause_recorded" });
      case "leave":
        await this.#leave();
        return this.#happen({ kind: "left" });
    }
  }

  async #arrive(): Promise<void> {
    const { session, mail, intake } = this.#parts;
    await mail.settle();
    await intake.look();
    const cut = await cutWork(session, mail);
    this.#happen({ kind: "arrived", cut, next: nextOf(session) });
  }

  async #askPlace(work: Work): Promise<void> {
    const { home, calls, session, mail } = this.#parts;
    const kind = await askForPlace(home, session, mail, work);
    // Decides which sessions may begin.
    if (kind === "place_denied") calls.call();
    this.#happen({ kind, next: nextOf(session) });
  }

  async #drive(work: Work): Promise<void> {
    const { session, tasks } = this.#parts;
    await tasks.drive(work);
    const isPaused = session.state.status === "paused";
    this.#happen({ kind: "drive_ended", isPaused, next: nextOf(session) });
  }

  /** The next session in the line hears of it. */
  async #givePlaceBack(): Promise<void> {
    const { home, calls, session } = this.#parts;
    if (await leavePlace(home, session.id)) calls.call();
  }

  /** Whatever happened: nothing of this process is left. */
  async #leave(): Promise<void> {
    const { calls, session, mail, presence, tasks, notices } = this.#parts;
    await tasks.doorway.close();
    presence.end();
    await session[Symbol.asyncDispose]().catch(() => {});
    await this.#givePlaceBack();
    await mail.outgoing.callOnce().catch(() => {});
    await calls.done();
    // The session is free by now, and nothing waits for this.
    await tasks.tracesSent();
    await notices.done();
  }
}
