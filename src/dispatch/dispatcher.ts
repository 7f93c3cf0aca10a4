import { type Budget, isHoldfastError, parseSessionId, type TaskSpec } from "../contract/index.ts";
import {
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
  revokeToken,
  rotateToken,
  sessionDirOf,
} from "../home/index.ts";
import type { LaneChoice } from "../lane/index.ts";
import { LocalHome } from "../library/index.ts";
import { type HomeLimits, type Place, readLimits, readPlace, writeLimits } from "../line/index.ts";
import type { Maildir } from "../mail/index.ts";
import type { Archived, Removal, RemovalOptions } from "../upkeep/index.ts";
import { type Allowed, allowHost } from "./allowing.ts";
import { type Asked, type AskedFirst, askFirstTask, askTask } from "./asking.ts";
import { type Raised, raiseBudget } from "./budgeting.ts";
import { deliverOutboxes } from "./carrying.ts";
import { Ears } from "./ears.ts";
import { type FollowOptions, followSession, type Happening } from "./following.ts";
import { type Conversed, lastCommand, lastConversed, type TaskAgain, taskAgain } from "./last-task.ts";
import { type OutputOptions, type OutputPart, readOutput } from "./output.ts";
import { bringKeysAgain } from "./own-keys.ts";
import { inboxOf, ringSession, type SendOptions, type Sent, sendMessage, takeBackTasks } from "./post.ts";
import { type Cancelled, cancelByName, type Queue, readQueue } from "./queueing.ts";
import { makeReady } from "./readiness.ts";
import { type EnterOptions, enterForWork, type Resumed, resumeProcess } from "./resuming.ts";
import { askForShell } from "./shell.ts";
import { startWaiting } from "./starting.ts";
import { askToKeep, cancelTask, interruptTurn, type StopOptions, stopProcess } from "./stopping.ts";
import type { SubmitOptions } from "./submitting.ts";
import { type Typed, type TypeOptions, typeText } from "./typing.ts";
import { type UnderWay, underWay } from "./under-way.ts";
import { goesOnByItself, pauseParked, unparkForWork } from "./unparking.ts";
import { type ListFilter, type SessionView, viewOf, viewsOf } from "./viewing.ts";
import { afterStop, withoutProcess } from "./without-process.ts";

interface Scope {
  readonly user?: string;
}

export class Dispatcher {
  readonly #home: Home;
  /** Everything that needs no session process. */
  readonly holdfast: LocalHome;

  private constructor(home: Home) {
    this.#home = home;
    this.holdfast = new LocalHome(home);
  }

  static async open(options: HoldfastOptions = {}): Promise<Dispatcher> {
    return new Dispatcher(await openHome(options));
  }

  get home(): Home {
    return this.#home;
  }

  /** Queues a task in a session, and starts its process or puts it in the line. */
  async submit(id: string, spec: TaskSpec, options: SubmitOptions & Scope = {}): Promise<Asked> {
    return askTask(this.#home, await this.#find(id, options), spec, options);
  }

  /** Opens a new session with its first task. Without a repo, the task gets an empty capsule. */
  begin(session: NewSession, spec: TaskSpec, options: SubmitOptions = {}): Promise<AskedFirst> {
    return askFirstTask(this.#home, session, spec, options);
  }

  /** The last task, to run again: from its base, in a fresh capsule. Refused while others come first. */
  async lastTaskAgain(id: string, options: Scope & LaneChoice = {}): Promise<TaskAgain> {
    return taskAgain(this.#home, await this.#find(id, options), options);
  }

  async lastConversed(id: string, options: Scope = {}): Promise<Conversed | undefined> {
    return lastConversed(await this.#find(id, options));
  }

  async send(id: string, text: string, options: SendOptions & Scope = {}): Promise<Sent> {
    const found = await this.#find(id, options);
    if (options.from !== undefined) await this.#find(options.from, options);
    return sendMessage(this.#home, found, text, options);
  }

  /** Types a text into the session's terminal, as a person there would. */
  async type(id: string, text: string, options: TypeOptions & Scope = {}): Promise<Typed> {
    const found = await this.#find(id, options);
    if (options.from !== undefined) await this.#find(options.from, options);
    return typeText(this.#home, found, text, options);
  }

  async interrupt(id: string, scope: Scope = {}): Promise<void> {
    return interruptTurn(this.#home, await this.#find(id, scope));
  }

  /** Cancels a task that has not begun, or interrupts it. */
  async cancel(id: string, request: string, scope: Scope = {}): Promise<void> {
    return cancelTask(this.#home, await this.#find(id, scope), request);
  }

  /** Opens a shell beside the running command of a session, and returns the socket of its terminal. */
  async openShell(id: string, command: readonly string[], scope: Scope = {}): Promise<string> {
    return askForShell(this.#home, await this.#find(id, scope), command);
  }

  /** Lets the running task of a session reach a host, until the task ends. */
  async allowHost(id: string, host: string, scope: Scope = {}): Promise<Allowed> {
    return allowHost(this.#home, await this.#find(id, scope), host);
  }

  /** The last command of the session or of one task, without secrets; null if there was none. */
  async lastCommand(id: string, options: Scope & { readonly task?: number } = {}): Promise<string | null> {
    return lastCommand((await this.#find(id, options)).dir, options.task);
  }

  /** The tasks that wait in the session, in the order in which they will begin. */
  async queue(id: string, scope: Scope = {}): Promise<Queue> {
    return readQueue(this.#home, await this.#find(id, scope));
  }

  /** The same as `cancel`, with the end of a request's id. */
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

  /** The session's place in the line, if it has one. */
  placeOf(id: string): Place | undefined {
    return readPlace(this.#home, parseSessionId(id));
  }

  /** Resolves when no session process has the session any more, to whether one had it. */
  async stop(id: string, options: Scope & StopOptions = {}): Promise<boolean> {
    return stopProcess(this.#home, await this.#find(id, options), options);
  }

  /** Makes a session ready, and starts its process if there is work. A running session goes on. */
  async resume(id: string, options: ResumeOptions = {}): Promise<Resumed> {
    return resumeProcess(this.#home, this.holdfast, await this.#goingOn(id, options), options);
  }

  /** Adds to the limits of the session's budget, also while it runs. What the budget had stopped goes on. */
  async raiseBudget(id: string, amounts: Budget, scope: Scope = {}): Promise<Raised> {
    return raiseBudget(this.#home, this.holdfast, await this.#goingOn(id, scope), amounts);
  }

  /** Lets the session's parked task go on, and puts the session in the line. */
  async unpark(id: string, { by, ...scope }: Scope & { readonly by: string }): Promise<void> {
    return unparkForWork(this.#home, await this.#goingOn(id, scope), by);
  }

  /** Puts a session at rest in the line, for what lies in its inbox. */
  async wake(id: string, options: Scope & { readonly definition: string }): Promise<void> {
    await makeReady(this.#home, await this.#find(id, options));
    await this.enter(id, options);
  }

  /** Puts a session in the line, for what it has to do. */
  async enter(id: string, options: Scope & EnterOptions): Promise<void> {
    return enterForWork(this.#home, await this.#goingOn(id, options), options);
  }

  /** Sets whether retention and gc leave the session alone. If it has a process, that process records it. */
  async keep(id: string, isKept: boolean, scope: Scope = {}): Promise<void> {
    try {
      await this.holdfast.keepSession(id, isKept, scope);
    } catch (error) {
      if (!isHoldfastError(error, "session_owned")) throw error;
      await askToKeep(this.#home, await this.#find(id, scope), isKept);
    }
  }

  /** Ends the session's process, if it has one. Its work is kept. */
  async pause(id: string, options: Scope & StopOptions = {}): Promise<void> {
    await this.withoutProcess(id, options, async () => {
      const session = await this.holdfast.showSession(id, options);
      // Also if its process paused the session before it ended.
      if (session.status !== "paused") await this.holdfast.pauseSession(id, options);
      else if (goesOnByItself(session)) await pauseParked(this.#home, await this.#find(id, options));
    });
  }

  /** The tasks that wait in it will not begin. */
  async close(id: string, options: Scope & StopOptions = {}): Promise<void> {
    await this.withoutProcess(id, options, () => this.holdfast.closeSession(id, options));
    const { dir } = await this.#find(id, options);
    await takeBackTasks(this.#home, dir);
  }

  archive(id: string, options: Scope & StopOptions = {}): Promise<Archived> {
    return this.withoutProcess(id, options, () => this.holdfast.archiveSession(id, options));
  }

  /** Removes a session for good. A process of it is ended first, unless the removal is refused before. */
  async remove(id: string, options: Scope & StopOptions & RemovalOptions = {}): Promise<Removal> {
    const { onWait: _, ...removal } = options;
    await this.holdfast.planRemoval(id, removal);
    return afterStop(this.#home, await this.#find(id, options), options, () =>
      this.holdfast.removeSession(id, removal),
    );
  }

  /** What would be cut off, or would not begin, if the session's process were ended now. */
  async underWay(id: string, scope: Scope = {}): Promise<UnderWay> {
    return underWay(this.#home, await this.#find(id, scope));
  }

  /** A process of the session is ended first, and its work is kept. */
  async withoutProcess<T>(id: string, options: Scope & StopOptions, work: () => Promise<T>): Promise<T> {
    return withoutProcess(this.#home, await this.#find(id, options), options, work);
  }

  /** What is known of a session, including its place in the line and its door. */
  async show(id: string, options: Scope & { readonly task?: number } = {}): Promise<SessionView> {
    return viewOf(this.#home, await this.holdfast.showSession(id, options));
  }

  async list({ standing, ...filter }: ListFilter = {}): Promise<SessionView[]> {
    return viewsOf(this.#home, await this.holdfast.listSessions(filter), standing);
  }

  /** The limits of all sessions of the home together, in force until set again; null removes one. */
  async limit(limits: Partial<HomeLimits>): Promise<void> {
    if (Object.keys(limits).length > 0)
      await writeLimits(this.#home, { ...(await readLimits(this.#home)), ...limits });
  }

  limits(): Promise<HomeLimits> {
    return readLimits(this.#home);
  }

  inboxOf(id: string): Maildir {
    return inboxOf(this.#home, sessionDirOf(this.#home, parseSessionId(id)));
  }

  /** What a task wrote: all of it, or what is kept of it. */
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

  /** Replaces the session's token. Its process reads the new one at once, and the old one stops working. */
  async rotateToken(id: string, scope: Scope = {}): Promise<void> {
    const { dir } = await this.#find(id, scope);
    await rotateToken(this.#home.io.disk, dir);
    await ringSession(dir);
  }

  async revokeToken(id: string, scope: Scope = {}): Promise<void> {
    const { dir } = await this.#find(id, scope);
    await revokeToken(this.#home.io.disk, dir);
    await ringSession(dir);
  }

  /** Does what is due: starts sessions, carries messages. Resolves to whether more is due. */
  async look(): Promise<boolean> {
    let isMore = false;
    try {
      await startWaiting(this.#home);
    } finally {
      isMore = await deliverOutboxes(this.#home);
    }
    return isMore;
  }

  /** The keys of the caller who lets the session go on are used. */
  async #goingOn(id: string, scope: Scope): Promise<FoundSession> {
    const found = await this.#find(id, scope);
    await bringKeysAgain(this.#home, found);
    return found;
  }

  #find(id: string, { user }: Scope): Promise<FoundSession> {
    return findSession(this.#home, id, ...(user === undefined ? [] : [user]));
  }
}
