/**
 * Misbehaving agents and failing providers: the task ends, or can be ended, with a clear reason. Other
 * sessions go on, and so does the same session with an agent that behaves.
 */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { brokerPlace } from "../../src/broker/wire.ts";
import type { Script } from "../../src/testing/index.ts";
import { readTextOr } from "../../src/util/index.ts";
import { AgentHome, PLANTED_KEY } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const bash = (command: string) => ({ call: { bash: { command } } });
const good = [bash("echo good > good.txt"), { say: "All good." }];
const silent = [{ fault: "hang", times: "always", say: "Never." }] as const;
const failing = (status: number) => [{ fault: "error", status, times: "always", say: "Never." }] as const;

const OF_VICTIM = "sk-ant-api03-planted-of-victim";

const hostile = (home: AgentHome, way: string, ...options: string[]) =>
  home.run(way, "do", "--model", `hostile-${way}`, ...wall, ...options);

/** However its last task ended, the session goes on with an agent that behaves. */
async function goesOn(home: AgentHome, session: string): Promise<void> {
  const { status, stdout, stderr } = await home.holdfast("run", ...wall, "--session", session, "do [[good]]");
  expect([status, stdout.trim()], `${session}: ${stderr}`).toEqual([0, "All good."]);
}

async function isCancelled(home: AgentHome, session: string): Promise<void> {
  await home.holdfast("interrupt", session);
  const { status, stdout } = await home.holdfast("wait", session);
  expect([status, stdout]).toEqual([130, expect.stringContaining(`${session} task 1 cancelled`)]);
}

/** The peak memory of the session process, in MB. */
function peakOf(home: AgentHome, session: string): number {
  const status = readTextOr(`/proc/${home.hostPid(home.idOf(session))}/status`, "");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

const OWN_URL = "process.env.ANTHROPIC_BASE_URL";
const OWN_KEY = "process.env.ANTHROPIC_API_KEY";

/** A command that sends a request to a model and prints the answer. `url` and `key` are JavaScript. */
function asking(url: string, key: string, model = "scripted"): string {
  const tools = [{ name: "x", input_schema: {} }];
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "FOREIGN" }], tools });
  const ask = `fetch(${url} + "/v1/messages", { method: "POST", headers: { "x-api-key": ${key} }, body: ${JSON.stringify(body)} })`;
  return `node -e '${ask}.then((answer) => answer.text()).then(console.log, console.log)'`;
}

const outputOf = async (home: AgentHome, session: string) =>
  JSON.stringify(
    (await home.records(session))
      .filter(({ type }) => type === "tool_returned")
      .map(({ data }) => data["output"]),
  );

describe("a misbehaving agent", () => {
  it("fails its task with a clear reason if it exits, breaks its protocol or never ends a line", async () => {
    await using home = await AgentHome.start({ good });
    const said = {
      exit137:
        "The agent ended before it had answered (exit 137: it was killed, perhaps because memory was short).",
      malformed: "The agent was ended: it broke its protocol (tool_called: call:",
      line: "The agent was ended: it wrote a line of more than 33554432 bytes.",
    };
    const fails = async ([way, text]: [string, string]) => {
      const { status, stdout, stderr } = await hostile(home, way);
      expect([status, stdout], stderr).toEqual([1, expect.stringContaining(text)]);
      expect(stdout + stderr).not.toMatch(/^ +at /m);
      await goesOn(home, way);
    };
    await Promise.all(Object.entries(said).map(fails));
  });

  it("can be interrupted if it hangs, floods or asks its model forever, and holds up no other session", async () => {
    await using home = await AgentHome.start({ good, silent });
    const ways = ["hang", "flood", "reconnect"];
    await Promise.all(ways.map((way) => hostile(home, way, "--detach")));
    // Enough for each of them to have misbehaved.
    await until(() => home.model.requests.length > 20);
    await until(async () => (await home.records("flood")).length > 100);
    expect((await home.run("beside", "[[good]]", ...wall)).status).toBe(0);
    // What it writes waits in its pipe, not in the memory of the session process.
    expect(peakOf(home, "flood")).toBeLessThan(200);
    await Promise.all(ways.map((way) => isCancelled(home, way)));
    await Promise.all(ways.map((way) => goesOn(home, way)));
  });

  it("tool-call-1 is refused a call that it asks for between two turns", async () => {
    await using home = await AgentHome.start();
    await hostile(home, "outside", "--detach");
    await until(async () => (await home.records("outside")).some(({ type }) => type === "turn_started"));
    await home.holdfast("send", "outside", "more");
    expect((await home.holdfast("wait", "outside")).status).toBe(0);
    const records = await home.records("outside");
    const said = JSON.stringify(records.filter(({ type }) => type === "message_added"));
    expect(said).toMatch(/ANSWERED.*deny.*no turn is open/);
    expect(records.filter(({ type }) => type === "tool_called")).toEqual([]);
  });

  it("keeps its conversation if it ends before it has begun", async () => {
    await using home = await AgentHome.start({ good });
    await home.run("early", "[[good]]", ...wall);
    const again = (...more: string[]) =>
      home.holdfast("run", ...wall, "--session", "early", "--continue", ...more, "go on");
    for (const way of ["early", "refuses"])
      expect((await again("--model", `hostile-${way}`)).stdout).toContain("ended before it had answered");
    expect((await again()).status).toBe(0);
    const begun = (await home.records("early")).filter(({ type }) => type === "conversation_begun");
    expect(begun.map(({ data }) => data["how"])).toEqual(["new", "resumed", "resumed", "resumed"]);
    expect(new Set(begun.map(({ data }) => data["conversation"])).size).toBe(1);
  });

  it("is metered by the model in its requests, whatever model it was started with", async () => {
    const other = [bash(asking(OWN_URL, OWN_KEY, "claude-other-9")), { say: "Done." }];
    await using home = await AgentHome.start({ other, good });
    await home.run("other", "[[other]]", "--model", "claude-sonnet-5-5", ...wall);
    const metered = (await home.records("other")).filter(({ type }) => type === "usage_metered");
    const models = metered.map(({ data }) => [data["model"], data["isPriced"]]);
    expect(models).toContainEqual(["claude-other-9", false]);
    expect(models).toContainEqual(["claude-sonnet-5-5", true]);
    await goesOn(home, "other");
  });
});

describe.each([...(hasSandbox ? ["in a sandbox"] : []), "without one"])("sandbox or not: %s", (where) => {
  const isOpen = where === "without one";
  const options = isOpen ? ["--no-sandbox"] : [];

  it("an agent can't use another session's model route", async () => {
    const scripts: Record<string, Script> = {
      tells: [bash('echo "$ANTHROPIC_BASE_URL $ANTHROPIC_API_KEY" > way; sleep 60'), { say: "Never." }],
    };
    await using home = await AgentHome.start(scripts);
    home.env["ANTHROPIC_API_KEY"] = OF_VICTIM;
    await home.run("victim", "[[tells]]", "--detach", ...options);
    home.env["ANTHROPIC_API_KEY"] = PLANTED_KEY;
    const id = home.idOf("victim");
    const way = () =>
      ["upper", "tree"].map((dir) => readTextOr(join(home.capsuleDir(id), dir, "way"), "")).join("");
    const [url = "", key = ""] = (await until(way)).trim().split(" ");
    // Without a sandbox it could find the other's key, as any program of the same user could. With its
    // own key it must get nothing there.
    const ask = asking(JSON.stringify(url), isOpen ? OWN_KEY : JSON.stringify(key));
    const socket = `ls ${brokerPlace(home.dir).socket} || echo NO BROKER`;
    scripts["foreign"] = [bash(`${ask}; ${socket}`), { say: "Done." }];
    await home.run("foreign", "[[foreign]]", ...options);
    expect(await outputOf(home, "foreign")).toContain(isOpen ? "this session's key is needed" : "NO BROKER");
    // In a sandbox the same address, if it exists there, is its own route.
    const foreign = home.model.requests.filter(({ body }) => body.includes('"content":"FOREIGN"'));
    expect(foreign.map(({ headers }) => headers["x-api-key"])).not.toContain(OF_VICTIM);
    if (isOpen) expect(foreign).toEqual([]);
    // The control: the victim itself was served.
    expect(home.model.requests[0]?.headers["x-api-key"]).toBe(OF_VICTIM);
    expect((await home.records("victim")).filter(({ type }) => type === "usage_metered")).toHaveLength(1);
    await isCancelled(home, "victim");
  });
});

describe("a provider that fails", () => {
  it("is named together with its answer, and the session can go on", async () => {
    const scripts = { good, 401: failing(401), 429: failing(429), 529: failing(529) };
    const half = [{ fault: "drop", times: "always", say: "Never." }] as const;
    await using home = await AgentHome.start({ ...scripts, half, silent });
    const said = {
      401: "anthropic answered 401: it does not take the key (see holdfast doctor)",
      429: "anthropic answered 429: the agent decides whether it asks again",
      529: "anthropic answered 529: the agent decides whether it asks again",
      half: "anthropic broke off in the middle of an answer",
    };
    await home.run("silent", "[[silent]]", "--detach", ...wall);
    const fails = async ([script, text]: [string, string]) => {
      const session = `of-${script}`;
      const { status, stderr } = await home.run(session, `[[${script}]]`, ...wall);
      expect([status, stderr]).toEqual([1, expect.stringContaining(`[model]   ${text}\n`)]);
      await goesOn(home, session);
    };
    await Promise.all(Object.entries(said).map(fails));
    await isCancelled(home, "silent");
    await goesOn(home, "silent");
  });
});
