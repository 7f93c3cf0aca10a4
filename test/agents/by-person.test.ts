/**
 * A person and the real Claude Code, if it is installed (npm run test:agents), against a scripted model: its
 * own interface in a terminal, and a window on a session in which it works by itself.
 */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { hasScript, Terminal } from "../support/terminal.ts";
import { agentPath, isInstalled } from "./agents.ts";

const isHere = isInstalled({ name: "claude" });
if (!isHere) console.log("left out: the tests of Claude Code in a terminal: it is not installed");

const bash = (command: string) => ({ call: { bash: { command } } });

describe.skipIf(!hasSandbox || !hasScript || !isHere)("claude and a person", () => {
  const start = async (...args: Parameters<typeof AgentHome.start>) => {
    const home = await AgentHome.start(...args);
    home.env["PATH"] = agentPath;
    return home;
  };
  const inTerminal = (home: AgentHome, ...args: string[]) => new Terminal(home, args, undefined, home.env);
  const lastAsked = (home: AgentHome) => home.model.requests.findLast(({ isTurn }) => isTurn)?.body ?? "";

  it("run -i shows claude's own interface; its work is committed, and its conversation can be continued", async () => {
    await using home = await start({
      made: [{ call: { write: { path: "made.txt", content: "made\n" } } }, { say: "FIRST-SAID" }],
    });
    await using terminal = inTerminal(home, "run", "-i", "--agent", "claude", "--name", "shown");
    await terminal.shows("❯");
    terminal.type("please do [[made]]");
    await terminal.shows("[[made]]");
    terminal.type("\r");
    await terminal.shows("FIRST-SAID");
    terminal.type("/exit");
    await terminal.shows("/exit");
    terminal.type("\r");
    await until(async () => (await home.records("shown")).some(({ type }) => type === "task_ended"));
    const made = execFileSync("git", ["-C", home.main, "show", "holdfast/shown:made.txt"], {
      encoding: "utf8",
    });
    expect(made).toBe("made\n");
    const types = (await home.records("shown")).map(({ type }) => type);
    expect(types.filter((type) => type === "usage_metered").length).toBeGreaterThanOrEqual(2);
    await home.holdfast("run", "--session", "shown", "--agent", "claude", "--continue", "what did you say?");
    expect(lastAsked(home)).toContain("FIRST-SAID");
    const begun = (await home.records("shown")).filter(({ type }) => type === "conversation_begun");
    expect(begun.map(({ data }) => data["how"])).toEqual(["new", "resumed"]);
  });

  it("attach shows claude's text as it comes, and what a person types there reaches it in the same turn", async () => {
    await using home = await start({
      long: [
        { say: "BEFORE-THE-TOOL", ...bash("for i in 1 2 3 4 5 6; do sleep 1; done") },
        { say: "AFTER-THE-TOOL" },
      ],
    });
    await home.run("long", "[[long]]", "--agent", "claude", "--detach");
    await using terminal = inTerminal(home, "attach", "long");
    await terminal.shows("BEFORE-THE-TOOL");
    expect(terminal.screen).not.toContain("AFTER-THE-TOOL");
    terminal.type("TYPED by a person\n");
    await terminal.shows("AFTER-THE-TOOL");
    expect(lastAsked(home)).toContain("TYPED by a person");
    const entered = (await home.records("long")).find(({ type }) => type === "message_entered_context");
    expect(entered?.data).toMatchObject({ turn: 1 });
  });
});
