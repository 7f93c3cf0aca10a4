/**
 * What an adapter has to do, tried with each real agent that is installed (npm run test:agents), against a
 * scripted model. Where agents differ, what is seen is compared with the agent's manifest; everything else
 * holds for all.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { knownAgents, manifestOf, versionOf } from "../../src/agent/index.ts";
import { treeOf } from "../../src/process/tree.ts";
import { orphansIn } from "../../src/testing/index.ts";
import { readTextOr } from "../../src/util/index.ts";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";
import { agentPath, isForTests, pathOf } from "./agents.ts";
import { isWriting, Observed } from "./observed.ts";

/** The name of each agent's shell tool, to call it where it is not offered. */
const SHELLS: Readonly<Record<string, string>> = {
  claude: "Bash",
  opencode: "bash",
  gemini: "run_shell_command",
  goose: "shell",
};
/** How long the model takes, to stop the agent meanwhile; how long the agent then gets no answer. */
const ANSWER_MS = 4_000;
const ALONE_MS = 4_000;

const write = (content: string) => ({ call: { write: { path: "made.txt", content } } });
const bash = (command: string) => ({ call: { bash: { command } } });
/** In a form that every agent accepts: some refuse a long sleep, or a command inside another. */
const seconds = (count: number) => `for i in ${"x ".repeat(count)}; do sleep 1; done`;

if (!hasSandbox)
  console.log("left out: the conformance of agents: without a sandbox HOME would be the user's own");

async function findAgents(): Promise<{ name: string; program: string; version: string }[]> {
  const here = knownAgents.map(async (agent) => {
    const { name, program } = agent;
    const path = pathOf(program);
    if (path === undefined) {
      console.log(`left out: the conformance of ${name}: it is not installed (npm run test:agents)`);
      return [];
    }
    const version = (await versionOf(agent, path)) ?? "unknown";
    if (isWriting || isForTests(path) || manifestOf(name, version)) return [{ name, program, version }];
    console.log(`left out: the conformance of ${name}: ${version} has no manifest (npm run test:agents)`);
    return [];
  });
  return (await Promise.all(here)).flat();
}

const here = await findAgents();
if (here.length === 0) it.skip("no agent is installed", () => {});

describe.skipIf(!hasSandbox).each(here)(
  "$name $version",
  { concurrent: true, timeout: 300_000 },
  ({ name, program, version }) => {
    const observed = new Observed(name, version);
    afterAll(() => observed.write());

    const start = async (...args: Parameters<typeof AgentHome.start>) => {
      const home = await AgentHome.start(...args);
      home.env["PATH"] = agentPath;
      return home;
    };
    const run = (home: AgentHome, session: string, prompt: string, ...options: string[]) =>
      home.run(session, prompt, "--agent", name, ...options);
    const goOn = (home: AgentHome, session: string, prompt: string, ...options: string[]) =>
      home.holdfast("run", "--session", session, "--agent", name, "--continue", ...options, prompt);
    const ofType = async (home: AgentHome, session: string, type: string) =>
      (await home.records(session)).filter((record) => record.type === type).map(({ data }) => data);
    const shown = (home: AgentHome, ref: string) =>
      execFileSync("git", ["-C", home.main, "show", ref], { encoding: "utf8" });
    const hasRun = (home: AgentHome, session: string) =>
      existsSync(home.sessionDir(home.idOf(session), "home", "ran"));
    const lastAsked = (home: AgentHome) => home.model.requests.findLast(({ isTurn }) => isTurn)?.body ?? "";
    /** Whether the agent went on in its own conversation; otherwise it was told the journal's story. */
    const isResumed = async (home: AgentHome, session: string) =>
      (await ofType(home, session, "conversation_begun")).at(-1)?.["how"] === "resumed";

    it("gate: a call of an external tool parks the task, and is done when a person has approved it", async () => {
      const push = {
        call: { mcp: { server: "holdfast", tool: "git_push", args: { branch: "from-agent" } } },
      };
      await using home = await start({
        pushing: [write("made\n"), push, { say: "It waits." }, push, { say: "It is pushed." }],
      });
      home.settings("ask_seconds: 0.2\n");
      const bare = home.join("bare.git");
      execFileSync("git", ["init", "-q", "--bare", bare]);
      writeFileSync(join(home.main, "holdfast.yaml"), "lanes: { pushing: { external: [git_push] } }\n");
      gitIn(home.main, "remote", "add", "origin", `file://${bare}`);
      gitIn(home.main, "add", "-A");
      gitIn(home.main, "commit", "-qm", "a lane that may push");
      const first = await run(home, "pushing", "please do [[pushing]]", "--lane", "pushing");
      expect(first.status, first.stderr).toBe(3);
      const waiting = JSON.parse((await home.holdfast("approvals", "--json")).stdout);
      expect(waiting).toMatchObject([{ tool: "git_push", args: { branch: "from-agent" } }]);
      const [{ id, fingerprint }] = waiting;
      const yes = await home.holdfast("approve", id, "--yes", "--fingerprint", fingerprint);
      expect(yes.status, yes.stderr).toBe(0);
      const end = await home.holdfast("wait", "pushing");
      // An agent that has forgotten its calls repeats this one after the decision, which is a new approval.
      const isForgotten = end.status === 3;
      expect(end.status, `${end.stdout}${end.stderr}`).toBe(isForgotten ? 3 : 0);
      observed.saw("remembersGateCalls", !isForgotten);
      expect(gitIn(bare, "show", "from-agent:made.txt")).toBe("made");
      expect(await ofType(home, "pushing", "action_ended")).toMatchObject([{ outcome: "ok" }]);
      // The gate records these calls, and the adapter does not record them again.
      const pushes = (await ofType(home, "pushing", "tool_called")).filter(
        ({ args }) => (args as { branch?: string }).branch === "from-agent",
      );
      const made = Array.from({ length: isForgotten ? 3 : 2 }, () => "git_push");
      expect(pushes.map(({ tool }) => tool)).toEqual(made);
    });

    it.runIf(name === "claude")(
      "tools: gateway: the agent has no tools of its own and works with the session's tools",
      async () => {
        const mcp = (tool: string, args: object) => ({ call: { mcp: { server: "holdfast", tool, args } } });
        await using home = await start({
          gated: [
            mcp("write_file", { path: "made.txt", content: "by the gate" }),
            mcp("run_command", { command: "cat made.txt" }),
            { say: "Done." },
          ],
        });
        writeFileSync(
          join(home.main, "holdfast.yaml"),
          "agents: { gated: { adapter: claude, tools: gateway } }\n",
        );
        gitIn(home.main, "add", "-A");
        gitIn(home.main, "commit", "-qm", "an agent with the gate's tools");
        const { status, stderr } = await home.run("gated", "please do [[gated]]", "--agent", "gated");
        expect(status, stderr).toBe(0);
        expect(shown(home, "holdfast/gated:made.txt")).toBe("by the gate");
        const called = await ofType(home, "gated", "tool_called");
        expect(called.map(({ tool }) => tool)).toEqual(["write_file", "run_command"]);
        const offered = home.model.requests.find(({ isTurn }) => isTurn)?.body ?? "";
        expect(offered).toContain("mcp__holdfast__run_command");
        expect(offered).not.toContain('"name":"Bash"');
      },
    );

    it("new: the first task records its tool calls, shows its text, commits its work and meters its tokens exactly", async () => {
      await using home = await start({
        hello: [
          { ...write("made\n"), usage: { cacheWriteTokens: 3000 } },
          { ...bash("cat made.txt"), usage: { cacheReadTokens: 3000, cacheWriteTokens: 70 } },
          { say: "All done." },
        ],
      });
      const { status, stdout, stderr } = await run(home, "hello", "please do [[hello]]");
      expect([status, stdout], stderr).toEqual([0, expect.stringContaining("All done.")]);
      expect(shown(home, "holdfast/hello:made.txt")).toBe("made\n");
      const called = await ofType(home, "hello", "tool_called");
      expect(called.length).toBeGreaterThanOrEqual(2);
      const spent = await ofType(home, "hello", "usage_metered");
      const sum = (field: string) => spent.reduce((all, one) => all + Number(one[field]), 0);
      const { cacheWriteTokens, ...used } = home.model.usageOf("hello");
      // Only Anthropic's answers distinguish what was written to a cache from what was read.
      const hasWrites = spent.every((one) => one["provider"] === "anthropic");
      const [uncounted, written] = hasWrites ? [0, cacheWriteTokens] : [cacheWriteTokens, 0];
      expect({
        inputTokens: sum("inputTokens"),
        outputTokens: sum("outputTokens"),
        cacheReadTokens: sum("cacheReadTokens"),
        cacheWriteTokens: sum("cacheWriteTokens"),
      }).toEqual({ ...used, inputTokens: used.inputTokens + uncounted, cacheWriteTokens: written });
    });

    it("refuses a call of a tool that the lane does not have and that was not offered, if its manifest says so", async () => {
      const tool = { name: SHELLS[name] ?? "", args: { command: "touch ~/ran", description: "Tries it" } };
      await using home = await start({
        shell: [{ call: { tool: { ...tool, isUnoffered: true } } }, { say: "All done." }],
      });
      await run(home, "reader", "please do [[shell]]", "--lane", "read-only");
      expect(await ofType(home, "reader", "task_ended")).toMatchObject([{ files: 0, outcome: "done" }]);
      observed.saw("refuseCalls", !hasRun(home, "reader"));
      // The control: it was the agent that refused; the sandbox would have allowed it.
      const control = ["--repo", home.main, "--name", "control", "--lane", "read-only"];
      await home.holdfast("run", ...control, "--", "sh", "-c", "touch ~/ran");
      expect(hasRun(home, "control")).toBe(true);
    });

    it("waits for an answer before a tool takes effect, if its manifest says so", async () => {
      await using home = await start({
        touch: [{ ...bash("touch ~/ran"), delayMs: ANSWER_MS }, { say: "All done." }],
      });
      await run(home, "touch", "[[touch]]", "--detach");
      const id = home.idOf("touch");
      await until(() => home.model.requests.some(({ step }) => step));
      const host = home.hostPid(id) ?? 0;
      const agent = treeOf(host).filter((pid) => pid !== host && commandOf(pid).includes(program));
      signal(agent, "SIGSTOP");
      // By then the whole answer is where the agent will read it.
      await until(async () => (await ofType(home, "touch", "usage_metered")).length > 0);
      expect(hasRun(home, "touch")).toBe(false);
      signal([host], "SIGSTOP");
      signal(agent, "SIGCONT");
      await until(() => hasRun(home, "touch"), Boolean, ALONE_MS).catch(() => {});
      const hasAsked = !hasRun(home, "touch");
      signal([host], "SIGCONT");
      await home.holdfast("wait", "touch");
      expect(hasRun(home, "touch")).toBe(true);
      observed.saw("asksBeforeEffect", hasAsked);
    });

    it("goes on after a kill in the middle of a turn, and no call takes effect twice", async () => {
      await using home = await start({
        long: [bash(`echo x >> effects; ${seconds(4)}`), { say: "All done." }],
      });
      await run(home, "long", "[[long]]", "--detach");
      const id = home.idOf("long");
      await until(() => readTextOr(`${home.capsuleDir(id)}/upper/effects`, ""));
      // An agent that stores its calls does so while the tool runs.
      await sleep(500);
      process.kill(home.hostPid(id) ?? 0, "SIGKILL");
      await home.holdfast("resume", "long");
      await home.holdfast("wait", "long");
      expect(await ofType(home, "long", "task_ended")).toMatchObject([{ outcome: "unverified" }]);
      expect(home.model.requests.flatMap(orphansIn)).toEqual([]);
      observed.saw("resume", await isResumed(home, "long"));
      // An agent that forgets the call makes it again, and is refused.
      const asked = (await ofType(home, "long", "tool_called")).filter(isOf("effects"));
      observed.saw("remembersOpenCalls", asked.length === 1);
      expect(shown(home, "holdfast/long:effects")).toBe("x\n");
    });

    it("goes on after a pause in the middle of a turn, and does not repeat a call that was done", async () => {
      await using home = await start({
        long: [
          bash("echo x >> effects"),
          bash(`echo started > started; ${seconds(60)}`),
          bash("echo y >> effects"),
          { say: "All done." },
        ],
      });
      await run(home, "long", "[[long]]", "--detach");
      await until(() => readTextOr(`${home.capsuleDir(home.idOf("long"))}/upper/started`, ""));
      await home.holdfast("pause", "long");
      await home.holdfast("resume", "long");
      await home.holdfast("wait", "long");
      expect(await ofType(home, "long", "task_ended")).toMatchObject([{ outcome: "unverified" }]);
      expect(home.model.requests.flatMap(orphansIn)).toEqual([]);
      expect(shown(home, "holdfast/long:effects")).toBe("x\ny\n");
    });

    it("ends when it is cancelled; a fork and a rewind have the files and the conversation of their turn", async () => {
      await using home = await start({
        one: [write("one\n"), { say: "FIRST-SAID" }],
        copy: [bash("cp made.txt copy.txt"), { say: "Copied." }],
        long: [bash(`echo two > made.txt; ${seconds(60)}`), { say: "Never." }],
      });
      await run(home, "one", "[[one]]");
      await goOn(home, "one", "[[long]]", "--detach");
      await until(() =>
        readTextOr(`${home.capsuleDir(home.idOf("one"), 2)}/upper/made.txt`, "").includes("two"),
      );
      await home.holdfast("interrupt", "one");
      await home.holdfast("wait", "one");
      expect((await ofType(home, "one", "task_ended")).at(-1)).toMatchObject({ outcome: "cancelled" });
      const isAtFirst = (asked: string) => asked.includes("FIRST-SAID") && !asked.includes("[[long]]");
      await home.holdfast("fork", "one", "--at", "1", "--name", "other");
      await goOn(home, "other", "what did you say? [[copy]]");
      expect(lastAsked(home)).toSatisfy(isAtFirst);
      expect(shown(home, "holdfast/other:copy.txt")).toBe("one\n");
      observed.saw("fork", await isResumed(home, "other"));
      await home.holdfast("rewind", "one", "--to", "1");
      await goOn(home, "one", "and what did you say? [[copy]]");
      expect(lastAsked(home)).toSatisfy(isAtFirst);
      expect(shown(home, "holdfast/one:copy.txt")).toBe("one\n");
      observed.saw("rewind", await isResumed(home, "one"));
      expect(home.model.requests.flatMap(orphansIn)).toEqual([]);
    });

    it("gets a message in the current turn if it can be steered, otherwise in the next turn", async () => {
      await using home = await start({
        long: [bash(seconds(3)), { say: "Went on." }],
      });
      await run(home, "long", "[[long]]", "--detach");
      await until(async () => (await ofType(home, "long", "tool_called")).length > 0);
      await home.holdfast("send", "long", "STEERED this way");
      await home.holdfast("wait", "long");
      const [entered] = await ofType(home, "long", "message_entered_context");
      expect(entered).toMatchObject({ certain: true });
      expect([1, 2]).toContain(entered?.["turn"]);
      observed.saw("steer", entered?.["turn"] === 1);
      expect(lastAsked(home)).toContain("STEERED this way");
    });

    it("is parked when its budget is reached in the middle of a turn, and goes on when the budget is raised", async () => {
      await using home = await start({
        dear: [
          bash("echo x >> effects"),
          { ...bash("echo y >> effects"), usage: { inputTokens: 900 } },
          { say: "Went on." },
        ],
      });
      home.settings("hold_minutes: 0\n");
      const { status } = await run(home, "dear", "[[dear]]", "--budget-tokens", "500");
      expect(status).toBe(7);
      expect(await ofType(home, "dear", "task_parked")).toMatchObject([{ reason: "budget" }]);
      await home.holdfast("budget", "dear", "--raise", "tokens=10000");
      await home.holdfast("wait", "dear");
      expect(await ofType(home, "dear", "task_ended")).toMatchObject([{ outcome: "unverified" }]);
      expect(await isResumed(home, "dear")).toBe(true);
      expect(home.model.requests.flatMap(orphansIn)).toEqual([]);
      // The first call ran. Some agents also ask outside of their conversation. If such a request is held first, the
      // second call is refused or cut off, and may be made again later. No call has its effect twice.
      const [first, ...second] = (await ofType(home, "dear", "tool_returned")).map(({ outcome }) => outcome);
      expect(first).toBe("ok");
      const completed = second.filter((outcome) => outcome === "ok").length;
      expect(completed).toBeLessThanOrEqual(1);
      const effects = shown(home, "holdfast/dear:effects");
      if (completed === 1) expect(effects).toBe("x\ny\n");
      else if (second.includes("interrupted")) expect(["x\n", "x\ny\n"]).toContain(effects);
      else expect([second, effects]).toEqual([["refused"], "x\n"]);
    });

    it("two sessions at once see nothing of each other", async () => {
      await using home = await start({
        a: [write("MARK-A\n"), { say: "A is done." }],
        b: [write("MARK-B\n"), { say: "B is done." }],
      });
      await Promise.all(["a", "b"].map((one) => run(home, one, `[[${one}]] MARK-${one}`)));
      expect(shown(home, "holdfast/a:made.txt")).toBe("MARK-A\n");
      expect(shown(home, "holdfast/b:made.txt")).toBe("MARK-B\n");
      for (const { body } of home.model.requests) {
        const text = body.toUpperCase();
        expect(text.includes("MARK-A") && text.includes("MARK-B")).toBe(false);
      }
    });
  },
);

/** Whether the arguments of a call contain the word. */
const isOf = (word: string) => (call: { readonly [field: string]: unknown }) =>
  JSON.stringify(call["args"]).includes(word);

function commandOf(pid: number): string {
  try {
    return readFileSync(join("/proc", String(pid), "cmdline"), "utf8");
  } catch {
    return "";
  }
}

function signal(pids: readonly number[], name: "SIGSTOP" | "SIGCONT"): void {
  for (const pid of pids) process.kill(pid, name);
}
