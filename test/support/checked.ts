/**
 * A home whose repo names checks, and tasks that they decide about.
 */

import type { JsonObject } from "../../src/contract/index.ts";
import type { LocalHome } from "../../src/library/local-home.ts";
import { readRecords } from "../../src/session/index.ts";
import type { TaskEnd } from "../../src/task/in-hand.ts";
import { type CheckReceipt, readReceipts } from "../../src/task/index.ts";
import { sandbox, TaskHome } from "./tasks.ts";

export interface Checked {
  readonly id: string;
  readonly end: TaskEnd;
  readonly receipts: readonly CheckReceipt[];
  readonly verification: JsonObject | null;
}

export class CheckedHome extends TaskHome {
  #hf: Promise<LocalHome> | undefined;

  /** `checks`: lines of holdfast.yaml below that key. */
  constructor(checks: readonly string[], files: Record<string, string> = {}, rest = "") {
    super({ "holdfast.yaml": `checks:\n${checks.map((one) => `  - ${one}\n`).join("")}${rest}`, ...files });
  }

  hf(): Promise<LocalHome> {
    this.#hf ??= this.open();
    return this.#hf;
  }

  /** Runs a shell script as the task of a new session, and ends the task as done. */
  async task(script: string): Promise<Checked> {
    const hf = await this.hf();
    const session = await hf.openSession({ repo: this.main, title: "checked" });
    const task = await hf.startTask(session, sandbox);
    await task.runTurn(["sh", "-ec", script]);
    const end = await task.end("done");
    await session.pause();
    const records = readRecords(this.sessionDir(session.id));
    return { id: session.id, end, ...(await readReceipts(records, 1)) };
  }
}
