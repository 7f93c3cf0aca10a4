/**
 * Owns driving a session's tasks, one at a time: what a command is connected to while it runs, how its turn
 * is stopped, and what is cleaned up when it is over.
 */
import { type Home, sessionDirOf } from "../home/index.ts";
import { preparePipes } from "../process/index.ts";
import { reachedLimits, type Session, taskUnderWay } from "../session/index.ts";
import type { HostRequest, ShellRequest, Stop } from "../task/index.ts";
import { Doorway } from "./doorway.ts";
import { driveTask, type HostParts } from "./drive.ts";
import type { Work } from "./life.ts";
import type { Presence } from "./presence.ts";
import type { SessionMail } from "./session-mail.ts";
import { Shells } from "./shells.ts";
import { TaskHosts } from "./task-hosts.ts";
import { TerminalSocket } from "./terminal-socket.ts";
import type { TaskGate } from "./tool-gate.ts";
import { TraceSending } from "./trace-sending.ts";

/** What belongs to the task that is driven now. */
interface DrivenNow {
  readonly stop: AbortController;
  terminal?: TerminalSocket;
  hosts?: TaskHosts;
  gate?: TaskGate | undefined;
}

export class SessionTasks {
  readonly doorway: Doorway;
  readonly #home: Home;
  readonly #session: Session;
  readonly #mail: SessionMail;
  readonly #presence: Presence;
  readonly #shells: Shells;
  /** Sent while the next task already runs. */
  readonly #traces: TraceSending;
  #now: DrivenNow = { stop: new AbortController() };

  constructor(home: Home, session: Session, mail: SessionMail, presence: Presence) {
    this.#home = home;
    this.#session = session;
    this.#mail = mail;
    this.#presence = presence;
    this.#traces = new TraceSending(sessionDirOf(home, session.id));
    this.#shells = new Shells(session, (shell) => presence.shellSocket(shell));
    this.doorway = new Doorway(home, session.id, mail, () => presence.makeDir("door"));
  }

  /** What became of the task is on record. The session may be paused after it. */
  async drive({ request }: Work): Promise<void> {
    this.#now = { stop: new AbortController() };
    const { signal } = this.#now.stop;
    // Ready when the command is, which also takes a moment.
    this.doorway.open().catch(() => {});
    preparePipes();
    try {
      const spec = await this.#mail.spec(request);
      const { isOverQuota } = await driveTask(this.#parts(), { request, spec, stop: signal });
      await this.#pauseIfUsedUp(isOverQuota);
      this.#traces.begin(this.#session.state, request);
    } finally {
      await this.#mail.forgetIfOver(request);
      if (this.#now.terminal) await this.#presence.tell(null);
    }
  }

  /** What waits in the queue would only be refused. A parked task is not due, and says by itself what it waits for. */
  async #pauseIfUsedUp(isOverQuota: boolean): Promise<void> {
    const { state } = this.#session;
    if (state.status === "paused") return;
    const isSpent = reachedLimits(state).length > 0 && !taskUnderWay(state)?.parked;
    if (isOverQuota || isSpent)
      await this.#session.append("session_paused", { reason: isOverQuota ? "quota" : "budget" });
  }

  /** Resolves when no trace is on its way any more: each has its time. */
  tracesSent(): Promise<void> {
    return this.#traces.done();
  }

  stopTurn(by: Stop): void {
    this.#now.stop.abort(by);
  }

  /** Whether a call of the agent waits for the decision about this request. */
  isAwaited(request: string): boolean {
    return this.#now.gate?.isAwaited(request) ?? false;
  }

  openShell(request: ShellRequest): void {
    this.#shells.open(request);
  }

  async allowHost(request: HostRequest): Promise<void> {
    await this.#now.hosts?.allow(request);
  }

  #parts(): HostParts {
    const { feed } = this.#mail;
    const news = () => this.#presence.news();
    return {
      home: this.#home,
      session: this.#session,
      feed,
      shells: this.#shells,
      news,
      hosts: (spool) => {
        const hosts = new TaskHosts(this.#session, spool, news);
        this.#now.hosts = hosts;
        return hosts;
      },
      door: () => this.doorway.open(),
      offer: (gate) => {
        this.#now.gate = gate;
        this.doorway.offer(gate);
      },
      send: (to, text) => this.#mail.outgoing.send(to, text),
      terminal: async () => {
        const terminal = await TerminalSocket.open(this.#presence.path("terminal"), {
          typed: (typed, type) => feed.type(typed, type),
        });
        this.#now.terminal = terminal;
        await this.#presence.tell(terminal.path);
        return terminal;
      },
    };
  }
}
