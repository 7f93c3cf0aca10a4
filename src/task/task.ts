/**
 * Owns one task from its start to its end: a capsule, turns in it, a checkpoint after each, what it leaves.
 *
 * T1 Nothing that a task does is visible in the user's repo before it is published, and then only its branch.
 * T2 A capsule is taken away only after a snapshot of all of it is on disk and in the journal.
 */
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  baseEnvironment,
  type Capsule,
  type CapsuleSettings,
  createCapsule,
  type DiffStat,
  patchOf,
  publish,
  publishedBranch,
  resolveCommit,
  statOf,
  userIdentity,
} from "../capsule/index.ts";
import { HoldfastError } from "../contract/index.ts";
import { CAPSULE_MARK, runCommand, sandboxed } from "../process/index.ts";
import { budgetReached, reachedLimits } from "../session/index.ts";
import { replaceFile } from "../util/index.ts";
import { type Checkpoint, takeCheckpoint } from "./checkpoint.ts";
import {
  artifactsDir,
  assertCanSandbox,
  capsuleDir,
  makeScratch,
  openCapsule,
  type Room,
  readConfig,
  runSetupIn,
  settingsOf,
  surroundings,
} from "./room.ts";
import { tearDown } from "./teardown.ts";

export interface TaskOptions {
  /** A name of a commit. Default: the session's own published work, else HEAD. */
  readonly base?: string;
  /** Without a sandbox nothing keeps the command from the rest of the machine. */
  readonly sandbox?: boolean;
  /** What `capsule.setup` writes, while it runs. */
  readonly onSetup?: (chunk: Buffer) => void;
}

export interface TurnEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isInterrupted: boolean;
}

export interface TaskEnd {
  readonly task: number;
  readonly outcome: "done" | "failed" | "cancelled";
  readonly snapshot: string;
  readonly tree: string;
  readonly stat: DiffStat;
  readonly patch: string;
  /** Null when there was nothing to publish, or the task failed. */
  readonly branch: string | null;
  readonly omitted: readonly string[];
}

/** So much of a command's output stands in the journal: its beginning and its end. */
const OUTPUT_HEAD = 32 * 1024;
const OUTPUT_TAIL = 96 * 1024;

export class Task {
  readonly room: Room;
  readonly number: number;
  readonly base: string | null;
  readonly capsule: Capsule;
  readonly missingIncludes: readonly string[];
  readonly #settings: CapsuleSettings;
  readonly #isSandboxed: boolean;
  #last: Checkpoint | undefined;

  private constructor(
    room: Room,
    capsule: Capsule,
    settings: CapsuleSettings,
    isSandboxed: boolean,
    missing: readonly string[],
  ) {
    this.room = room;
    this.capsule = capsule;
    this.number = capsule.spec.task;
    this.base = capsule.spec.base;
    this.missingIncludes = missing;
    this.#settings = settings;
    this.#isSandboxed = isSandboxed;
  }

  static async start(room: Room, options: TaskOptions = {}): Promise<Task> {
    const { session, sessionDir, repo } = room;
    const isSandboxed = options.sandbox ?? true;
    assertCanSandbox(isSandboxed);
    const limits = reachedLimits(session.state);
    if (limits.length > 0) throw budgetReached(limits);
    if (await openCapsule(room)) await tearDown(room);
    const base = await resolveCommit(repo, options.base ?? session.state.task?.branch ?? "HEAD");
    const settings = settingsOf(await readConfig(repo, base));
    const number = (session.state.task?.number ?? 0) + 1;
    await session.append("task_started", { task: number, ...(base && { base }) });
    try {
      if (!isSandboxed) await session.append("sandbox_waived", { task: number, reason: "asked" });
      const dir = capsuleDir(sessionDir, number);
      const runSetup = runSetupIn(room, join(dir, "tree"), isSandboxed, options.onSetup ?? (() => {}));
      const { capsule, missingIncludes } = await createCapsule(room.ports, {
        dir,
        session: session.id,
        task: number,
        repo,
        base,
        settings,
        runSetup,
      });
      const { strategy, ports } = capsule.spec;
      await session.append("capsule_created", { task: number, strategy, ports, ...(base && { base }) });
      return new Task(room, capsule, settings, isSandboxed, missingIncludes);
    } catch (error) {
      if (!session.state.openTurn)
        await session.append("task_ended", { task: number, outcome: "failed" }).catch(() => {});
      throw error;
    }
  }

  /** The task that the session is at, with its capsule. */
  static async current(room: Room, options: Pick<TaskOptions, "sandbox"> = {}): Promise<Task> {
    const capsule = await openCapsule(room);
    if (!capsule) throw new HoldfastError("no_capsule", `session ${room.session.id} has no capsule now`);
    const settings = settingsOf(await readConfig(room.repo, capsule.spec.base));
    return new Task(room, capsule, settings, options.sandbox ?? true, []);
  }

  /** One turn: a command in the capsule. Its processes are gone when this returns. */
  async runTurn(
    command: readonly string[],
    options: {
      onOutput?: (chunk: Buffer, stream: "stdout" | "stderr") => void;
      signal?: AbortSignal | undefined;
    } = {},
  ): Promise<TurnEnd> {
    const { session } = this.room;
    await using turn = await session.beginTurn({ command: [...command] });
    const call = await turn.callTool("run_command", { command: [...command] });
    const output = new Excerpt();
    let pid = 0;
    const { argv, cwd, env } = await this.#invocation(command);
    const end = await runCommand({
      argv,
      cwd,
      env,
      signal: options.signal,
      onOutput: (chunk, stream) => {
        output.add(chunk);
        options.onOutput?.(chunk, stream);
      },
      onStart: async (started) => {
        pid = started;
        await session.append("process_started", { pid, command: command.join(" ") });
      },
    });
    await session.append("process_ended", { pid, ...end });
    const isInterrupted = options.signal?.aborted ?? false;
    const result = { exitCode: end.exitCode, signal: end.signal, output: output.text };
    if (isInterrupted) {
      await turn.interrupt();
      return { ...end, isInterrupted };
    }
    await (end.exitCode === 0 ? call.returned(result) : call.failed(result));
    await (end.exitCode === 0 ? turn.end() : turn.fail());
    return { ...end, isInterrupted };
  }

  async #invocation(
    command: readonly string[],
  ): Promise<{ argv: string[]; cwd: string; env: Record<string, string> }> {
    const view = await this.capsule.attach();
    const { home, tmp } = await makeScratch(this.room.sessionDir, this.number);
    const { ports } = this.capsule.spec;
    const own = {
      ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)])),
      HOLDFAST_SESSION: this.room.session.id,
      HOLDFAST_TASK: String(this.number),
      [CAPSULE_MARK]: this.capsule.place.dir,
    };
    if (!this.#isSandboxed) {
      // The shell goes there itself: the tree may be mounted only where it stands.
      const inTree = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "holdfast", view.workTree];
      const env = Object.fromEntries(
        Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      );
      return { argv: [...view.enter, ...inTree, ...command], cwd: "/", env: { ...env, ...own } };
    }
    const sandbox = sandboxed({
      ...surroundings(this.room, view.workTree),
      tree: view.workTree,
      writable: [home, tmp],
    });
    return {
      argv: [...view.enter, ...sandbox, ...command],
      cwd: "/",
      env: baseEnvironment({ HOME: home, TMPDIR: tmp, ...own }),
    };
  }

  async checkpoint(): Promise<Checkpoint> {
    this.#last = await takeCheckpoint(this.room, this.capsule, this.#settings.limits);
    return this.#last;
  }

  /** Checkpoint, patch, and the branch if it succeeded. The capsule stays, and costs no process. */
  async end(outcome: TaskEnd["outcome"]): Promise<TaskEnd> {
    const { session, repo } = this.room;
    const { snapshot, work } = await this.checkpoint();
    const store = await this.capsule.store();
    const patch = await this.#writeArtifact("change.patch", await patchOf(repo, store, this.base, work));
    const stat = await statOf(repo, store, this.base, work);
    const branch = outcome === "done" && stat.files > 0 ? await this.#publish(work.commit) : null;
    await session.append("task_ended", { task: this.number, outcome });
    await this.rest();
    const omitted = snapshot.manifest.omitted.map(({ path }) => path);
    return {
      task: this.number,
      outcome,
      snapshot: snapshot.commit,
      tree: work.tree,
      stat,
      patch,
      branch,
      omitted,
    };
  }

  async #publish(commit: string): Promise<string> {
    const { session, repo, ports } = this.room;
    const branch = publishedBranch(session.id, this.number);
    const store = await this.capsule.store();
    const identity = await userIdentity(repo);
    await publish({ repo, store, disk: ports.disk, commit, base: this.base, branch, identity });
    await session.append("work_published", { task: this.number, branch, commit });
    return branch;
  }

  async #writeArtifact(name: string, bytes: Buffer): Promise<string> {
    const dir = artifactsDir(this.room.sessionDir, this.number);
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const path = join(dir, name);
    await replaceFile(this.room.ports.disk, path, bytes);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    await this.room.session.append("artifact_written", {
      task: this.number,
      name,
      sha256,
      bytes: bytes.length,
    });
    return path;
  }

  /** Nothing of the task runs after this; its files stay. After a checkpoint, forks stand on them at once. */
  async rest(): Promise<void> {
    await this.capsule.detach();
    if (this.#last) await this.capsule.seal(this.#last.snapshot.commit);
  }
}

/** The beginning and the end of a text that may be long. */
class Excerpt {
  #head = Buffer.alloc(0);
  #tail = Buffer.alloc(0);
  #left = 0;

  add(chunk: Buffer): void {
    const room = OUTPUT_HEAD - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    const tail = Buffer.concat([this.#tail, chunk.subarray(Math.max(0, room))]);
    this.#left += Math.max(0, tail.length - OUTPUT_TAIL);
    this.#tail = tail.subarray(-OUTPUT_TAIL);
  }

  get text(): string {
    const between = this.#left > 0 ? `\n[… ${this.#left} bytes …]\n` : "";
    return this.#head.toString("utf8") + between + this.#tail.toString("utf8");
  }
}
