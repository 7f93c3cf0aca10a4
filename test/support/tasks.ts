/**
 * A home and a repo for tests of whole tasks.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { LocalHome } from "../../src/library/local-home.ts";
import { cgroupLeftovers, markedProcesses } from "../../src/process/index.ts";
import type { Session } from "../../src/session/session.ts";
import type { Task } from "../../src/task/task.ts";
import { sessionsDir, signalIfThere } from "../../src/util/index.ts";
import { hasSandbox } from "./capsules.ts";
import { TestHome } from "./home.ts";
import { makeRepo } from "./repo.ts";

/**
 * Without bubblewrap, tasks are tested without a sandbox; the tests of the sandbox say that they are left
 * out.
 */
export const sandbox = { sandbox: hasSandbox };

export class TaskHome extends TestHome {
  readonly main: string;

  constructor(files?: Record<string, string>) {
    super();
    this.main = makeRepo(this.join("main"), files);
  }

  async start(hf: LocalHome, title = "a task"): Promise<{ session: Session; task: Task }> {
    const session = await hf.openSession({ repo: this.main, title });
    return { session, task: await hf.startTask(session, sandbox) };
  }

  /** A session at rest, whose task ran this script and has a checkpoint. */
  async atRest(script: string): Promise<{ hf: LocalHome; session: Session }> {
    const hf = await this.open();
    const { session, task } = await this.start(hf);
    await turn(task, script);
    await task.rest();
    await session.pause();
    return { hf, session };
  }

  capsuleDir(id: string, task = 1): string {
    return this.sessionDir(id, "tasks", String(task), "capsule");
  }

  /** Processes that carry the mark of one of its capsules. */
  strays(): number[] {
    return markedProcesses()
      .filter(({ mark }) => mark.startsWith(join(this.dir, "sessions")))
      .map(({ pid }) => pid);
  }

  override [Symbol.dispose](): void {
    for (const pid of this.strays()) signalIfThere(pid, "SIGKILL");
    const names = existsSync(sessionsDir(this.dir)) ? readdirSync(sessionsDir(this.dir)) : [];
    // A task that a test did not end still has its cgroup, which is not below the home.
    for (const left of cgroupLeftovers((name) => !names.some((id) => name.includes(id))))
      left.end().catch(() => {});
    super[Symbol.dispose]();
  }
}

/** One turn: a shell script in the capsule, and a checkpoint after it. */
export async function turn(task: Task, script: string): Promise<string> {
  let said = "";
  await task.runTurn(["sh", "-c", script], {
    onOutput: (chunk) => {
      said += chunk.toString();
    },
  });
  await task.checkpoint();
  return said.trimEnd();
}

/** Runs a command in the capsule of the session's current task, and returns its output. */
export async function inCapsule(hf: LocalHome, session: Session, script: string): Promise<string> {
  const task = await hf.currentTask(session, sandbox);
  let said = "";
  await task.runTurn(["sh", "-c", script], {
    onOutput: (chunk) => {
      said += chunk;
    },
  });
  return said.trimEnd();
}
