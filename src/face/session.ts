/**
 * Owns what can be asked of any session, whether a process has it or not: look, speak, begin and end work, keep it. It
 * owns nothing itself: whatever has to be written, the session's own process writes, or this one as its owner for a moment.
 */
import { closeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Budget, HoldfastError, type JournalRecord, parseSessionId } from "../contract/index.ts";
import { type Dispatcher, Requests } from "../dispatch/index.ts";
import { sessionDirOf } from "../home/index.ts";
import {
  type AiSdkMessage,
  type AnthropicConversation,
  aiSdkForm,
  anthropicForm,
  conversationOf,
  expensesIn,
  type HistoryTurn,
  type ModelMessage,
  type OpenAiMessage,
  openAiForm,
  textIn,
} from "../session/index.ts";
import { readReceipts } from "../task/index.ts";
import { artifactsDir, assertKnown, present } from "../util/index.ts";
import { forkForm, keepForm, messageForm, parseForm, type TaskRequest, taskForm } from "./forms.ts";
import { type SessionRecord, typed } from "./records.ts";
import type {
  Checks,
  Diff,
  Expense,
  OutputPart,
  PersonRequest,
  Queue,
  Sent,
  SessionView,
  Waited,
  WatchEvent,
} from "./results.ts";
import { SessionWork } from "./session-work.ts";
import { specOf } from "./task-asked.ts";
import { viewOf } from "./view.ts";
import { waitFor } from "./waiting.ts";

/** A file that a task left: its patch, its output, the receipts of its checks, its summary and others. */
export interface Artifact {
  readonly task: number;
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

const FORMS = {
  plain: (conversation: ModelMessage[]) => conversation,
  anthropic: anthropicForm,
  openai: openAiForm,
  "ai-sdk": aiSdkForm,
} as const;

/** The form that each name of a form gives a conversation. */
export interface ConversationForms {
  readonly plain: ModelMessage[];
  readonly anthropic: AnthropicConversation;
  readonly openai: OpenAiMessage[];
  readonly "ai-sdk": AiSdkMessage[];
}

/** A session, wherever it runs. Methods fail with a HoldfastError where a failure is to be expected. */
export class SessionHandle extends SessionWork {
  /** @internal */
  constructor(dispatcher: Dispatcher, id: string, user: string) {
    super(dispatcher, id, user);
  }

  /** What is known of the session now. With `task`, what is said of its task is said of that one. */
  async view(options: { readonly task?: number } = {}): Promise<SessionView> {
    assertKnown(options, ["task"]);
    return viewOf(await this.#inner(options));
  }

  /** Its records, oldest first, each once it is durable. */
  async *readJournal(options: { readonly fromSeq?: number } = {}): AsyncGenerator<SessionRecord> {
    assertKnown(options, ["fromSeq"]);
    for await (const record of this.#records(options)) yield typed(record);
  }

  /** Like `readJournal`, and then each record as it becomes durable, until the signal. */
  async *follow(options: {
    readonly fromSeq?: number;
    readonly signal: AbortSignal;
  }): AsyncGenerator<SessionRecord> {
    assertKnown(options, ["fromSeq", "signal"]);
    const following = this.dispatcher.holdfast.followJournal(this.id, { ...this.scope, ...options });
    for await (const record of following) yield typed(record);
  }

  /** Records, output as it is written, and progress of long work, from now on, until the signal or the last process left. */
  async *watch(options: { readonly signal: AbortSignal }): AsyncGenerator<WatchEvent> {
    assertKnown(options, ["signal"]);
    const { records } = await this.view();
    const following = { ...this.scope, fromSeq: records + 1, request: null, signal: options.signal };
    for await (const happening of this.dispatcher.follow(this.id, following))
      yield happening.kind === "record" ? { kind: "record", record: typed(happening.record) } : happening;
  }

  /** The conversation as messages for a model, the open turn included, in the form of a provider. */
  async conversation<F extends keyof ConversationForms = "plain">(
    form: F = "plain" as F,
  ): Promise<ConversationForms[F]> {
    if (!Object.hasOwn(FORMS, form))
      throw new HoldfastError("invalid_data", `form: one of ${Object.keys(FORMS).join(", ")} is needed`);
    const messages = await conversationOf(this.#records(), await this.#inner());
    return FORMS[form](messages) as ConversationForms[F];
  }

  /** The turns that ended, oldest first, with each call and its result. */
  async *turns(): AsyncGenerator<HistoryTurn> {
    yield* this.dispatcher.holdfast.readHistory(this.id, this.scope);
  }

  /** What was spent, one entry for each turn and each metered request: tokens with those of caches, money, model, agent. */
  expenses(): Promise<Expense[]> {
    return expensesIn(this.#records());
  }

  /** What a task wrote: all of it, or what there is of it while it runs. Default: the latest task. */
  async *output(
    options: { readonly task?: number; readonly follow?: boolean; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<OutputPart> {
    assertKnown(options, ["task", "follow", "signal"]);
    const task = options.task ?? (await this.view()).task?.number;
    if (task === undefined) throw new HoldfastError("no_task", `session ${this.id} has had no task yet`);
    yield* this.dispatcher.output(this.id, { ...this.scope, ...options, task });
  }

  /** The files that its tasks left. */
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

  /** The bytes of one of these files. */
  async readArtifact({ task, name }: Pick<Artifact, "task" | "name">): Promise<Buffer> {
    const artifacts = await this.artifacts();
    if (!artifacts.some((one) => one.task === task && one.name === name))
      throw new HoldfastError("artifact_not_found", `session ${this.id} has no artifact ${task}/${name}`);
    const dir = artifactsDir(sessionDirOf(this.dispatcher.home, parseSessionId(this.id)), task);
    return readFile(join(dir, name));
  }

  /** What a task changed, so far or in the end. */
  diff(
    options: {
      readonly task?: number;
      /** Everything since the session began with a clean base. */
      readonly isWhole?: boolean;
      /** Another session of the same repo, or a task of one, to compare with. */
      readonly against?: { readonly session: string; readonly task?: number };
    } = {},
  ): Promise<Diff> {
    assertKnown(options, ["task", "isWhole", "against"]);
    return this.dispatcher.holdfast.diffSession(this.id, { ...this.scope, ...options });
  }

  /** The receipts of a task's checks, and the tree that they have to name to count. Default: the latest task. */
  async checks(options: { readonly task?: number } = {}): Promise<Checks> {
    assertKnown(options, ["task"]);
    const task = options.task ?? (await this.view()).task?.number;
    if (task === undefined) throw new HoldfastError("no_task", `session ${this.id} has had no task yet`);
    const { tree, verification, receipts } = await readReceipts(this.#records(), task);
    return { tree, verdict: verification ? textIn(verification["verdict"]) : null, receipts };
  }

  /** The task that is under way, and those that wait after it. */
  queue(): Promise<Queue> {
    return this.dispatcher.queue(this.id, this.scope);
  }

  /** What waits for a person: approvals and questions, in the order in which they were asked. */
  requests(): Promise<PersonRequest[]> {
    return new Requests(this.dispatcher).of(this.id, this.scope);
  }

  /** Queues a task. It runs in a process of its own, which outlives this one. */
  async run(task: TaskRequest): Promise<{ readonly request: string }> {
    const asked = parseForm(taskForm, task);
    const { spec, options } = await specOf(this.dispatcher, asked, await this.#inner());
    const { request, outputFd } = await this.dispatcher.submit(this.id, spec, { ...this.scope, ...options });
    closeSync(outputFd);
    return { request };
  }

  /** Waits until nothing of the session is under way, or one task is over. Undefined: the signal came first. */
  wait(options: { readonly task?: number; readonly signal?: AbortSignal } = {}): Promise<Waited | undefined> {
    assertKnown(options, ["task", "signal"]);
    const { signal = new AbortController().signal, ...rest } = options;
    return waitFor(this.dispatcher, this.id, { ...this.scope, ...rest, signal });
  }

  /** Sends a message to its agent. It is on disk when this resolves, and is taken in once. */
  send(text: string, options: { readonly id?: string; readonly from?: string } = {}): Promise<Sent> {
    const { id, from } = parseForm(messageForm, { ...options, text });
    return this.dispatcher.send(this.id, text, { ...this.scope, ...present({ id, from }) });
  }

  /** Denies an approval that it asks for. The agent is told the reason. */
  async deny(approval: string, reason: string): Promise<void> {
    await new Requests(this.dispatcher).deny(this.id, approval, reason, this.scope);
  }

  /** Answers a question of its agent. */
  async answer(question: string, text: string): Promise<void> {
    await new Requests(this.dispatcher).answer(this.id, question, text, this.scope);
  }

  /** Ends the turn that it is at. */
  interrupt(): Promise<void> {
    return this.dispatcher.interrupt(this.id, this.scope);
  }

  /** Takes back a task that waits, or ends one that runs or is parked, by its request. */
  async cancel(request: string): Promise<void> {
    await this.dispatcher.cancelByName(this.id, request, this.scope);
  }

  /** Ends its process, if it has one. Everything is kept. */
  pause(): Promise<void> {
    return this.dispatcher.pause(this.id, this.scope);
  }

  /** Starts what it has to do: a task that was cut off or parked, or those that wait. */
  async resume(): Promise<SessionView> {
    await this.dispatcher.resume(this.id, this.scope);
    return this.view();
  }

  /** Adds to the limits of its budget. What the budget had stopped continues. */
  async raiseBudget(amounts: Budget): Promise<SessionView> {
    await this.dispatcher.raiseBudget(this.id, amounts, this.scope);
    return this.view();
  }

  /** Closes it: what runs is ended, and what waits does not begin. */
  close(): Promise<void> {
    return this.dispatcher.close(this.id, this.scope);
  }

  /** Whether retention and gc leave it alone. */
  keep(isKept: boolean): Promise<void> {
    parseForm(keepForm, { isKept });
    return this.dispatcher.keep(this.id, isKept, this.scope);
  }

  /** A new session with its history and files up to a turn. */
  async fork(
    options: { readonly atTurn?: number; readonly title?: string; readonly name?: string } = {},
  ): Promise<SessionHandle> {
    const { atTurn, title, name } = parseForm(forkForm, options);
    const forking = { ...this.scope, ...present({ atTurn, title, name }) };
    const fork = await this.dispatcher.holdfast.forkSession(this.id, forking);
    await fork.release();
    return new SessionHandle(this.dispatcher, fork.id, this.scope.user);
  }

  #inner(options: { readonly task?: number } = {}) {
    return this.dispatcher.show(this.id, { ...this.scope, ...options });
  }

  #records(options: { readonly fromSeq?: number } = {}): AsyncGenerator<JournalRecord> {
    return this.dispatcher.holdfast.readJournal(this.id, { ...this.scope, ...options });
  }
}
