/**
 * Owns looking on from a terminal: until the task is over, or until the person has seen enough. The first Ctrl-C
 * interrupts the turn, the second goes away and says how to come back. A terminal that closes kills nothing.
 */
import { exitStatus, HoldfastError, isHoldfastError } from "../contract/index.ts";
import type { Dispatcher, FollowOptions, Happening } from "../dispatch/index.ts";
import { deadline } from "../util/index.ts";
import { HostQuestions } from "./host-questions.ts";
import { progress } from "./progress.ts";
import { note } from "./screen.ts";
import type { TaskView } from "./task-view.ts";
import type { NamedSession } from "./which-session.ts";

export interface LookOn extends Omit<FollowOptions, "signal"> {
  readonly session: NamedSession;
  readonly user?: string;
  readonly view: TaskView;
  /** Whether the person is asked about hosts that the task was kept from: not where what is typed goes elsewhere. */
  readonly mayAsk?: boolean;
}

/** The status that the command ends with. */
export async function lookOn(dispatcher: Dispatcher, options: LookOn): Promise<number> {
  const { session, view, mayAsk = false, ...follow } = options;
  const { id, label } = session;
  const away = new AbortController();
  const signals = new Interrupts(dispatcher, options, away);
  const questions = new HostQuestions(dispatcher, { ...follow, session: id });
  // A reader that has seen enough is no reason to stop looking: the task's end is still to be reported.
  process.stdout.removeAllListeners("error").on("error", () => {});
  let status: number | undefined;
  let failure: unknown;
  try {
    for await (const happening of dispatcher.follow(id, { ...follow, signal: away.signal })) {
      try {
        status = view.show(happening)?.status ?? status;
        if (mayAsk && happening.kind === "refused") await questions.ask(happening.host, away.signal);
      } catch (error) {
        failure = error;
      }
      const isOver = status !== undefined || failure !== undefined;
      // Nothing comes behind a pause: its process is on its way out. Until then it may go on with the next task.
      if (isOver && (isPause(happening) || isNextTask(happening, follow.request))) break;
    }
  } finally {
    progress.end();
    signals.close();
    questions.close();
  }
  if (failure !== undefined) throw failure;
  if (away.signal.aborted && status === undefined) {
    note(`left to itself: holdfast attach ${label} comes back, holdfast log ${label} tells`);
    // Not done: whoever waits for that must not take it for it.
    return exitStatus.interrupted;
  }
  if (status !== undefined) return status;
  if (await isAtRest(dispatcher, options)) {
    note(`the session was paused or closed; what has not begun waits in it: holdfast resume ${label}`);
    return exitStatus.interrupted;
  }
  throw new HoldfastError("process_lost", `the process of session ${label} ended before the task did`);
}

/** Whether somebody has paused or closed it: first its process or its place goes, then that is on record. */
async function isAtRest(dispatcher: Dispatcher, { session, user }: LookOn): Promise<boolean> {
  const scope = user === undefined ? {} : { user };
  const ears = await dispatcher.listen(session.id, scope);
  try {
    for (const patience = deadline(dispatcher.home.io.clock, ON_RECORD_MS); ; await ears.next()) {
      const { status } = await dispatcher.holdfast.showSession(session.id, scope);
      if (status === "paused" || status === "closed") return true;
      if (patience.isPast) return false;
    }
  } finally {
    ears.close();
  }
}

const ON_RECORD_MS = 300;

const isPause = (happening: Happening) =>
  happening.kind === "record" && ["session_paused", "session_closed"].includes(happening.record.type);

const isNextTask = (happening: Happening, request: string | null) =>
  request !== null && happening.kind === "record" && happening.record.type === "task_started";

const GO_AWAY = ["SIGTERM", "SIGHUP"] as const;

class Interrupts {
  readonly #dispatcher: Dispatcher;
  readonly #options: LookOn;
  readonly #away: AbortController;
  #count = 0;
  readonly #onInterrupt = () => {
    this.#count += 1;
    if (this.#count > 1) return this.#away.abort();
    note("interrupting the turn; Ctrl-C again goes away and leaves it to itself");
    this.#interrupt().catch((error: unknown) => note(error instanceof Error ? error.message : String(error)));
  };
  readonly #onLeave = () => this.#away.abort();

  constructor(dispatcher: Dispatcher, options: LookOn, away: AbortController) {
    this.#dispatcher = dispatcher;
    this.#options = options;
    this.#away = away;
    process.on("SIGINT", this.#onInterrupt);
    for (const signal of GO_AWAY) process.on(signal, this.#onLeave);
  }

  async #interrupt(): Promise<void> {
    const { session, user, request } = this.#options;
    const scope = user === undefined ? {} : { user };
    if (request !== null) return this.#dispatcher.cancel(session.id, request, scope);
    await this.#dispatcher.interrupt(session.id, scope).catch((error: unknown) => {
      if (!isHoldfastError(error, "not_running")) throw error;
    });
  }

  close(): void {
    process.off("SIGINT", this.#onInterrupt);
    for (const signal of GO_AWAY) process.off(signal, this.#onLeave);
  }
}
