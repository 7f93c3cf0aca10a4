/**
 * The example harness: it survives SIGKILL in the middle of a command, and repeats nothing.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { orphansIn, startScriptedModel } from "../../src/testing/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

const root = join(import.meta.dirname, "..", "..");
const TOOL = "run_command";

describe.runIf(hasSandbox)("examples/harness.ts", () => {
  it("continues its conversation after SIGKILL in the middle of a command, and runs no command twice", async () => {
    using home = new TaskHome();
    const run = (command: string) => ({ call: { tool: { name: TOOL, args: { command } } } });
    await using model = await startScriptedModel({
      scripts: {
        login: [
          { say: "I begin.", ...run("echo one >> log.txt") },
          run("echo two >> log.txt; sleep 60"),
          run("echo three >> log.txt"),
          { say: "Done." },
        ],
      },
    });
    const program = home.join("harness.ts");
    const text = readFileSync(join(root, "examples", "harness.ts"), "utf8");
    writeFileSync(program, text.replace('"holdfast"', JSON.stringify(join(root, "dist", "index.js"))));
    const start = () =>
      spawn(process.execPath, [program, home.main, "fix-login", "[[login]] fix it"], {
        env: { ...process.env, HOLDFAST_HOME: home.dir, MODEL_URL: model.url },
        stdio: ["ignore", "pipe", "inherit"],
      });
    const first = start();
    // The second request has the first command's result. Its answer is the second command, which then runs.
    await until(async () => model.requests.length === 2);
    await until(async () => isAtWork(home));
    first.kill("SIGKILL");
    await once(first, "exit");
    const second = start();
    let said = "";
    second.stdout.on("data", (chunk) => {
      said += String(chunk);
    });
    const [status] = await once(second, "exit");
    expect(status).toBe(0);
    expect(JSON.parse(said)).toMatchObject({ outcome: "unverified", branch: "holdfast/fix-login", turns: 2 });
    expect(gitIn(home.main, "show", "holdfast/fix-login:log.txt").split("\n")).toEqual([
      "one",
      "two",
      "three",
    ]);
    expect(model.requests.flatMap(orphansIn)).toEqual([]);
  });
});

/** Whether the second command runs, judged by what it has written to the task's files. */
function isAtWork(home: TaskHome): boolean {
  const names = readdirSync(join(home.dir, "sessions"), { recursive: true, encoding: "utf8" });
  const logs = names.filter((name) => basename(name) === "log.txt");
  return logs.some((name) => readFileSync(join(home.dir, "sessions", name), "utf8").includes("two"));
}
