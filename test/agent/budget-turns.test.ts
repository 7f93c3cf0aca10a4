/**
 * A budget that is reached where no model is asked: before an agent's first turn, in the turn that ends the
 * work, and while a task is parked for another reason.
 */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { commitFiles, gitIn } from "../support/repo.ts";

const bash = (command: string) => ({ call: { bash: { command } } });
const ofType = async (home: AgentHome, session: string, type: string) =>
  (await home.records(session)).filter((record) => record.type === type).map(({ data }) => data);
const shown = (home: AgentHome, ref: string) =>
  execFileSync("git", ["-C", home.main, "show", ref], { encoding: "utf8" });

if (!hasSandbox)
  console.log("left out: reached budgets of agents: without a sandbox HOME would be the user's own");

describe.runIf(hasSandbox)("a task whose budget is reached", () => {
  it("before a turn of its agent can begin is parked, and goes on when the budget is raised", async () => {
    await using home = await AgentHome.start({ one: [{ say: "First." }], two: [{ say: "Second." }] });
    await home.run("one", "[[one]]", "--agent", "claude", "--budget-turns", "2");
    // The conversation is lost, and finding that out takes the last turn.
    rmSync(join(home.sessionDir(home.idOf("one")), "home", ".claude", "projects"), { recursive: true });
    const again = await home.holdfast(
      "run",
      "--session",
      "one",
      "--agent",
      "claude",
      "--continue",
      "[[two]]",
    );
    expect(again.status, again.stderr).toBe(7);
    expect(await ofType(home, "one", "task_parked")).toMatchObject([
      { reason: "budget", detail: "the budget is reached: turns" },
    ]);
    expect(await ofType(home, "one", "task_halted")).toEqual([]);
    await home.holdfast("budget", "one", "--raise", "turns=5");
    expect((await home.holdfast("wait", "one")).status).toBe(0);
    expect(JSON.stringify(home.model.requests.at(-1)?.body)).toContain("[[two]]");
  });

  it("by its last turn is finished after a kill during its checks: nothing that is left asks a model", async () => {
    await using home = await AgentHome.start({ one: [bash("echo made > made.txt"), { say: "Done." }] });
    commitFiles(home.main, { "holdfast.yaml": "checks: [{ name: slow, run: sleep 3 }]\n" }, "a check");
    await home.run("one", "[[one]]", "--agent", "claude", "--budget-turns", "1", "--detach");
    await until(async () => (await ofType(home, "one", "check_started")).length > 0);
    expect(await ofType(home, "one", "budget_reached")).toMatchObject([{ limits: ["turns"] }]);
    process.kill(home.hostPid(home.idOf("one")) ?? 0, "SIGKILL");
    await until(async () => (await home.holdfast("show", "one")).stdout.includes("interrupted"));
    expect((await home.holdfast("resume", "one")).status).toBe(0);
    expect((await home.holdfast("wait", "one")).status).toBe(0);
    expect(shown(home, "holdfast/one:made.txt")).toBe("made\n");
    // The next task would only be refused.
    const paused = JSON.parse((await home.holdfast("show", "one", "--json")).stdout);
    expect(paused).toMatchObject({ pausedFor: "budget", task: { outcome: "done" } });
    expect((await home.holdfast("run", "--session", "one", "--", "true")).status).toBe(7);
    expect(gitIn(home.main, "rev-list", "--count", "main..holdfast/one")).toBe("1");
  });
});

describe.runIf(hasSandbox)("a task that is parked twice before its agent answers", () => {
  it.each(["claude", "opencode"])(
    "goes on in its conversation, and no call is made again (%s)",
    async (agent) => {
      const headers = { "anthropic-ratelimit-unified-reset": String(Math.floor(Date.now() / 1000) + 3600) };
      const model = agent === "opencode" ? ["--model", "anthropic/m"] : [];
      await using home = await AgentHome.start({
        limited: [
          bash("echo x >> effects"),
          { fault: "error", status: 429, headers: { ...headers }, times: 2, say: "Went on." },
        ],
      });
      const first = await home.run("one", "[[limited]]", "--agent", agent, ...model);
      expect(first.status, first.stderr).toBe(7);
      await home.holdfast("resume", "one");
      await until(async () => (await ofType(home, "one", "task_parked")).length === 2);
      await until(() => home.hostPid(home.idOf("one")) === undefined);
      await home.holdfast("resume", "one");
      await home.holdfast("wait", "one");
      expect((await ofType(home, "one", "conversation_begun")).map(({ how }) => how)).toEqual([
        "new",
        "resumed",
        "resumed",
      ]);
      expect(shown(home, "holdfast/one:effects")).toBe("x\n");
    },
  );
});

describe.runIf(hasSandbox)("a message", () => {
  it("to a session whose task is parked wakes nothing: its agent reads it when the task goes on", async () => {
    await using home = await AgentHome.start({
      dear: [{ ...bash("true"), usage: { inputTokens: 900 } }, { say: "Went on." }],
    });
    home.settings("hold_minutes: 0\n");
    expect((await home.run("one", "[[dear]]", "--agent", "claude", "--budget-tokens", "500")).status).toBe(7);
    const { stdout } = await home.holdfast("send", "--json", "one", "ONE MORE THING");
    expect(JSON.parse(stdout).isWoken).toBe(false);
    expect(await ofType(home, "one", "task_queued")).toHaveLength(1);
    await home.holdfast("budget", "one", "--raise", "tokens=100000");
    expect((await home.holdfast("wait", "one")).status).toBe(0);
    expect(JSON.stringify(home.model.requests.at(-1)?.body)).toContain("ONE MORE THING");
  });

  it("that comes together with others ends no session as failed when all of them were read at once", async () => {
    await using home = await AgentHome.start({ one: [{ say: "First." }] });
    await home.run("one", "[[one]]", "--agent", "claude");
    await until(() => home.hostPid(home.idOf("one")) === undefined);
    await Promise.all(["A", "B", "C"].map((text) => home.holdfast("send", "one", `MESSAGE-${text}`)));
    await until(async () => {
      const { task, queue } = JSON.parse((await home.holdfast("show", "one", "--json")).stdout);
      return task.outcome !== null && queue === 0;
    });
    const outcomes = (await ofType(home, "one", "task_ended")).map(({ outcome }) => outcome);
    expect(new Set(outcomes)).toEqual(new Set(["done"]));
    const last = JSON.stringify(home.model.requests.at(-1)?.body);
    for (const text of ["A", "B", "C"]) expect(last).toContain(`MESSAGE-${text}`);
  });
});
