/**
 * What an adapter has to do, with each real agent that is installed (npm run test:agents), against a scripted model.
 */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { knownAgents } from "../../src/agent/index.ts";
import { orphansIn } from "../../src/testing/index.ts";
import { readTextOr } from "../../src/util/index.ts";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { agentPath, isInstalled } from "./agents.ts";

/** What the agents differ in, as they were found to. */
const DROPS_OPEN_CALLS = ["gemini", "goose"];
const STEERED = ["claude"];
/** The others are told what happened, where they don't find their conversation. */
const FINDS_ITS_CONVERSATION = ["claude", "opencode"];

const write = (content: string) => ({ call: { write: { path: "made.txt", content } } });
const bash = (command: string) => ({ call: { bash: { command } } });

const isHere = (program: string) => isInstalled({ name: program });
if (!hasSandbox)
  console.log("left out: the conformance of agents: without a sandbox HOME would be the user's own");
for (const { name, program } of knownAgents)
  if (!isHere(program))
    console.log(`left out: the conformance of ${name}: it is not installed (npm run test:agents)`);

const here = knownAgents.filter(({ program }) => isHere(program));
if (here.length === 0) it.skip("no agent is installed", () => {});

describe.skipIf(!hasSandbox).each(here)("$name", ({ name }) => {
  const start = async (...args: Parameters<typeof AgentHome.start>) => {
    const home = await AgentHome.start(...args);
    home.env["PATH"] = agentPath;
    return home;
  };
  const shown = (home: AgentHome, ref: string) =>
    execFileSync("git", ["-C", home.main, "show", ref], { encoding: "utf8" });

  it("new: its tools, its text, its work, and what its model cost", async () => {
    await using home = await start({
      hello: [write("made\n"), bash("cat made.txt"), { say: "All done." }],
    });
    const { status, stdout, stderr } = await home.run("hello", "please do [[hello]]", "--agent", name);
    expect([status, stdout], stderr).toEqual([0, expect.stringContaining("All done.")]);
    expect(shown(home, "holdfast/hello:made.txt")).toBe("made\n");
    const records = await home.records("hello");
    const called = records.filter(({ type }) => type === "tool_called");
    expect(called.length).toBeGreaterThanOrEqual(2);
    const spent = records.filter(({ type }) => type === "usage_metered").map(({ data }) => data);
    const sum = (field: string) => spent.reduce((all, one) => all + Number(one[field]), 0);
    const { inputTokens, outputTokens } = home.model.usageOf("hello");
    expect([sum("inputTokens"), sum("outputTokens")]).toEqual([inputTokens, outputTokens]);
  });

  it("refused: a lane without write tools changes nothing", async () => {
    await using home = await start({ hello: [write("made\n"), { say: "All done." }] });
    await home.run("reader", "please do [[hello]]", "--agent", name, "--lane", "read-only");
    const ended = (await home.records("reader")).find(({ type }) => type === "task_ended");
    expect(ended?.data).toMatchObject({ files: 0 });
  });

  it("killed in the middle of a tool, it goes on", async () => {
    await using home = await start({ long: [bash("echo x >> effects; sleep 4"), { say: "All done." }] });
    await home.run("long", "[[long]]", "--agent", name, "--detach");
    const id = home.idOf("long");
    await until(() => readTextOr(`${home.capsuleDir(id)}/upper/effects`, ""));
    process.kill(home.hostPid(id) ?? 0, "SIGKILL");
    await home.holdfast("resume", "long");
    await home.holdfast("wait", "long");
    const records = await home.records("long");
    expect(records.find(({ type }) => type === "task_ended")?.data["outcome"]).toBe("done");
    const begun = records.filter(({ type }) => type === "conversation_begun").map(({ data }) => data["how"]);
    expect(begun).toEqual(["new", FINDS_ITS_CONVERSATION.includes(name) ? "resumed" : expect.any(String)]);
    expect(home.model.requests.flatMap(orphansIn).filter(({ kind }) => kind === "call")).toEqual([]);
    // Some agents forget the call that was open, and their model makes it again.
    if (!DROPS_OPEN_CALLS.includes(name)) expect(shown(home, "holdfast/long:effects")).toBe("x\n");
  });

  it("interrupted, it ends, and a fork of its turn has its files and its conversation", async () => {
    await using home = await start({
      one: [write("one\n"), { say: "FIRST-SAID" }],
      long: [bash("for i in $(seq 60); do sleep 1; done"), { say: "Never." }],
    });
    await home.run("one", "[[one]]", "--agent", name);
    await home.holdfast("run", "--session", "one", "--agent", name, "--continue", "--detach", "[[long]]");
    await until(
      async () => (await home.records("one")).filter(({ type }) => type === "tool_called").length > 1,
    );
    await home.holdfast("interrupt", "one");
    await home.holdfast("wait", "one");
    await home.holdfast("fork", "one", "--at", "1", "--name", "other");
    await home.holdfast("run", "--session", "other", "--agent", name, "--continue", "what did you say?");
    const forked = (await home.records("other")).filter(({ type }) => type === "conversation_begun").at(-1);
    if (FINDS_ITS_CONVERSATION.includes(name)) expect(forked?.data["how"]).toBe("resumed");
    const asked = JSON.stringify(home.model.requests.at(-1)?.body);
    expect(asked).toContain("FIRST-SAID");
    expect(asked).not.toContain("[[long]]");
  });

  it("a message reaches it: in its turn where it can be steered, else in the next", async () => {
    await using home = await start({ long: [bash("for i in 1 2 3; do sleep 1; done"), { say: "Went on." }] });
    await home.run("long", "[[long]]", "--agent", name, "--detach");
    await until(async () => (await home.records("long")).some(({ type }) => type === "tool_called"));
    await home.holdfast("send", "long", "STEERED this way");
    await home.holdfast("wait", "long");
    const entered = (await home.records("long")).find(({ type }) => type === "message_entered_context");
    expect(entered?.data).toMatchObject({ certain: true, turn: STEERED.includes(name) ? 1 : 2 });
    expect(JSON.stringify(home.model.requests.at(-1)?.body)).toContain("STEERED this way");
  });

  it("two at once know nothing of each other", async () => {
    await using home = await start({
      a: [write("MARK-A\n"), { say: "A is done." }],
      b: [write("MARK-B\n"), { say: "B is done." }],
    });
    await Promise.all(["a", "b"].map((one) => home.run(one, `[[${one}]] MARK-${one}`, "--agent", name)));
    expect([shown(home, "holdfast/a:made.txt"), shown(home, "holdfast/b:made.txt")]).toEqual([
      "MARK-A\n",
      "MARK-B\n",
    ]);
    for (const { body } of home.model.requests) {
      const text = JSON.stringify(body).toUpperCase();
      expect(text.includes("MARK-A") && text.includes("MARK-B")).toBe(false);
    }
  });
});
