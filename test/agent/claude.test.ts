/**
 * An agent that speaks Claude Code's protocol, from `holdfast run TEXT` to its commit: its model, its tools,
 * its conversation.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { orphansIn } from "../../src/testing/index.ts";
import { readTextOr } from "../../src/util/index.ts";
import { AgentHome, PLANTED_KEY } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { runCli } from "../support/cli.ts";
import { until } from "../support/hosts.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const write = (content: string, path = "made.txt") => ({ call: { write: { path, content } } });
const bash = (command: string) => ({ call: { bash: { command } } });
const typesIn = (records: readonly { readonly type: string }[]) => records.map(({ type }) => type);

describe("a task in plain words", () => {
  it("is done by the installed agent, ends in a commit, and has its model's tokens metered", async () => {
    await using home = await AgentHome.start({
      hello: [write("made\n"), bash("cat made.txt"), { say: "All done." }],
    });
    const { status, stdout, stderr } = await home.run("hello", "please do [[hello]]", ...wall);
    expect(stderr).toMatch(/^\[agent\] +claude, from ANTHROPIC_API_KEY of your environment$/m);
    expect([status, stdout.trim()]).toEqual([0, "All done."]);
    const show = execFileSync("git", ["-C", home.main, "show", "holdfast/hello:made.txt"], {
      encoding: "utf8",
    });
    expect(show).toBe("made\n");
    const records = await home.records("hello");
    expect(typesIn(records)).toEqual(
      expect.arrayContaining(["conversation_begun", "tool_called", "usage_metered"]),
    );
    const usage = records.filter(({ type }) => type === "usage_metered").map(({ data }) => data);
    const sum = (field: string) => usage.reduce((all, one) => all + Number(one[field]), 0);
    const { inputTokens, outputTokens } = home.model.usageOf("hello");
    expect([sum("inputTokens"), sum("outputTokens")]).toEqual([inputTokens, outputTokens]);
    expect(home.model.requests.flatMap(orphansIn)).toEqual([]);
  });

  it("tool-call-1 a tool runs only after its call is on record, and is refused if the lane does not have it", async () => {
    await using home = await AgentHome.start({
      hello: [bash("echo ran; date +%s%3N > when"), { say: "Done." }],
      forbidden: [{ call: { tool: { name: "mcp__users__do", args: {} } } }, { say: "Done." }],
    });
    await home.run("hello", "[[hello]]", ...wall);
    const called = (await home.records("hello")).find(({ type }) => type === "tool_called");
    const ranAt = execFileSync("git", ["-C", home.main, "show", "holdfast/hello:when"], { encoding: "utf8" });
    expect(Date.parse(called?.at ?? "")).toBeLessThanOrEqual(Number(ranAt));
    await home.run("server", "[[forbidden]]", ...wall);
    const returned = (await home.records("server")).find(({ type }) => type === "tool_returned");
    expect(returned?.data).toMatchObject({ outcome: "refused" });
  });

  it("the real key reaches the model, but not the agent's output, its requests or any file of the home", async () => {
    await using home = await AgentHome.start({
      look: [bash("env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'"), { say: "Done." }],
    });
    const { stdout } = await home.run("look", "[[look]]", ...wall);
    expect(stdout).not.toContain(PLANTED_KEY);
    const found = execFileSync("sh", ["-c", `grep -rl ${PLANTED_KEY} "${home.dir}" || true`], {
      encoding: "utf8",
    });
    expect(found).toBe("");
    const sent = home.model.requests.map(({ headers }) => headers["x-api-key"]);
    // The control: the model was asked with the real key.
    expect(new Set(sent)).toEqual(new Set([PLANTED_KEY]));
    expect(home.model.requests.map(({ body }) => JSON.stringify(body)).join("")).not.toContain(PLANTED_KEY);
  });
});

describe("the conversation of an agent", () => {
  it("goes on with --continue; without it, a new one begins with a summary", async () => {
    await using home = await AgentHome.start({ one: [write("one\n"), { say: "FIRST-SAID" }] });
    await home.run("one", "[[one]]", ...wall);
    await home.holdfast("run", ...wall, "--session", "one", "--continue", "and now?");
    await home.holdfast("run", ...wall, "--session", "one", "something else");
    const begun = (await home.records("one")).filter(({ type }) => type === "conversation_begun");
    expect(begun.map(({ data }) => data["how"])).toEqual(["new", "resumed", "primed"]);
    expect(begun[0]?.data["conversation"]).toBe(begun[1]?.data["conversation"]);
    const [continued, primed] = home.model.requests.slice(-2).map(({ body }) => JSON.stringify(body));
    expect(continued).toContain("FIRST-SAID");
    expect(primed).toContain("What happened in this session before");
    expect(primed).toContain("Said: FIRST-SAID");
  });

  it("goes on after SIGKILL in the middle of a tool call, and the call takes effect only once", async () => {
    await using home = await AgentHome.start({
      long: [bash("echo x >> effects; sleep 3"), { say: "Done." }],
    });
    await home.run("long", "[[long]]", "--detach", ...wall);
    const id = home.idOf("long");
    const effects = () =>
      ["upper", "tree"].map((dir) => readTextOr(join(home.capsuleDir(id), dir, "effects"), "")).join("");
    await until(effects);
    process.kill(home.hostPid(id) ?? 0, "SIGKILL");
    await home.holdfast("resume", "long");
    await home.holdfast("wait", "long");
    const kept = execFileSync("git", ["-C", home.main, "show", "holdfast/long:effects"], {
      encoding: "utf8",
    });
    expect(kept).toBe("x\n");
    // An agent that had not stored the call yet learns of it from this.
    const told = home.model.requests
      .map(({ body }) => JSON.stringify(body))
      .find((body) => body.includes("were open"));
    expect(told).toContain("echo x >> effects");
    const records = await home.records("long");
    expect(records.filter(({ type }) => type === "conversation_begun").at(-1)?.data["how"]).toBe("resumed");
    expect(records.find(({ type }) => type === "task_ended")?.data["outcome"]).toBe("unverified");
    expect(home.model.requests.flatMap(orphansIn)).toEqual([]);
  });

  it("message-3 a message reaches the agent in the middle of its turn, and is then recorded as read", async () => {
    await using home = await AgentHome.start({
      long: [bash("sleep 2"), { say: "Went on." }],
    });
    await home.run("long", "[[long]]", "--detach", ...wall);
    const id = home.idOf("long");
    await until(async () => typesIn(await home.records("long")).includes("tool_called"));
    await home.holdfast("send", "long", "STEERED this way");
    await home.holdfast("wait", "long");
    expect(JSON.stringify(home.model.requests.at(-1)?.body)).toContain("STEERED this way");
    const records = await home.records("long");
    const entered = records.find(({ type }) => type === "message_entered_context");
    expect(entered?.data).toMatchObject({ certain: true, turn: 1 });
    expect(records.filter(({ type }) => type === "turn_started")).toHaveLength(1);
    expect(home.hostPid(id)).toBeUndefined();
  });
});

describe("a person's own configuration of the agent", () => {
  it("is copied into the session without its hooks, key helpers and variables", async () => {
    await using home = await AgentHome.start({
      look: [bash("cat ~/.claude/CLAUDE.md ~/.claude/settings.json"), { say: "Done." }],
    });
    const claude = home.join("person", ".claude");
    mkdirSync(claude, { recursive: true });
    writeFileSync(join(claude, "CLAUDE.md"), "SAY-PLEASE\n");
    symlinkSync("/etc/passwd", join(claude, "skills"));
    const settings = {
      model: "claude-opus-5-5",
      apiKeyHelper: "PLANTED-HELPER",
      hooks: { x: "PLANTED-HOOK" },
      env: { A: "PLANTED-ENV" },
    };
    writeFileSync(join(claude, "settings.json"), JSON.stringify(settings));
    home.env["HOME"] = home.join("person");
    await home.run("look", "[[look]]", "--no-sandbox");
    const output = JSON.stringify(
      (await home.records("look")).find(({ type }) => type === "tool_returned")?.data,
    );
    expect(output).toContain("SAY-PLEASE");
    expect(output).toContain("claude-opus-5-5");
    expect(output).not.toContain("PLANTED");
  });

  it("is read-only in the session, and a text that they delete is gone from its next task", async () => {
    const look = "cd ~/.claude; find CLAUDE.md skills -type f -exec stat -c '%a %n' {} + | sort";
    await using home = await AgentHome.start({ look: [bash(look), { say: "Done." }] });
    const skills = home.join("person", ".claude", "skills");
    mkdirSync(skills, { recursive: true });
    writeFileSync(join(skills, "..", "CLAUDE.md"), "SAY-PLEASE\n");
    writeFileSync(join(skills, "kept.md"), "kept\n");
    writeFileSync(join(skills, "run.sh"), "true\n", { mode: 0o755 });
    home.env["HOME"] = home.join("person");
    const seen = async () =>
      (await home.records("look")).findLast(({ type }) => type === "tool_returned")?.data["output"];
    await home.run("look", "[[look]]", ...wall);
    expect(await seen()).toBe("444 CLAUDE.md\n444 skills/kept.md\n555 skills/run.sh\n");
    rmSync(join(skills, "run.sh"));
    await home.holdfast("run", "--session", "look", ...wall, "[[look]] again");
    expect(await seen()).toBe("444 CLAUDE.md\n444 skills/kept.md\n");
  });
});

describe("a request to a model that can't be sent now", () => {
  const dear = [{ ...bash("true"), usage: { inputTokens: 900 } }, { say: "Went on." }];

  it("waits for the budget to be raised while its agent stays alive", async () => {
    await using home = await AgentHome.start({ dear });
    await home.run("dear", "[[dear]]", "--budget-tokens", "500", "--detach", ...wall);
    await until(async () => (await home.holdfast("output", "dear")).stdout.includes("[waits]"));
    expect(home.model.requests).toHaveLength(1);
    await home.holdfast("budget", "dear", "--raise", "tokens=10000");
    await home.holdfast("wait", "dear");
    expect((await home.holdfast("output", "dear")).stdout).toContain("Went on.");
    expect(typesIn(await home.records("dear"))).not.toContain("task_parked");
  });

  it("parks its task after hold_minutes; the task resumes its conversation when the budget is raised", async () => {
    await using home = await AgentHome.start({ dear });
    home.settings("hold_minutes: 0\n");
    const { status } = await home.run("dear", "[[dear]]", "--budget-tokens", "500", ...wall);
    expect(status).toBe(7);
    expect((await home.holdfast("show", "dear")).stdout).toMatch(/^status +parked/m);
    await home.quiet();
    await home.holdfast("budget", "dear", "--raise", "tokens=10000");
    await home.holdfast("wait", "dear");
    const records = await home.records("dear");
    expect(records.filter(({ type }) => type === "conversation_begun").at(-1)?.data["how"]).toBe("resumed");
    expect(records.find(({ type }) => type === "task_ended")?.data["outcome"]).toBe("done");
    expect(home.model.requests.flatMap(orphansIn)).toEqual([]);
  });

  it("parks its task until the provider's usage limit is over", async () => {
    const until = Math.ceil(Date.now() / 1000) + 3600;
    const headers = { "anthropic-ratelimit-unified-reset": String(until) };
    await using home = await AgentHome.start({
      limited: [bash("true"), { fault: "error", status: 429, headers, say: "Went on." }],
    });
    const { status } = await home.run("limited", "[[limited]]", ...wall);
    expect(status).toBe(7);
    const parked = (await home.records("limited")).find(({ type }) => type === "task_parked");
    expect(parked?.data).toMatchObject({
      reason: "usage_limit",
      until: new Date(until * 1000).toISOString(),
    });
    await home.holdfast("resume", "limited");
    await home.holdfast("wait", "limited");
    expect((await home.holdfast("output", "limited")).stdout).toContain("Went on.");
  });

  it("parks its task if there is no key, and resume passes on the key from the person's environment", async () => {
    await using home = await AgentHome.start({ hello: [{ say: "Went on." }] });
    home.settings("hold_minutes: 0\n");
    const { ANTHROPIC_API_KEY: key, ...without } = home.env;
    const args = ["run", "--repo", home.main, "--name", "keyless", "--agent", "claude", ...wall, "[[hello]]"];
    const { status, stdout } = await runCli(home.dir, args, { ...without, ANTHROPIC_API_KEY: "" });
    expect(status).toBe(3);
    expect(stdout + (await home.holdfast("output", "keyless")).stdout).toContain("anthropic");
    expect(key).toBe(PLANTED_KEY);
    await home.holdfast("resume", "keyless");
    await home.holdfast("wait", "keyless");
    expect((await home.holdfast("output", "keyless")).stdout).toContain("Went on.");
  });
});
