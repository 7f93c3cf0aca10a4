/**
 * A session with several tasks, for tests of what goes from one to the next.
 */
import { expect, vi } from "vitest";
import type { LocalHome } from "../../src/library/local-home.ts";
import { Session } from "../../src/session/index.ts";
import type { AskedOutcome, TaskEnd, TaskOptions } from "../../src/task/in-hand.ts";
import { gitIn } from "./repo.ts";
import { sandbox, TaskHome } from "./tasks.ts";

/** Cuts the work off just before a record of this type is appended, or right after it. */
export async function cutOff(
  when: "before" | "after",
  type: string,
  work: () => Promise<unknown>,
): Promise<void> {
  const { append } = Session.prototype;
  const spy = vi.spyOn(Session.prototype, "append").mockImplementation(async function (
    this: Session,
    ...record: Parameters<Session["append"]>
  ) {
    if (when === "before" && record[0] === type) throw new Error("cut off");
    const written = await append.apply(this, record);
    if (when === "after" && record[0] === type) throw new Error("cut off");
    return written;
  } as Session["append"]);
  try {
    await expect(work()).rejects.toThrow("cut off");
  } finally {
    spy.mockRestore();
  }
}

export class CarryHome extends TaskHome {
  readonly #strategy: string;
  #hf: LocalHome | undefined;
  id = "";

  constructor(strategy: "overlay" | "worktree", files: Record<string, string> = {}) {
    super({
      "holdfast.yaml": `capsule:\n  strategy: ${strategy}\n  max_ignored_mb: 1\n`,
      ".gitignore": "node_modules\n*.log\n",
      "a.txt": "a\n",
      ...files,
    });
    this.#strategy = strategy;
  }

  async hf(): Promise<LocalHome> {
    this.#hf ??= await this.open();
    return this.#hf;
  }

  /** Runs one whole task in the session, which the first task opens. */
  async task(
    script: string,
    { outcome = "done", ...options }: TaskOptions & { outcome?: AskedOutcome } = {},
  ): Promise<TaskEnd & { said: string }> {
    const hf = await this.hf();
    await using session =
      this.id === ""
        ? await hf.openSession({ repo: this.main, title: "the title" })
        : await hf.resumeSession(this.id, { files: false });
    this.id = session.id;
    const task = await hf.startTask(session, { ...sandbox, ...options });
    expect(task.capsule.spec.strategy).toBe(this.#strategy);
    let said = "";
    await task.runTurn(["sh", "-ec", script], { onOutput: (chunk) => (said += chunk) });
    const end = await task.end(outcome);
    return { ...end, said: said.trimEnd() };
  }

  async records(type: string): Promise<Record<string, unknown>[]> {
    const found: Record<string, unknown>[] = [];
    for await (const record of (await this.hf()).readJournal(this.id))
      if (record.type === type) found.push(record.data);
    return found;
  }

  get branch(): string {
    return this.branchOf(this.id);
  }

  git(...args: string[]): string {
    return gitIn(this.main, ...args);
  }
}
