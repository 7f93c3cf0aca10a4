/**
 * The exit code of a task's command, wherever it is shown.
 */
import { describe, expect, it } from "vitest";
import { emptyState, fold } from "../../src/session/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { runCli } from "../support/cli.ts";
import { TaskHome } from "../support/tasks.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];

describe("the exit code of a command", () => {
  it("is shown by run, show, log and --json; run --exit-code exits with it unless run itself fails", async () => {
    using home = new TaskHome();
    const run = (...args: string[]) =>
      runCli(home.dir, [
        "run",
        ...wall,
        "--repo",
        home.main,
        ...args.slice(0, -1),
        "--",
        "sh",
        "-c",
        args.at(-1) ?? "",
      ]);
    const failed = await run("exit 3");
    const id = /sess_\w+/.exec(failed.stderr)?.[0] ?? "";
    expect(failed).toMatchObject({ status: 1, stderr: expect.stringContaining("exit 3,") });
    expect((await runCli(home.dir, ["show", id])).stdout).toMatch(/^task +1, failed, exit 3,/m);
    expect((await runCli(home.dir, ["log", id, "--raw"])).stdout).toMatch(/ command +exit 3$/m);
    const task = { outcome: "failed", exitCode: 3, signal: null };
    expect(JSON.parse((await runCli(home.dir, ["show", id, "--json"])).stdout)).toMatchObject({ task });
    expect(JSON.parse((await runCli(home.dir, ["ls", "--json"])).stdout)).toMatchObject([{ task }]);

    const passed = await Promise.all([
      run("--exit-code", "exit 3"),
      run("--exit-code", "kill -9 $$"),
      run("--exit-code", "true"),
      run("--exit-code", "--base", "nothing", "exit 3"),
      run("--exit-code", "--detach", "exit 3"),
    ]);
    expect(passed.map(({ status }) => status)).toEqual([3, 137, 0, 4, 2]);
  });

  it("machine-1 is folded from the last command's record, and is null if the record is not valid", () => {
    const records: [string, Record<string, never>][] = [
      ["session_opened", { session: "sess_a", user: "ani" }],
      ["process_ended", { pid: 1, exitCode: 9, signal: null }],
      ["task_started", { task: 1 }],
      ["process_ended", { pid: 1, exitCode: "0", signal: 7 }],
      ["process_ended", { pid: 1, exitCode: 1, signal: null }],
      ["process_started", { pid: 2, command: "x" }],
      ["process_ended", { pid: 2, exitCode: null, signal: "SIGTERM" }],
    ] as never;
    const ends = records.map((_, count) => {
      const state = records
        .slice(0, count + 1)
        .reduce(
          (before, [type, data], index) =>
            fold(before, { seq: index + 1, at: "", epoch: 1, durable: index, type, data, hash: "" }),
          emptyState,
        );
      return state.task && [state.task.exitCode, state.task.signal];
    });
    expect(ends).toEqual([
      null,
      null,
      [null, null],
      [null, null],
      [1, null],
      [null, null],
      [null, "SIGTERM"],
    ]);
  });
});
