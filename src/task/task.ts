/**
 * Owns one task from its start to its end: a capsule, turns in it, a checkpoint after each, what it leaves.
 *
 * T1 Nothing that a task does is visible in the user's repo before it is published, and then only its branch.
 * T2 A capsule is taken away only after a snapshot of all of it is on disk and in the journal.
 */
import type { Writable } from "node:stream";
import { AgentGit, type Capsule, type DiffStat, statOf, treeOf, writePatch } from "../capsule/index.ts";
import { HoldfastError } from "../contract/index.ts";
import { type CommandEnd, runCommand } from "../process/index.ts";
import { commandLine, WholeValues } from "../redaction/index.ts";
import {
  budgetReached,
  Excerpt,
  type HomeState,
  reachedLimits,
  type SessionState,
  type ToolCall,
  type Turn,
} from "../session/index.ts";
import { present, tellStep } from "../util/index.ts";
import { writeArtifact } from "./artifact.ts";
import { beginFiles, carriedIn, settleLast } from "./begin.ts";
import { type Checkpoint, takeCheckpoint } from "./checkpoint.ts";
import { type InvocationOptions, invocationOf } from "./invocation.ts";
import { messageOf, publishOrSay, type Unpublished } from "./publishing.ts";
import { type Quota, quotaOf, readSettings } from "./quota.ts";
import {
  assertCanSandbox,
  currentLimits,
  openCapsule,
  type Room,
  readConfig,
  readQuota,
  runSetupIn,
  settingsOf,
} from "./room.ts";
import { restoreHome } from "./session-home.ts";
import { assertDirectory } from "./start-directory.ts";
import { type StartingOptions, startingPoint } from "./starting-point.ts";
import { valuesBefore, valuesInWork } from "./values.ts";

/** Without a base: everything that the session's last task left, else HEAD. */
export interface TaskOptions extends StartingOptions {
  /** Without a sandbox nothing keeps the command from the rest of the machine. */
  readonly sandbox?: boolean;
  /** What `capsule.setup` writes, while it runs. */
  readonly onSetup?: (chunk: Buffer) => void;
  /** Ends the set-up. */
  readonly signal?: AbortSignal | undefined;
  /** What it is about, for the commit of its work. Default: the session's title. */
  readonly asked?: string;
  /** HOME begins as it was then. */
  readonly home?: HomeState;
  /** The directory that its command will start in: refused if it is not there. */
  readonly cwd?: string;
  /** What it was queued as. */
  readonly request?: string;
  /** The names of the variables that it is given. */
  readonly env?: readonly string[];
}

export interface TurnEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isInterrupted: boolean;
  /** Where the files are as it left them, for certain. */
  readonly checkpoint?: Checkpoint;
}

export interface TaskEnd {
  readonly task: number;
  readonly outcome: "done" | "failed" | "needs_review" | "cancelled" | "interrupted";
  readonly snapshot: string;
  readonly tree: string;
  readonly stat: DiffStat;
  readonly patch: string;
  /** Null when there was nothing to publish, or the task failed. */
  readonly branch: string | null;
  /** Why work that should be on the branch is not. */
  readonly unpublished: Unpublished | null;
  readonly omitted: readonly string[];
}

export interface TurnOptions extends Pick<InvocationOptions, "door" | "cwd" | "hasTerminal" | "values"> {
  readonly onOutput?: (chunk: Buffer, stream: "stdout" | "stderr") => void;
  /** Called when it runs, and that is on record. */
  readonly onStart?: (pid: number, input: Writable | null) => void;
  readonly hasInput?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Called when it has ended, before its files are looked at: what stands beside it has to go. */
  readonly onEnd?: () => Promise<void>;
}

export interface BesideOptions extends Pick<InvocationOptions, "door"> {
  readonly onOutput: (chunk: Buffer) => void;
  readonly onStart: (pid: number, input: Writable | null) => void;
  readonly signal: AbortSignal;
}

export class Task {
  readonly room: Room;
  readonly number: number;
  readonly base: string | null;
  readonly capsule: Capsule;
  readonly missingIncludes: readonly string[];
  readonly #isSandboxed: boolean;
  #last: Checkpoint | undefined;

  private constructor(room: Room, capsule: Capsule, isSandboxed: boolean, missing: readonly string[]) {
    this.room = room;
    this.capsule = capsule;
    this.number = capsule.spec.task;
    this.base = capsule.spec.base;
    this.missingIncludes = missing;
    this.#isSandboxed = isSandboxed;
  }

  static async start(room: Room, options: TaskOptions = {}): Promise<Task> {
    const { session, repo } = room;
    const isSandboxed = options.sandbox ?? true;
    assertCanSandbox(isSandboxed);
    const limits = reachedLimits(session.state);
    if (limits.length > 0) throw budgetReached(limits);
    await settleLast(room);
    const startedMs = room.ports.clock.monotonicMs();
    const from = await startingPoint(room, options);
    const config = await readConfig(repo, from.base);
    const own = await readSettings(room.ports.homeDir);
    const settings = settingsOf(config, own);
    const quota = quotaOf(config.quota, own);
    const number = (session.state.task?.number ?? 0) + 1;
    if (!isSandboxed) await session.append("sandbox_waived", { task: number, reason: "asked" });
    const { signal } = options;
    const runSetup = runSetupIn(room, {
      sandbox: isSandboxed,
      quota,
      ...(options.onSetup && { onOutput: options.onSetup }),
      signal,
    });
    const begun = await beginFiles(room, from, { number, settings, isSandboxed, runSetup, signal });
    const { capsule, missingIncludes } = begun;
    let mayBeOnRecord = false;
    try {
      if (options.cwd !== undefined) assertDirectory((await capsule.attach()).root, options.cwd);
      if (options.home) await restoreHome(room, options.home);
      const home = homeOf(options.home ?? session.state.home);
      // On record when it is there: a task that can't be started leaves the session as it was.
      const { strategy, ports, base } = capsule.spec;
      const { request, asked, env = [] } = options;
      const snapshot = from.carried?.snapshot;
      const carried = carriedIn(room, from);
      const durationMs = Math.round(room.ports.clock.monotonicMs() - startedMs);
      const missing = missingIncludes.length > 0 ? { missing: [...missingIncludes] } : {};
      mayBeOnRecord = true;
      const started = session.append("task_started", {
        task: number,
        ...present({ request, asked, snapshot, base: base ?? undefined, carried, home }),
        ...(env.length > 0 && { env: [...env] }),
      });
      // One sync for both; where the first is refused, so is this.
      const made = session.append("capsule_created", {
        task: number,
        strategy,
        ports,
        durationMs,
        ...missing,
        ...present({ base: base ?? undefined }),
      });
      await Promise.all([started, made]);
      await begun.settle();
      return new Task(room, capsule, isSandboxed, missingIncludes);
    } catch (error) {
      // Then whose files they are is the journal's to say, and the next look at them goes by it (K19).
      await (mayBeOnRecord ? capsule.detach() : begun.undo());
      throw error;
    }
  }

  /** The task that the session is at, with its capsule. */
  static async current(room: Room, options: Pick<TaskOptions, "sandbox"> = {}): Promise<Task> {
    const capsule = await openCapsule(room);
    if (!capsule) throw new HoldfastError("no_capsule", `session ${room.session.id} has no capsule now`);
    return new Task(room, capsule, options.sandbox ?? true, []);
  }

  /** What it may take of the machine. */
  quota(): Promise<Quota> {
    return readQuota(this.room, this.base);
  }

  /** One turn: a command in the capsule, and a checkpoint behind it. Its processes are gone when this returns. */
  async runTurn(command: readonly string[], options: TurnOptions = {}): Promise<TurnEnd> {
    const { session } = this.room;
    await using turn = await session.beginTurn({ command: [...command] });
    const call = await turn.callTool("run_command", { command: [...command] });
    const output = new Excerpt();
    const known = () => session.secrets;
    // What comes from the other stream in the middle of a value would hide it.
    const whole = { stdout: new WholeValues(known), stderr: new WholeValues(known) };
    let pid = 0;
    const { door, cwd, hasTerminal, values, signal } = options;
    const isSandboxed = this.#isSandboxed;
    await this.capsule.unsettle();
    const invocation = await invocationOf(this.room, this.capsule, command, {
      isSandboxed,
      quota: await this.quota(),
      door,
      cwd,
      hasTerminal,
      values,
    });
    const { isStopped: isInterrupted, ...end } = await runCommand({
      ...invocation,
      signal,
      hasInput: options.hasInput ?? false,
      onOutput: (chunk, stream) => {
        output.add(whole[stream].push(chunk));
        options.onOutput?.(chunk, stream);
      },
      onStart: async (started, input) => {
        pid = started;
        await session.append("process_started", { pid, command: commandLine(command) });
        options.onStart?.(pid, input);
      },
    });
    for (const held of Object.values(whole)) output.add(held.end());
    await options.onEnd?.();
    await session.append("process_ended", { pid, ...end });
    await this.#settleTurn(turn, call, end, output.text(session.secrets), isInterrupted);
    const checkpoint = await this.checkpoint();
    // In a sandbox nothing outlives the command, so nothing has written since.
    return { ...end, isInterrupted, ...(isSandboxed && { checkpoint }) };
  }

  /** A person's command in a terminal, beside the one of the turn: in the same sandbox, and ended before it is over. */
  async runBeside(command: readonly string[], options: BesideOptions): Promise<CommandEnd> {
    const invocation = await invocationOf(this.room, this.capsule, command, {
      isSandboxed: this.#isSandboxed,
      quota: await this.quota(),
      door: options.door,
      hasTerminal: true,
    });
    return runCommand({ ...invocation, ...options, hasInput: true });
  }

  async #settleTurn(
    turn: Turn,
    call: ToolCall,
    end: Omit<CommandEnd, "isStopped">,
    output: string,
    isInterrupted: boolean,
  ): Promise<void> {
    const result = { exitCode: end.exitCode, signal: end.signal, output };
    if (isInterrupted) {
      await call.interrupted(result);
      return turn.interrupt();
    }
    await (end.exitCode === 0 ? call.returned(result) : call.failed(result));
    await (end.exitCode === 0 ? turn.end() : turn.fail());
  }

  async checkpoint(): Promise<Checkpoint> {
    this.#last = await takeCheckpoint(this.room, this.capsule, await currentLimits(this.room));
    return this.#last;
  }

  /** Checkpoint, patch, and the branch if it succeeded. The capsule stays, and costs no process. */
  async end(outcome: TaskEnd["outcome"], options: { at?: Checkpoint | undefined } = {}): Promise<TaskEnd> {
    // What still runs could write after the snapshot.
    if (!options.at) await this.capsule.detach();
    try {
      return await this.#end(outcome, options.at);
    } finally {
      await this.capsule.detach();
    }
  }

  async #end(asked: TaskEnd["outcome"], at: Checkpoint | undefined): Promise<TaskEnd> {
    const { session, repo } = this.room;
    const { onProgress } = this.room.ports;
    const { snapshot, work } = at ?? (await this.checkpoint());
    const store = await this.capsule.store();
    tellStep(onProgress, "writing the patch");
    const before = await treeOf(repo, this.base);
    const { sessionDir, ports } = this.room;
    const patch = await writeArtifact(
      { session, sessionDir, disk: ports.disk },
      { task: this.number, name: "change.patch" },
      async (path) => {
        await writePatch(repo, store, before, work.tree, path);
        return {};
      },
    );
    const stat = await statOf(repo, store, before, work.tree);
    tellStep(onProgress, "publishing the work");
    const own = new AgentGit((await this.capsule.attach()).root);
    const found = stat.files > 0 ? await valuesInWork(this.room, store, this.base, work) : undefined;
    const isToPublish = asked === "done" && stat.files > 0;
    const review =
      found ?? (asked === "done" ? reviewOf(session.state, isToPublish, own.unfinished) : undefined);
    const outcome = asked === "done" && review ? "needs_review" : asked;
    const { branch, unpublished } =
      outcome === "done" && stat.files > 0
        ? await publishOrSay(this.room, {
            tree: work.tree,
            base: this.base,
            message: await messageOf(this.room, this.capsule),
          })
        : { branch: null, unpublished: review ?? null };
    await session.append("task_ended", {
      task: this.number,
      outcome,
      files: stat.files,
      insertions: stat.insertions,
      deletions: stat.deletions,
      ...present({ head: own.head.commit }),
      ...(unpublished && { unpublished: { ...unpublished } }),
    });
    await this.rest();
    return {
      task: this.number,
      outcome,
      snapshot: snapshot.commit,
      tree: work.tree,
      stat,
      patch,
      branch,
      unpublished,
      omitted: snapshot.manifest.omitted.map(({ path }) => path),
    };
  }

  /** Nothing of the task runs after this; its files stay. After a checkpoint, forks stand on them at once. */
  async rest(): Promise<void> {
    await this.capsule.detach();
    if (this.#last) await this.capsule.settle(this.#last.snapshot);
  }
}

/** Why a person has to look at work that is done. */
function reviewOf(
  state: SessionState,
  isToPublish: boolean,
  unfinished: string | undefined,
): Unpublished | undefined {
  if (unfinished !== undefined) return leftUnfinished(unfinished);
  return isToPublish ? valuesBefore(state) : undefined;
}

const leftUnfinished = (what: string): Unpublished => ({
  code: "unfinished",
  reason: `the agent left a ${what} unfinished: look at it, then say holdfast branch --reviewed`,
});

/** What HOME begins with, for whoever runs the task again; of one that was never looked at, nothing is known. */
function homeOf(home: HomeState | null): { snapshot?: string; manifest?: string } | undefined {
  if (home === null) return undefined;
  return home.commit === "" ? {} : { snapshot: home.commit, manifest: home.manifest };
}
