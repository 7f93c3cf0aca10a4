/**
 * Owns a session as the process that drives it has it: what is written to it, its turns, its task, its end. Only the
 * owner can do this, and a session has one owner; what can be asked of any session stands in session.ts.
 */
import {
  type Appended,
  type Budget,
  type EventData,
  HoldfastError,
  type JsonObject,
} from "../contract/index.ts";
import type { Dispatcher } from "../dispatch/index.ts";
import type { BudgetLeft, Session, Turn } from "../session/index.ts";
import { assertKnown } from "../util/index.ts";
import { budgetForm, parseOptions } from "./forms.ts";
import { OwnTask } from "./own-task.ts";
import { type SessionRecord, typed } from "./records.ts";

/** Options for a task that your own loop drives. */
export interface OwnTaskOptions {
  /** What it is about, for the commit of its work. Default: the session's title. */
  readonly asked?: string;
  /** The commit that it begins with. Default: what the session's last task left, else HEAD. */
  readonly base?: string;
  /** Begin with the repo's default base, not with what the last task left. */
  readonly isFresh?: boolean;
  /** The directory of the repo that its commands start in. */
  readonly cwd?: string;
  /** What it may do. Default: the repo's default lane. */
  readonly lane?: string;
  /** Hosts that it may reach in addition to those of its lane. */
  readonly hosts?: readonly string[];
  /** Whether its commands run in a sandbox. Without one, they reach the rest of the machine. Default: true. */
  readonly sandbox?: boolean;
  /** Gets the output of `capsule.setup` while it runs. */
  readonly onSetup?: (chunk: Buffer) => void;
  /** Ends the set-up. */
  readonly signal?: AbortSignal;
}
const OWN_TASK = [
  ...(["asked", "base", "cwd", "hosts", "isFresh"] as const),
  ...(["lane", "onSetup", "sandbox", "signal"] as const),
] satisfies (keyof OwnTaskOptions)[];

/** The events that a harness may append as they are. Holdfast records all others where they happen. */
export type OwnEventType =
  | "context_compacted"
  | "custom"
  | "fact_remembered"
  | "fact_revoked"
  | "task_planned";
const OWN_EVENTS: readonly string[] = [
  ...(["context_compacted", "custom", "fact_remembered"] as const),
  ...(["fact_revoked", "task_planned"] as const),
] satisfies OwnEventType[];

/** A session that this process owns, until it pauses, closes or releases it. */
export class OwnedSession implements AsyncDisposable {
  readonly #dispatcher: Dispatcher;
  readonly #session: Session;

  /** @internal */
  constructor(dispatcher: Dispatcher, session: Session) {
    this.#dispatcher = dispatcher;
    this.#session = session;
  }

  /** The id of the session. */
  get id(): string {
    return this.#session.id;
  }

  /** What a person calls it; null if it has no name. */
  get name(): string | null {
    return this.#session.state.name;
  }

  /** The number of turns that were begun. */
  get turns(): number {
    return this.#session.state.turns;
  }

  /** Appends one record of a type in `OwnEventType`. Resolves when the record is on disk. */
  async append<T extends OwnEventType>(type: T, data: EventData<T>): Promise<Appended> {
    if (!OWN_EVENTS.includes(type))
      throw new HoldfastError(
        "event_reserved",
        `append: a harness can't append ${type}; it can append ${OWN_EVENTS.join(", ")}`,
        { type },
      );
    return this.#session.append(type, data);
  }

  /** Appends an event of your own: a name, and any JSON. */
  note(name: string, data: JsonObject = {}): Promise<Appended> {
    return this.#session.append("custom", { ...data, name });
  }

  /** Begins a turn. Fails with `budget_reached` if nothing is left of the budget. */
  beginTurn(input: string, options: { readonly by?: string } = {}): Promise<Turn> {
    assertKnown("beginTurn", options, ["by"]);
    return this.#session.beginTurn(input, options);
  }

  /** Returns what is left of the budget now, after what the open turn has used. */
  budgetLeft(): BudgetLeft {
    return this.#session.budgetLeft();
  }

  /** Raises limits of the budget by these amounts. Work that the budget had stopped continues. */
  async raiseBudget(amounts: Budget): Promise<void> {
    parseOptions("raiseBudget", budgetForm, amounts);
    await this.#session.raiseOwnBudgetBy(amounts);
  }

  /** Calls `observer` with each record once it is on disk. Call the returned function to stop. */
  observe(observer: (records: readonly SessionRecord[]) => void): () => void {
    return this.#session.observe((records) => observer(records.map(typed)));
  }

  /** Begins a task: a capsule of the session's repo, for turns that work on files. */
  async startTask(options: OwnTaskOptions = {}): Promise<OwnTask> {
    assertKnown("startTask", options, OWN_TASK);
    return new OwnTask(await this.#dispatcher.holdfast.startTask(this.#session, options));
  }

  /** Returns the current task with its files: after a crash, the one that was cut off. */
  async currentTask(): Promise<OwnTask> {
    return new OwnTask(await this.#dispatcher.holdfast.currentTask(this.#session));
  }

  /** Ends an open turn as interrupted, pauses the session, and releases it. */
  pause(): Promise<void> {
    return this.#session.pause();
  }

  /** Closes the session for good, and releases it. */
  close(): Promise<void> {
    return this.#session.close();
  }

  /** Gives up ownership without pausing, so that another process can own the session. */
  release(): Promise<void> {
    return this.#session.release();
  }

  /** Releases the session. If it was at work, it is paused first. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#session[Symbol.asyncDispose]();
  }
}
