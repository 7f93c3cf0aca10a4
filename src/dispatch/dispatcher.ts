/**
 * Owns the dispatcher's face: the one thing that talks to all sessions, through their directories. It lives in each
 * call of the command line and in `serve`; it may be killed at any moment, and no session notices.
 */
import { resolve } from "node:path";
import { noRepoDir, openRepo, type Repo, type Unseen } from "../capsule/index.ts";
import {
  assertValues,
  HoldfastError,
  isHoldfastError,
  type Json,
  parseSessionId,
  parseTaskSpec,
  type SessionId,
  type TaskSpec,
  type Values,
} from "../contract/index.ts";
import {
  asFailure,
  type FoundSession,
  findSession,
  type HoldfastOptions,
  type Home,
  listSessionIdsNow,
  type NewSession,
  openHome,
  type ProcessRecord,
  type ResumeOptions,
  readProcessRecord,
  repoPathOf,
  revokeToken,
  rotateToken,
  type SessionFilter,
  type SessionSummary,
  sessionDirOf,
} from "../home/index.ts";
import { CutOutput, readRefusals } from "../host/index.ts";
import { probeOwner } from "../journal/index.ts";
import { Holdfast } from "../library/index.ts";
import { enterLine, type Limits, type Place, readLimits, readPlace, writeLimits } from "../line/index.ts";
import { idOf, type Maildir } from "../mail/index.ts";
import { redactingValues, secretsIn, shortened, withoutSecrets } from "../redaction/index.ts";
import {
  findLastRecord,
  inspectSession,
  type Session,
  type SessionState,
  workDue,
} from "../session/index.ts";
import { assertWhole } from "../task/index.ts";
import type { Archived, Removal, RemovalOptions } from "../upkeep/index.ts";
import { deadline, isPlainObject, present, shellText } from "../util/index.ts";
import { deliverOutboxes } from "./carrying.ts";
import { Ears } from "./ears.ts";
import { type FollowOptions, followSession, type Happening } from "./following.ts";
import { type OutputOptions, type OutputPart, readOutput } from "./output.ts";
import {
  firstTaskIn,
  inboxOf,
  ringSession,
  type SendOptions,
  type Sent,
  sendMessage,
  takeBackTasks,
} from "./post.ts";
import { type Cancelled, cancelByName, type Queue, readQueue } from "./queueing.ts";
import { makeReady, whenLeft, whenSettled } from "./readiness.ts";
import { type Settled, settleSpec } from "./settling.ts";
import { askForShell } from "./shell.ts";
import { type Stand, standOf } from "./standing.ts";
import { startUntil, startWaiting } from "./starting.ts";
import { askToKeep, cancelTask, interruptTurn, type StopOptions, stopProcess } from "./stopping.ts";
import { type SubmitOptions, type Submitted, submitFirstTask, submitTask } from "./submitting.ts";
import { type Typed, type TypeOptions, typeText } from "./typing.ts";
import { assertCanRetry, type UnderWay, underWay } from "./under-way.ts";

/** A session as it is shown, in every place that shows one. */
export interface SessionView extends SessionSummary, Stand {
  /** Why it waits in the line, if it does. */
  readonly waits: string | null;
  /** What lies in its inbox and was not taken in. */
  readonly inbox: number;
  /** Requests at its door that had not its token. */
  readonly refused: number;
}

/** A task that was asked for. */
export interface Asked extends Submitted {
  /** What it does not see of the checkout that it begins with, as far as that is known. */
  readonly unseen: () => Promise<Unseen | undefined>;
}

export interface Resumed {
  readonly state: SessionState;
  readonly recovery: Session["recovery"];
  /** `there`: it was not gone. `in line`: it is started when there is room. `none`: there is nothing to do for one. */
  readonly process: "started" | "there" | "in line" | "none";
}

const STOP_MS = 5000;

interface Scope {
  readonly user?: string;
}

/** As it goes on record: with the names of its variables, all of which are given. */
function withNames(spec: TaskSpec, env: Values = {}): TaskSpec {
  assertValues(env);
  const missing = spec.env?.find((name) => !Object.hasOwn(env, name));
  if (missing !== undefined)
    throw new HoldfastError("env_missing", `${missing} has no value`, { name: missing });
  const names = Object.keys(env);
  return parseTaskSpec({ ...spec, ...(names.length > 0 && { env: names }) });
}

export class Dispatcher {
  readonly #home: Home;
  /** All that needs no process. */
  readonly holdfast: Holdfast;

  private constructor(home: Home) {
    this.#home = home;
    this.holdfast = new Holdfast(home);
  }

  static async open(options: HoldfastOptions = {}): Promise<Dispatcher> {
    return new Dispatcher(await openHome(options));
  }

  get home(): Home {
    return this.#home;
  }

  /** Queues a task in a session, and starts its process or puts it in the line. */
  async submit(id: string, spec: TaskSpec, options: SubmitOptions & Scope = {}): Promise<Asked> {
    const found = await this.#find(id, options);
    const { state } = await inspectSession(found.dir);
    const path = repoPathOf(this.#home, state);
    if (path === null)
      throw new HoldfastError(
        "no_repo",
        "the session was imported without its repo, so no task can be run in it",
      );
    const open = () => this.#open(path);
    const request = { session: found.id, path, open, isFirst: !state.task?.snapshot };
    const settled = await settleSpec(this.#home, withNames(spec, options.env), request, options);
    const submitted = await submitTask(this.#home, found, settled.spec, options);
    return { ...submitted, unseen: settled.unseen };
  }

  /** A new session, with its first task; without a repo, in an empty capsule. */
  async begin(
    session: NewSession,
    spec: TaskSpec,
    options: SubmitOptions = {},
  ): Promise<Asked & { readonly id: string; readonly name: string | null; readonly user: string }> {
    const { repo } = session;
    const asked = withNames(spec, options.env);
    let unseen: Settled["unseen"] = async () => undefined;
    const describe = async (id: SessionId) => {
      const opened = await this.#open(repo === undefined ? noRepoDir(this.#home) : resolve(repo));
      // By the name that the session will know it by.
      const path = opened.checkout ?? opened.gitDir;
      const request = { session: id, path, open: async () => opened, isFirst: true };
      const settled = await settleSpec(this.#home, asked, request, options);
      unseen = settled.unseen;
      const without = await this.#withoutValues(session, options);
      return { session: { ...without, ...(repo !== undefined && { repo: path }) }, spec: settled.spec };
    };
    const { found, ...task } = await submitFirstTask(this.#home, describe, asked.definition, options);
    return { ...task, id: found.id, user: found.user, unseen };
  }

  /** Its title and its name are on record before it has a directory, and so before its values lie anywhere. */
  async #withoutValues(
    { title, nameFrom, ...session }: NewSession,
    { env = {} }: SubmitOptions,
  ): Promise<NewSession> {
    const secrets = secretsIn(env);
    const redact = redactingValues(this.#home.ports.redact, () => secrets);
    const without = async (text: string | undefined) =>
      text === undefined ? undefined : withoutSecrets(redact, shortened(text, text.length, secrets));
    return { ...session, ...present({ title: await without(title), nameFrom: await without(nameFrom) }) };
  }

  async #open(path: string): Promise<Repo> {
    try {
      return await openRepo(this.#home, path);
    } catch (error) {
      throw asFailure(error, this.#home.dir);
    }
  }

  /** The last task of a session, to run again: from the same base, in a fresh capsule. Not while others come first. */
  async specOfLastTask(id: string, scope: Scope = {}): Promise<TaskSpec> {
    const found = await this.#find(id, scope);
    await assertCanRetry(this.#home, found);
    const { state } = await inspectSession(found.dir);
    const find = (type: string, key: string, value: unknown) =>
      findLastRecord(found.dir, (record) => record.type === type && record.data[key] === value);
    const begun = state.task && (await find("task_started", "task", state.task.number));
    const request = begun?.data["request"];
    if (!state.task || !begun || request === undefined)
      throw new HoldfastError("no_task", `session ${found.id} has no task that could be run again`);
    const queued = await find("task_queued", "request", request);
    if (!queued)
      throw new HoldfastError("no_task", `the last task of session ${found.id} is not on record whole`);
    assertWhole(queued);
    const spec = parseTaskSpec(queued.data["spec"]);
    // Another session's, or from another home: it was asked for there, by somebody else perhaps.
    if (state.task.request === null && !spec.sandbox)
      throw new HoldfastError("no_task", "the last task ran without a sandbox where it was asked for");
    const { base, snapshot, home, carried } = begun.data;
    // It begins where it began, whatever that was called then.
    return parseTaskSpec(present({ ...spec, isFresh: undefined, base, snapshot, home, carried }));
  }

  async send(id: string, text: string, options: SendOptions & Scope = {}): Promise<Sent> {
    const found = await this.#find(id, options);
    if (options.from !== undefined) await this.#find(options.from, options);
    return sendMessage(this.#home, found, text, options);
  }

  /** Types a text into its terminal, as a person there would. */
  async type(id: string, text: string, options: TypeOptions & Scope = {}): Promise<Typed> {
    const found = await this.#find(id, options);
    if (options.from !== undefined) await this.#find(options.from, options);
    return typeText(this.#home, found, text, options);
  }

  async interrupt(id: string, scope: Scope = {}): Promise<void> {
    return interruptTurn(this.#home, await this.#find(id, scope));
  }

  /** Takes a task back that has not begun, or interrupts it. */
  async cancel(id: string, request: string, scope: Scope = {}): Promise<void> {
    return cancelTask(this.#home, await this.#find(id, scope), request);
  }

  /** A shell beside the command that a session runs; the socket of its terminal. */
  async openShell(id: string, command: readonly string[], scope: Scope = {}): Promise<string> {
    return askForShell(this.#home, await this.#find(id, scope), command);
  }

  /** What was run last, or last in a task, without secrets; null where nothing was. */
  async lastCommand(id: string, options: Scope & { readonly task?: number } = {}): Promise<string | null> {
    const { dir } = await this.#find(id, options);
    let current: Json = null;
    const begun = await findLastRecord(dir, ({ type, data }) => {
      if (type === "task_started") current = data["task"] ?? null;
      return type === "turn_started" && (options.task === undefined || options.task === current);
    });
    const input = begun?.data["input"];
    const command = isPlainObject(input) ? input["command"] : undefined;
    return Array.isArray(command) ? shellText(command.map(String)) : null;
  }

  /** What waits in it, in the order of beginning. */
  async queue(id: string, scope: Scope = {}): Promise<Queue> {
    return readQueue(this.#home, await this.#find(id, scope));
  }

  /** The same as `cancel`, by the end of a request. */
  async cancelByName(id: string, name: string, scope: Scope = {}): Promise<Cancelled> {
    return cancelByName(this.#home, await this.#find(id, scope), name);
  }

  sessionIds(): string[] {
    return listSessionIdsNow(this.#home);
  }

  /** The process that has a session now. */
  processOf(id: string): ProcessRecord | undefined {
    return readProcessRecord(sessionDirOf(this.#home, parseSessionId(id)));
  }

  /** Its place in the line, if it has one. */
  placeOf(id: string): Place | undefined {
    return readPlace(this.#home, parseSessionId(id));
  }

  /** Resolves when no session process has it. Says whether one had. */
  async stop(id: string, options: Scope & StopOptions = {}): Promise<boolean> {
    return stopProcess(this.#home, await this.#find(id, options), options);
  }

  /** Makes a session ready, and starts its process if there is something to do. One that goes on goes on. */
  async resume(id: string, options: ResumeOptions = {}): Promise<Resumed> {
    const found = await this.#find(id, options);
    if (!options.takeOver) await whenLeft(this.#home, found);
    // One that is being killed may still have its pid, but not its session.
    const isThere = readProcessRecord(found.dir) && probeOwner(found.dir).held;
    if (isThere && !options.takeOver && !options.budget) {
      const { state } = await inspectSession(found.dir);
      return { state, process: "there", recovery: { tornBytes: 0, brokenFile: undefined } };
    }
    const cut = new CutOutput(found.dir);
    const session = await this.holdfast.resumeSession(id, { outputOfCut: cut.read, ...options });
    await cut.settle(this.#home, session).finally(() => session.release());
    const { state, recovery, position } = session;
    const spec = await this.#nextSpec(found, state);
    if (!spec) return { state, recovery, process: "none" };
    const wish = { session: found.id, definition: spec.definition, priority: 0 };
    // Every owner begins a segment of its own.
    const isStarted = async () => (await inspectSession(found.dir)).position.segment > position.segment;
    await startUntil(this.#home, found, wish, isStarted);
    const isInLine = this.placeOf(found.id)?.state === "waiting";
    return { state, recovery, process: isInLine ? "in line" : "started" };
  }

  /** Puts a session in the line that is at rest, for what lies in its inbox. */
  async wake(id: string, options: Scope & { readonly definition: string }): Promise<void> {
    await makeReady(this.#home, await this.#find(id, options));
    await this.enter(id, options);
  }

  /** Puts a session in the line, for what it has to do. */
  async enter(
    id: string,
    options: Scope & { readonly by?: string; readonly definition?: string },
  ): Promise<void> {
    const found = await this.#find(id, options);
    const { state } = await inspectSession(found.dir);
    const definition = options.definition ?? (await this.#nextSpec(found, state))?.definition ?? "unknown";
    await enterLine(this.#home, {
      session: found.id,
      definition,
      priority: state.queue[0]?.priority ?? 0,
      by: options.by ?? null,
    });
  }

  /** Whether retention and gc leave it alone. One that runs writes that down itself. */
  async keep(id: string, isKept: boolean, scope: Scope = {}): Promise<void> {
    try {
      await this.holdfast.keepSession(id, isKept, scope);
    } catch (error) {
      if (!isHoldfastError(error, "session_owned")) throw error;
      await askToKeep(this.#home, await this.#find(id, scope), isKept);
    }
  }

  /** Ends its process, if it has one; what it did is kept. */
  async pause(id: string, options: Scope & StopOptions = {}): Promise<void> {
    await this.withoutProcess(id, options, async () => {
      const { status } = await this.holdfast.showSession(id, options);
      // Also where its process paused it before it went.
      if (status !== "paused") await this.holdfast.pauseSession(id, options);
    });
  }

  /** What waits in it will not begin. */
  async close(id: string, options: Scope & StopOptions = {}): Promise<void> {
    await this.withoutProcess(id, options, () => this.holdfast.closeSession(id, options));
    const { dir } = await this.#find(id, options);
    await takeBackTasks(this.#home, dir);
  }

  archive(id: string, options: Scope & StopOptions = {}): Promise<Archived> {
    return this.withoutProcess(id, options, () => this.holdfast.archiveSession(id, options));
  }

  /** For good. What still runs is ended first, unless it is refused before. */
  async remove(id: string, options: Scope & StopOptions & RemovalOptions = {}): Promise<Removal> {
    const { onWait: _, ...removal } = options;
    await this.holdfast.planRemoval(id, removal);
    return this.#afterStop(id, options, () => this.holdfast.removeSession(id, removal));
  }

  /** What would be cut off, or would not begin, if its process were ended now. */
  async underWay(id: string, scope: Scope = {}): Promise<UnderWay> {
    return underWay(this.#home, await this.#find(id, scope));
  }

  /** What still runs is ended first, and kept. */
  withoutProcess<T>(id: string, options: Scope & StopOptions, work: () => Promise<T>): Promise<T> {
    return this.#afterStop(id, options, async () => {
      await this.#closeCutTurn(id, options);
      return work();
    });
  }

  /** Just when its process has ended, another one may have taken its place: that is ended, too. */
  async #afterStop<T>(id: string, options: Scope & StopOptions, work: () => Promise<T>): Promise<T> {
    for (const patience = deadline(this.home.ports.clock, STOP_MS); ; ) {
      await this.stop(id, options);
      try {
        return await work();
      } catch (error) {
        if (!isHoldfastError(error, "session_owned") || patience.isPast) throw error;
      }
      await whenSettled(this.#home, await this.#find(id, options));
    }
  }

  /** Whoever is the next to own a session that crashed closes its turn: with the output that is there. */
  async #closeCutTurn(id: string, scope: Scope): Promise<void> {
    const { dir } = await this.#find(id, scope);
    const { state } = await inspectSession(dir);
    if (!state.openTurn) return;
    const cut = new CutOutput(dir);
    const session = await this.holdfast.resumeSession(id, {
      ...present({ user: scope.user }),
      files: false,
      outputOfCut: cut.read,
    });
    await cut.settle(this.#home, session).finally(() => session.release());
  }

  /** What is known of a session, its place in the line and its door included. */
  async show(id: string, options: Scope & { readonly task?: number } = {}): Promise<SessionView> {
    return this.#view(await this.holdfast.showSession(id, options));
  }

  async list(filter: SessionFilter = {}): Promise<SessionView[]> {
    return Promise.all((await this.holdfast.listSessions(filter)).map((one) => this.#view(one)));
  }

  async #view(summary: SessionSummary): Promise<SessionView> {
    const place = this.placeOf(summary.id);
    const dir = sessionDirOf(this.#home, parseSessionId(summary.id));
    const lying = await inboxOf(this.#home, dir).waiting();
    // Whether somebody has taken it in makes no difference to who waits for an answer.
    const unread = summary.unread + lying.filter((name) => idOf(name).startsWith("msg_")).length;
    const waits = place?.state === "waiting" ? (place.reason ?? "it is about to begin") : null;
    const stand = standOf({ ...summary, waits });
    return { ...summary, ...stand, unread, waits, inbox: lying.length, refused: readRefusals(dir) };
  }

  /** For all sessions of the home together. What is given is kept until it is given again; null lifts it. */
  async limit(limits: Partial<Limits>): Promise<void> {
    if (Object.keys(limits).length > 0)
      await writeLimits(this.#home, { ...(await readLimits(this.#home)), ...limits });
  }

  limits(): Promise<Limits> {
    return readLimits(this.#home);
  }

  inboxOf(id: string): Maildir {
    return inboxOf(this.#home, sessionDirOf(this.#home, parseSessionId(id)));
  }

  /** What waits in its queue or its inbox, or was cut off. */
  async #nextSpec(found: FoundSession, state: SessionState): Promise<TaskSpec | undefined> {
    const due = workDue(state);
    // What can only be ended needs no room: the one behind it does.
    const request = due.kind === "end" ? state.queue[0]?.request : due.request;
    if (!request) return firstTaskIn(inboxOf(this.#home, found.dir));
    const queued = await findLastRecord(
      found.dir,
      ({ type, data }) => type === "task_queued" && data["request"] === request,
    );
    return queued && parseTaskSpec(queued.data["spec"]);
  }

  /** What a task wrote: whole, or what is there of it. */
  async *output(id: string, options: OutputOptions & Scope): AsyncGenerator<OutputPart> {
    yield* readOutput(this.#home, await this.#find(id, options), options);
  }

  async *follow(id: string, options: FollowOptions & Scope): AsyncGenerator<Happening> {
    yield* followSession(this.#home, await this.#find(id, options), options);
  }

  /** Hears when it may be time to look at a session again. The caller closes it. */
  async listen(id: string, scope: Scope = {}): Promise<Ears> {
    return new Ears(this.#home, await this.#find(id, scope));
  }

  /** Its process reads the new one at once; whoever has the old one is out. */
  async rotateToken(id: string, scope: Scope = {}): Promise<void> {
    const { dir } = await this.#find(id, scope);
    await rotateToken(this.#home.ports.disk, dir);
    await ringSession(dir);
  }

  async revokeToken(id: string, scope: Scope = {}): Promise<void> {
    const { dir } = await this.#find(id, scope);
    await revokeToken(this.#home.ports.disk, dir);
    await ringSession(dir);
  }

  /** What is due: those in the line begun, messages carried. Says whether there are more of these. */
  async look(): Promise<boolean> {
    let isMore = false;
    try {
      await startWaiting(this.#home);
    } finally {
      isMore = await deliverOutboxes(this.#home);
    }
    return isMore;
  }

  #find(id: string, { user }: Scope): Promise<FoundSession> {
    return findSession(this.#home, id, ...(user === undefined ? [] : [user]));
  }
}
