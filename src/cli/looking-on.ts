/**
 * Owns watching a task from a terminal, until the task is over or the person detaches. The first Ctrl-C
 * interrupts the turn; the second detaches, and tells how to come back. Closing the terminal ends no task.
 */
import { exitStatus, HoldfastError, isHoldfastError } from "../contract/index.ts";
import type { Dispatcher, FollowOptions, Happening } from "../dispatch/index.ts";
import { deadline } from "../util/index.ts";
import { HostQuestions } from "./host-questions.ts";
import { progress } from "./progress.ts";
import { RequestQuestions } from "./request-questions.ts";
import { alert, note } from "./screen.ts";
import type { TaskView } from "./task-view.ts";
import { TypedLines } from "./typed-lines.ts";
import type { NamedSession } from "./which-session.ts";

export interface LookOn extends Omit<FollowOptions, "signal"> {
  readonly session: NamedSession;
  readonly user?: string;
  readonly view: TaskView;
  /**
   * Whether the person is asked about hosts that were refused to the task. Not if what is typed is used
   * otherwise.
   */
  readonly mayAsk?: boolean;
  /** What the person types, if it has a use between the questions, too; requests are then asked about. */
  readonly typed?: TypedLines;
}

/** Resolves to the status that the command exits with. */
export async function lookOn(dispatcher: Dispatcher, options: LookOn): Promise<number> {
  const { session, view, mayAsk = false, typed = new TypedLines(), ...follow } = options;
  const { id, label } = session;
  const away = new AbortController();
  const signals = new Interrupts(dispatcher, options, away);
  const about = { ...follow, session: id };
  const hosts = new HostQuestions(dispatcher, about, typed);
  const requests = new RequestQuestions(dispatcher, about, typed);
  const asksRequests = mayAsk || options.typed !== undefined;
  // If the reader of the output closes the pipe, watching goes on: the end of the task is still reported.
  process.stdout.removeAllListeners("error").on("error", () => {});
  let status: number | undefined;
  let failure: unknown;
  // The task was parked, and the person's answer lets it go on. The records of that are still to come.
  let isGoingOn = false;
  try {
    // All records of a new session are still to come.
    if (asksRequests && follow.fromSeq > 0) isGoingOn = await requests.askWaiting(away.signal);
    for await (const happening of dispatcher.follow(id, { ...follow, signal: away.signal })) {
      try {
        const ending = view.show(happening);
        if (!isGoingOn) status = ending?.status ?? status;
        if (ending) alert(`holdfast: ${label}: ${ending.title}`);
        if (isRecord(happening, "task_unparked")) isGoingOn = false;
        if (mayAsk && happening.kind === "refused") await hosts.ask(happening.host, away.signal);
        const asked = asksRequests ? requestIn(happening) : undefined;
        if (asked !== undefined && (await requests.ask(asked, away.signal))) isGoingOn = true;
      } catch (error) {
        failure = error;
        alert(`holdfast: ${label}: failed`);
      }
      const isOver = status !== undefined || failure !== undefined;
      // After a pause no more records come, because the session process is ending. Until then it may go on
      // with the next task.
      if (isOver && (isPause(happening) || isNextTask(happening, follow.request))) break;
    }
  } finally {
    progress.end();
    signals.close();
    typed.close();
  }
  if (failure !== undefined) throw failure;
  if (away.signal.aborted && status === undefined) {
    note(
      `The task is still running. Watch it: holdfast attach ${label}. Its history: holdfast log ${label}.`,
    );
    // The task is not done, so the status must not say so.
    return exitStatus.interrupted;
  }
  if (status !== undefined) return status;
  if (await isAtRest(dispatcher, options)) {
    note(
      `The session was paused or closed; its queued tasks will wait. To continue: holdfast resume ${label}`,
    );
    return exitStatus.interrupted;
  }
  throw new HoldfastError("process_lost", `the process of session ${label} ended before its task did`);
}

/**
 * Whether the session was paused or closed: first its process or its place in line goes, then the record
 * follows.
 */
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

const isRecord = (happening: Happening, ...types: string[]) =>
  happening.kind === "record" && types.includes(happening.record.type);

const isPause = (happening: Happening) => isRecord(happening, "session_paused", "session_closed");

function requestIn(happening: Happening): string | undefined {
  if (happening.kind !== "record") return undefined;
  const { type, data } = happening.record;
  if (type === "approval_requested") return String(data["approval"]);
  return type === "question_asked" ? String(data["question"]) : undefined;
}

const isNextTask = (happening: Happening, request: string | null) =>
  request !== null && isRecord(happening, "task_started");

const GO_AWAY = ["SIGTERM", "SIGHUP"] as const;

class Interrupts {
  readonly #dispatcher: Dispatcher;
  readonly #options: LookOn;
  readonly #away: AbortController;
  #count = 0;
  readonly #onInterrupt = () => {
    this.#count += 1;
    if (this.#count > 1) return this.#away.abort();
    note("interrupting the turn; press Ctrl-C again to detach and leave it running");
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
