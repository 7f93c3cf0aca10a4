/**
 * Owns what can be asked of any session, whether a process has it or not: look, speak, begin and end work, keep it. The
 * session's own process writes what has to be written. If there is none, this process does, as the owner for a moment.
 */
import { closeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Budget, HoldfastError, type JournalRecord, parseSessionId } from "../contract/index.ts";
import { Requests } from "../dispatch/index.ts";
import { sessionDirOf } from "../home/index.ts";
import { conversationOf, expensesIn, type HistoryTurn, textIn } from "../session/index.ts";
import { readReceipts } from "../task/index.ts";
import { artifactsDir, assertKnown, present } from "../util/index.ts";
import { type ConversationForms, conversationForms } from "./conversation.ts";
import { budgetForm, forkForm, keepForm, messageForm, parseOptions, taskForm } from "./forms.ts";
import { giveReach, type Reach, reachOf } from "./reach.ts";
import { type SessionRecord, typed } from "./records.ts";
import type { Diff, OutputPart, Sent, Waited, WatchEvent } from "./results.ts";
import { sendAndWake } from "./sending.ts";
import { SessionWork } from "./session-work.ts";
import { currentOf, diffOf, receiptOf, requestOf, waitedOf, waitingOf } from "./shape.ts";
import { specOf } from "./task-asked.ts";
import type { TaskRequest } from "./task-request.ts";
import { viewOf } from "./view.ts";
import type { Artifact, Checks, Expense, PersonRequest, Queue, SessionView } from "./views.ts";
import { waitFor } from "./waiting.ts";

/** A session, whichever process owns it. A method that fails for an expected reason throws a HoldfastError. */
export class SessionHandle extends SessionWork {
  /** @internal */
  constructor(id: string, reach: Reach) {
    super(id);
    giveReach(this, reach);
  }

  /** Returns the session's current state. With `task`, `view.task` describes that task. */
  async view(options: { readonly task?: number } = {}): Promise<SessionView> {
    assertKnown("view", options, ["task"]);
    return viewOf(await this.#inner(options));
  }

  /** Yields its records, oldest first, each once it is durable. */
  async *readJournal(options: { readonly fromSeq?: number } = {}): AsyncGenerator<SessionRecord> {
    assertKnown("readJournal", options, ["fromSeq"]);
    for await (const record of this.#records(options)) yield typed(record);
  }

  /** Yields what `readJournal` does, then yields each new record once it is durable, until `signal` aborts. */
  async *follow(options: {
    readonly fromSeq?: number;
    readonly signal: AbortSignal;
  }): AsyncGenerator<SessionRecord> {
    assertKnown("follow", options, ["fromSeq", "signal"]);
    const following = this.#dispatcher.holdfast.followJournal(this.id, { ...this.#scope, ...options });
    for await (const record of following) yield typed(record);
  }

  /**
   * Yields, from now on, each new record once it is durable, output as it is written, and the progress of long
   * operations, until `signal` aborts or no process has the session.
   */
  async *watch(options: { readonly signal: AbortSignal }): AsyncGenerator<WatchEvent> {
    assertKnown("watch", options, ["signal"]);
    const { records } = await this.view();
    const following = { ...this.#scope, fromSeq: records + 1, request: null, signal: options.signal };
    for await (const happening of this.#dispatcher.follow(this.id, following))
      yield happening.kind === "record" ? { kind: "record", record: typed(happening.record) } : happening;
  }

  /** Returns the conversation as messages for a model, in the form of a provider. The open turn is included. */
  async conversation<F extends keyof ConversationForms = "plain">(
    form: F = "plain" as F,
  ): Promise<ConversationForms[F]> {
    if (!Object.hasOwn(conversationForms, form))
      throw new HoldfastError(
        "invalid_data",
        `conversation: there is no form ${form}; the forms are ${Object.keys(conversationForms).join(", ")}`,
      );
    const messages = await conversationOf(this.#records(), await this.#inner());
    return conversationForms[form](messages) as ConversationForms[F];
  }

  /** Yields the turns that ended, oldest first, with each call and its result. */
  async *turns(): AsyncGenerator<HistoryTurn> {
    yield* this.#dispatcher.holdfast.readHistory(this.id, this.#scope);
  }

  /** Lists what was spent: one entry for each turn and each metered request, with tokens, money, model and agent. */
  expenses(): Promise<Expense[]> {
    return expensesIn(this.#records());
  }

  /** Yields what a task wrote: all of it or, while the task runs, what it has written so far. Default: the latest task. */
  async *output(
    options: { readonly task?: number; readonly follow?: boolean; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<OutputPart> {
    assertKnown("output", options, ["task", "follow", "signal"]);
    const task = options.task ?? (await this.view()).task?.number;
    if (task === undefined) throw new HoldfastError("no_task", `session ${this.id} has had no task yet`);
    yield* this.#dispatcher.output(this.id, { ...this.#scope, ...options, task });
  }

  /** Lists the files that its tasks left. */
  async artifacts(): Promise<Artifact[]> {
    const found = new Map<string, Artifact>();
    for await (const { type, data } of this.readJournal()) {
      if (type === "session_forked") found.clear();
      if (type !== "artifact_written") continue;
      const { task, name, bytes, sha256 } = data;
      found.set(`${task}/${name}`, { task, name, bytes, sha256 });
    }
    return [...found.values()];
  }

  /** Returns the bytes of one of these files. */
  async readArtifact({ task, name }: Pick<Artifact, "task" | "name">): Promise<Buffer> {
    const artifacts = await this.artifacts();
    if (!artifacts.some((one) => one.task === task && one.name === name))
      throw new HoldfastError("artifact_not_found", `session ${this.id} has no artifact ${task}/${name}`);
    const dir = artifactsDir(sessionDirOf(this.#dispatcher.home, parseSessionId(this.id)), task);
    return readFile(join(dir, name));
  }

  /** Returns what a task changed, so far or in the end. */
  async diff(
    options: {
      /** The task. Default: the latest. */
      readonly task?: number;
      /** Everything since the session began with a clean base. */
      readonly isWhole?: boolean;
      /** Another session of the same repo, or a task of one, to compare with. */
      readonly against?: { readonly session: string; readonly task?: number };
    } = {},
  ): Promise<Diff> {
    assertKnown("diff", options, ["task", "isWhole", "against"]);
    if (options.against) assertKnown("diff.against", options.against, ["session", "task"]);
    return diffOf(await this.#dispatcher.holdfast.diffSession(this.id, { ...this.#scope, ...options }));
  }

  /** Returns the receipts of a task's checks, and the tree that a receipt must name to count. Default: the latest task. */
  async checks(options: { readonly task?: number } = {}): Promise<Checks> {
    assertKnown("checks", options, ["task"]);
    const task = options.task ?? (await this.view()).task?.number;
    if (task === undefined) throw new HoldfastError("no_task", `session ${this.id} has had no task yet`);
    const { tree, verification, receipts } = await readReceipts(this.#records(), task);
    const verdict = verification ? textIn(verification["verdict"]) : null;
    return { tree, verdict, receipts: receipts.map(receiptOf) };
  }

  /** Returns the task that is under way, and those that wait after it. */
  async queue(): Promise<Queue> {
    const { current, waiting } = await this.#dispatcher.queue(this.id, this.#scope);
    return { current: current && currentOf(current), waiting: waiting.map(waitingOf) };
  }

  /** Lists the approvals and questions that wait for a person, in the order in which they were asked. */
  async requests(): Promise<PersonRequest[]> {
    return (await new Requests(this.#dispatcher).of(this.id, this.#scope)).map(requestOf);
  }

  /** Queues a task. It runs in a process of its own, which outlives this one. */
  async run(task: TaskRequest): Promise<{ readonly request: string }> {
    const asked = parseOptions("run", taskForm, task);
    const { spec, options } = await specOf(this.#dispatcher, asked, await this.#inner());
    const { request, outputFd } = await this.#dispatcher.submit(this.id, spec, {
      ...this.#scope,
      ...options,
    });
    closeSync(outputFd);
    return { request };
  }

  /** Waits until the session has nothing left to do, or until one task is over. Returns undefined if the signal aborts first. */
  async wait(
    options: { readonly task?: number; readonly signal?: AbortSignal } = {},
  ): Promise<Waited | undefined> {
    assertKnown("wait", options, ["task", "signal"]);
    const { signal = new AbortController().signal, ...rest } = options;
    const waited = await waitFor(this.#dispatcher, this.id, { ...this.#scope, ...rest, signal });
    return waited && waitedOf(waited);
  }

  /**
   * Sends a message to its agent. It is on disk when this resolves, and is taken in once. A message of the user's wakes a
   * session at rest whose agent is known, unless `wake` is false: then a task begins that continues the agent's
   * conversation. If the agent has ended and its work is still being checked or saved, this waits for that first.
   */
  async send(
    text: string,
    options: { readonly id?: string; readonly from?: string; readonly wake?: boolean } = {},
  ): Promise<Sent> {
    assertKnown("send", options, ["id", "from", "wake"]);
    const message = parseOptions("send", messageForm, { ...options, text });
    return sendAndWake(this.#dispatcher, this.id, message, this.#scope);
  }

  /** Denies an approval. The agent gets the reason. */
  async deny(approval: string, reason: string): Promise<void> {
    await new Requests(this.#dispatcher).deny(this.id, approval, reason, this.#scope);
  }

  /** Answers a question of its agent. */
  async answer(question: string, text: string): Promise<void> {
    await new Requests(this.#dispatcher).answer(this.id, question, text, this.#scope);
  }

  /** Interrupts the current turn. */
  interrupt(): Promise<void> {
    return this.#dispatcher.interrupt(this.id, this.#scope);
  }

  /** Cancels a task by its request: removes a waiting task from the queue, or ends a running or parked one. */
  async cancel(request: string): Promise<void> {
    await this.#dispatcher.cancelByName(this.id, request, this.#scope);
  }

  /** Ends its process, if it has one. Everything is kept. */
  pause(): Promise<void> {
    return this.#dispatcher.pause(this.id, this.#scope);
  }

  /** Starts or continues its tasks: one that was interrupted or parked, or those that wait. */
  async resume(): Promise<SessionView> {
    await this.#dispatcher.resume(this.id, this.#scope);
    return this.view();
  }

  /** Raises limits of the budget by these amounts. Work that the budget had stopped continues. */
  async raiseBudget(amounts: Budget): Promise<void> {
    parseOptions("raiseBudget", budgetForm, amounts);
    await this.#dispatcher.raiseBudget(this.id, amounts, this.#scope);
  }

  /** Closes the session: a running task is ended, and waiting tasks do not begin. */
  close(): Promise<void> {
    return this.#dispatcher.close(this.id, this.#scope);
  }

  /** Sets whether retention and gc leave it alone. */
  keep(isKept: boolean): Promise<void> {
    parseOptions("keep", keepForm, { isKept });
    return this.#dispatcher.keep(this.id, isKept, this.#scope);
  }

  /** Makes a new session with its history and files up to a turn. */
  async fork(
    options: { readonly atTurn?: number; readonly title?: string; readonly name?: string } = {},
  ): Promise<SessionHandle> {
    const { atTurn, title, name } = parseOptions("fork", forkForm, options);
    const forking = { ...this.#scope, ...present({ atTurn, title, name }) };
    const fork = await this.#dispatcher.holdfast.forkSession(this.id, forking);
    await fork.release();
    return new SessionHandle(fork.id, reachOf(this));
  }

  get #dispatcher() {
    return reachOf(this).dispatcher;
  }

  get #scope() {
    return reachOf(this).scope;
  }

  #inner(options: { readonly task?: number } = {}) {
    return this.#dispatcher.show(this.id, { ...this.#scope, ...options });
  }

  #records(options: { readonly fromSeq?: number } = {}): AsyncGenerator<JournalRecord> {
    return this.#dispatcher.holdfast.readJournal(this.id, { ...this.#scope, ...options });
  }
}
