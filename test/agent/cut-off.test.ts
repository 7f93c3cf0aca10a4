/**
 * An agent whose turn was cut off by a kill or a park: when it goes on it is told what was done, and it is
 * warned before it repeats a call that may have had its effect.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CutCalls } from "../../src/agent/cut-calls.ts";
import { orphansIn } from "../../src/testing/index.ts";
import { readTextOr } from "../../src/util/index.ts";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { commitFiles } from "../support/repo.ts";

const bash = (command: string) => ({ call: { bash: { command } } });
const effects = (home: AgentHome, session: string) =>
  execFileSync("git", ["-C", home.main, "show", `holdfast/${session}:effects`], { encoding: "utf8" });
const ofType = async (home: AgentHome, session: string, type: string) =>
  (await home.records(session)).filter((record) => record.type === type).map(({ data }) => data);

async function killAndResume(home: AgentHome, session: string, meanwhile = () => {}): Promise<void> {
  process.kill(home.hostPid(home.idOf(session)) ?? 0, "SIGKILL");
  await until(async () => (await home.holdfast("show", session)).stdout.includes("interrupted"));
  meanwhile();
  await home.holdfast("resume", session);
  await home.holdfast("wait", session);
}

// Without a sandbox, HOME would be the user's own.
describe.skipIf(!hasSandbox)("an agent whose turn was cut off", () => {
  it("repeat-1 Claude Code is refused a call once, with the reason, if it forgot that the call was open", async () => {
    await using home = await AgentHome.start({
      long: [bash("echo x >> effects; sleep 60"), bash("echo y >> effects"), { say: "All done." }],
    });
    await home.run("long", "[[long]]", "--agent", "claude", "--detach");
    const id = home.idOf("long");
    await until(() => readTextOr(`${home.capsuleDir(id)}/upper/effects`, ""));
    const forget = () => {
      const dir = home.sessionDir(id, "home", ".claude", "projects");
      const [name = ""] = readdirSync(dir);
      const lines = readFileSync(join(dir, name), "utf8").trim().split("\n");
      expect(lines.pop()).toContain("echo x");
      writeFileSync(join(dir, name), `${lines.join("\n")}\n`);
    };
    await killAndResume(home, "long", forget);
    expect(effects(home, "long")).toBe("x\ny\n");
    const returned = await ofType(home, "long", "tool_returned");
    expect(returned.map(({ outcome }) => outcome)).toEqual(["interrupted", "refused", "ok"]);
    // The model was told why.
    expect(home.model.requests.at(-1)?.body).toContain("may have had its effect. Check first");
    expect(home.model.requests.flatMap(orphansIn)).toEqual([]);
  });

  it("repeat-1 may run a refused call at the second attempt, and is told which calls were open or done", async () => {
    await using home = await AgentHome.start();
    const bin = home.join("bin");
    const fixtures = join(import.meta.dirname, "..", "fixtures", "agents");
    copyFileSync(join(fixtures, "telling.ts"), join(bin, "telling.ts"));
    // An agent that nobody has tried may forget calls, too.
    commitFiles(
      home.main,
      {
        "holdfast.yaml": "agents: { stranger: { adapter: acp, command: [stranger] } }\n",
      },
      "an agent",
    );
    for (const name of ["gemini", "stranger"]) {
      writeFileSync(join(bin, name), '#!/bin/sh\nexec node "$(dirname "$0")/telling.ts" "$@"\n', {
        mode: 0o755,
      });
      await home.run(name, "ask read, linger execute", "--agent", name, "--detach");
      const ran = home.sessionDir(home.idOf(name), "home", "execute");
      await until(() => readTextOr(ran, ""));
      await killAndResume(home, name);
      const returned = await ofType(home, name, "tool_returned");
      expect(returned.map(({ outcome }) => outcome)).toEqual(["ok", "interrupted", "refused", "ok"]);
      expect(readTextOr(ran, "")).toBe("ran\nran\n");
      const [, second] = await ofType(home, name, "turn_started");
      const told = JSON.stringify(second?.["input"]);
      expect(told).toMatch(/were open.*- execute execute.*are done.*- read read → ok/s);
    }
  });

  it("is told to end its turn before its task is parked, so that it can store its conversation", async () => {
    await using home = await AgentHome.start({
      dear: [
        bash("echo x >> effects"),
        { ...bash("echo y >> effects"), usage: { inputTokens: 900 } },
        { say: "Went on." },
      ],
    });
    home.settings("hold_minutes: 0\n");
    const budget = ["--agent", "opencode", "--model", "anthropic/late", "--budget-tokens", "700"];
    expect((await home.run("dear", "[[dear]]", ...budget)).status).toBe(7);
    await home.holdfast("budget", "dear", "--raise", "tokens=10000");
    await home.holdfast("wait", "dear");
    expect(effects(home, "dear")).toBe("x\ny\n");
    const begun = await ofType(home, "dear", "conversation_begun");
    expect(begun.map(({ how }) => how)).toEqual(["new", "resumed"]);
    expect(home.model.requests.at(-1)).toMatchObject({
      body: expect.stringContaining("[[dear]]"),
      step: { number: 2 },
    });
    expect(home.model.requests.flatMap(orphansIn)).toEqual([]);
    const [, second] = await ofType(home, "dear", "turn_started");
    expect(JSON.stringify(second?.["input"])).toMatch(/are done.*echo x.*→ ok.*echo y.*→ ok/s);
  });

  it("has its task parked, not failed, if its client gives up while its request is held and it ends for that", async () => {
    await using home = await AgentHome.start({
      dear: [{ ...bash("echo x >> effects"), usage: { inputTokens: 900 } }, { say: "Went on." }],
    });
    const budget = ["--agent", "opencode", "--model", "anthropic/impatient", "--budget-tokens", "700"];
    expect((await home.run("dear", "[[dear]]", ...budget)).status).toBe(7);
    expect(await ofType(home, "dear", "task_parked")).toMatchObject([{ reason: "budget" }]);
    await home.holdfast("budget", "dear", "--raise", "tokens=10000");
    expect((await home.holdfast("wait", "dear")).status).toBe(0);
    expect(effects(home, "dear")).toBe("x\n");
    expect((await home.holdfast("output", "dear")).stdout).toContain("Went on.");
  });

  it("is ended when its task is parked, even if it ignores the request to end its turn", async () => {
    await using home = await AgentHome.start({
      dear: [bash("echo x >> effects"), { ...bash("echo y >> effects"), usage: { inputTokens: 900 } }],
    });
    home.settings("hold_minutes: 0\n");
    const { status } = await home.run("dear", "[[dear]]", "--agent", "opencode", "--budget-tokens", "700");
    expect(status).toBe(7);
    expect(await ofType(home, "dear", "task_parked")).toMatchObject([{ reason: "budget" }]);
    expect(home.strays()).toEqual([]);
  });
});

describe("the calls of a turn that was cut off", () => {
  const call = (number: number, outcome = "ok") => ({
    call: `call_${number}`,
    tool: "bash",
    args: { command: `echo ${number} ${"x".repeat(1000)}` },
    outcome,
    output: "y".repeat(1000),
  });

  it("are told to the agent in a short text, however many there were", () => {
    const many = Array.from({ length: 500 }, (_, number) => call(number, number % 2 ? "ok" : "interrupted"));
    const cut = new CutCalls(many, { forgets: "the last" });
    for (const text of [cut.open, cut.done]) {
      expect(text).toContain("- 230 earlier ones\n");
      expect(text.length).toBeLessThan(15_000);
    }
    expect(cut.done).toContain("echo 499");
  });

  it("repeat-1 are refused only to agents that may forget them, and only if they have arguments", () => {
    const refused = (forgets: "nothing" | "the last" | "any", args: object | null) =>
      new CutCalls([{ ...call(1, "interrupted"), args: args as never }], { forgets }).whyNot(
        args as never,
      ) !== undefined;
    for (const forgets of ["the last", "any"] as const) {
      expect(refused(forgets, { command: "x" })).toBe(true);
      for (const args of [{}, null]) expect(refused(forgets, args)).toBe(false);
    }
    expect(refused("nothing", { command: "x" })).toBe(false);
  });

  it("repeat-1 are refused once: the last one, or all to an agent that may have stored none of them", () => {
    const calls = [call(1), call(2, "refused"), call(3), call(4, "interrupted")];
    const refused = (forgets: "the last" | "any") => {
      const cut = new CutCalls(calls, { forgets });
      const made = () => calls.map(({ args }) => cut.whyNot(args) !== undefined);
      return [made(), made()];
    };
    const never = [false, false, false, false];
    expect(refused("the last")).toEqual([[false, false, false, true], never]);
    expect(refused("any")).toEqual([[true, false, true, true], never]);
  });

  it("repeat-1 are refused, too, where a secret in their arguments is not on record", () => {
    const args = { command: "push [redacted:env:TOKEN] to [redacted:env:HOST] now" };
    const isRefused = (command: string) =>
      new CutCalls([{ ...call(1, "interrupted"), args }], { forgets: "the last" }).whyNot({ command }) !==
      undefined;
    expect(isRefused("push hunter2hunter2 to to.example.org now")).toBe(true);
    for (const other of ["push to now", "push x to y", "pull x to y now", "push x at y now"])
      expect(isRefused(other), other).toBe(false);
  });
});
