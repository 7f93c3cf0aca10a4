/**
 * Owns a task as the loop that drives it by itself has it: its place of work, its checkpoints, its end.
 */
import type { OutputStream, Workplace } from "../agent/index.ts";
import { HoldfastError } from "../contract/index.ts";
import type { Task } from "../task/index.ts";
import { assertKnown } from "../util/index.ts";
import type { TaskResult } from "./results.ts";
import { resultOf } from "./shape.ts";

/** How a command of a turn ended. */
export interface TurnResult {
  /** Its exit status; null if a signal ended it. */
  readonly exitCode: number | null;
  /** The signal that ended it; null if it exited by itself. */
  readonly signal: string | null;
  /** Whether the turn was ended from outside. */
  readonly isInterrupted: boolean;
}

/** The outcomes with which a loop can end its task. */
export type OwnOutcome = "done" | "failed" | "cancelled";
const OUTCOMES: readonly string[] = ["done", "failed", "cancelled"] satisfies OwnOutcome[];

/** A task of a session that this process owns. */
export class OwnTask {
  readonly #task: Task;

  /** @internal */
  constructor(task: Task) {
    this.#task = task;
  }

  /** Tasks are numbered through a session, from 1. */
  get number(): number {
    return this.#task.number;
  }

  /** The commit that the task began with; null in a repo without one, and without a repo. */
  get base(): string | null {
    return this.#task.base;
  }

  /** Returns the place where an agent works: processes in the sandbox, turns with a checkpoint after each, messages, tools. */
  workplace(): Workplace {
    return this.#task.workplace();
  }

  /** Runs one turn: a command in the sandbox, and a checkpoint after it. All of its processes have ended when this resolves. */
  async runTurn(
    command: readonly string[],
    options: { readonly onOutput?: (chunk: Buffer, stream: OutputStream) => void } = {},
  ): Promise<TurnResult> {
    assertKnown("runTurn", options, ["onOutput"]);
    const { exitCode, signal, isInterrupted } = await this.#task.runTurn(command, options);
    return { exitCode, signal, isInterrupted };
  }

  /** Takes a checkpoint of the files now. Returns the snapshot's commit. */
  async checkpoint(): Promise<string> {
    return (await this.#task.checkpoint()).snapshot.commit;
  }

  /** Ends the task: the checks run, and the work goes to the session's branch if they pass. */
  async end(outcome: OwnOutcome): Promise<TaskResult> {
    if (!OUTCOMES.includes(outcome))
      throw new HoldfastError(
        "invalid_data",
        `end: there is no outcome ${outcome}; the outcomes are ${OUTCOMES.join(", ")}`,
      );
    return resultOf(await this.#task.end(outcome));
  }

  /** Ends all processes of the task, and leaves its files for the next process that continues it. */
  rest(): Promise<void> {
    return this.#task.rest();
  }
}
