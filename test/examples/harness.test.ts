/**
 * The example harness: it survives SIGKILL in the middle of a command and at every step between, and repeats nothing.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { knownAgent } from "../../src/agent/index.ts";
import { orphansIn, startScriptedModel } from "../../src/testing/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

const root = join(import.meta.dirname, "..", "..");
const TOOL = "run_command";

const run = (command: string) => ({ call: { tool: { name: TOOL, args: { command } } } });

interface Harness {
  /** Starts the program; `edit` changes its text. */
  start(edit?: (text: string) => string): ChildProcessByStdio<null, Readable, null>;
}

function harness(home: TaskHome, url: string, env: NodeJS.ProcessEnv = {}): Harness {
  const text = readFileSync(join(root, "examples", "harness.ts"), "utf8");
  return {
    start: (edit = (same) => same) => {
      const program = home.join("harness.ts");
      writeFileSync(
        program,
        edit(text).replace('"holdfast"', JSON.stringify(join(root, "dist", "index.js"))),
      );
      return spawn(process.execPath, [program, home.main, "fix-login", "[[login]] fix it"], {
        env: { ...process.env, HOLDFAST_HOME: home.dir, MODEL_URL: url, ...env },
        stdio: ["ignore", "pipe", "inherit"],
      });
    },
  };
}

async function saidBy(child: ChildProcessByStdio<null, Readable, null>): Promise<Record<string, unknown>> {
  let said = "";
  child.stdout.on("data", (chunk) => {
    said += String(chunk);
  });
  const [status] = await once(child, "close");
  expect(status).toBe(0);
  return JSON.parse(said);
}

describe.runIf(hasSandbox)("examples/harness.ts", () => {
  it("continues its conversation after SIGKILL in the middle of a command, and runs no command twice", async () => {
    using home = new TaskHome();
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
    const { start } = harness(home, model.url, { MODEL_NAME: "a-model", MODEL_KEY: "a-key" });
    const first = start();
    // The second request has the first command's result. Its answer is the second command, which then runs.
    await until(async () => model.requests.length === 2);
    await until(async () => isAtWork(home));
    first.kill("SIGKILL");
    await once(first, "exit");
    const said = await saidBy(start());
    expect(said).toEqual({ outcome: "unverified", branch: "holdfast/fix-login", turns: 2 });
    expect(gitIn(home.main, "show", "holdfast/fix-login:log.txt").split("\n")).toEqual([
      "one",
      "two",
      "three",
    ]);
    expect(model.requests.flatMap(orphansIn)).toEqual([]);
    for (const { headers, body } of model.requests) {
      expect(headers).toMatchObject({ "x-api-key": "a-key", "anthropic-version": "2023-06-01" });
      expect(JSON.parse(body).model).toBe("a-model");
    }
  });

  it("survives SIGKILL before and after each of its steps, and the task's words reach the model once", async () => {
    using home = new TaskHome();
    await using model = await startScriptedModel({
      scripts: { login: [{ say: "I begin.", ...run("echo one >> log.txt") }, { say: "Done." }] },
    });
    const { start } = harness(home, model.url);
    for (const [object, step] of [
      ["session", ".startTask("],
      ["drive", "(task.workplace("],
      ["task", ".end("],
      ["session", ".pause("],
      ["console", ".log("],
    ] as const) {
      const child = start((text) => {
        expect(text.split(object + step), step).toHaveLength(2);
        return text.replace(object + step, `(process.kill(process.pid, "SIGKILL"), ${object})${step}`);
      });
      expect((await once(child, "exit"))[1], step).toBe("SIGKILL");
    }
    const said = await saidBy(start());
    expect(said).toEqual({ outcome: "unverified", branch: "holdfast/fix-login", turns: 1 });
    expect(gitIn(home.main, "show", "holdfast/fix-login:log.txt")).toBe("one");
    expect(model.requests).toHaveLength(2);
    // Without MODEL_NAME, it is a model that Anthropic has.
    const known = knownAgent("opencode")?.models["anthropic"];
    expect(model.requests.map(({ body }) => JSON.parse(body).model)).toEqual([known, known]);
    expect(model.requests.every(({ body }) => body.split("fix it").length === 2)).toBe(true);
  });
});

/** Whether the second command runs, judged by what it has written to the task's files. */
function isAtWork(home: TaskHome): boolean {
  const names = readdirSync(join(home.dir, "sessions"), { recursive: true, encoding: "utf8" });
  const logs = names.filter((name) => basename(name) === "log.txt");
  return logs.some((name) => readFileSync(join(home.dir, "sessions", name), "utf8").includes("two"));
}
