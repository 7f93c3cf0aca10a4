/**
 * A message for an agent whose budget is reached when its turn ends.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";

const release = (home: AgentHome, name: string) =>
  writeFileSync(home.sessionDir(home.idOf(name), "home", "released"), "");

/** The task has ended, what it did is published, and nobody has read the message. */
async function expectLeftUnread(home: AgentHome, name: string): Promise<void> {
  const waited = await home.holdfast("wait", name);
  const records = await home.records(name);
  const types = records.map(({ type }) => type);
  expect(waited.status, waited.stdout).toBe(0);
  const acted = records.find(({ type, data }) => type === "stage_ended" && data["stage"] === "act");
  expect(acted?.data["outcome"]).toBe("done");
  expect(types).toContain("budget_reached");
  expect(types).toContain("message_received");
  expect(types).not.toContain("message_entered_context");
  expect(types.filter((type) => type === "conversation_begun")).toHaveLength(1);
}

describe.runIf(hasSandbox)("a message after the last turn that the budget allows", () => {
  it("is left unread, and the work is published, if it waits for the end of the turn", async () => {
    const waits = "echo made > made.txt; until [ -e ~/released ]; do sleep 0.05; done";
    const last = { say: "Done.", usage: { inputTokens: 90_000 } };
    await using home = await AgentHome.start({ work: [{ call: { bash: { command: waits } } }, last] });
    const options = ["--agent", "opencode", "--model", "anthropic/m", "--budget-tokens", "50000"];
    await home.run("acp", "[[work]]", ...options, "--detach");
    await until(async () => (await home.records("acp")).some(({ type }) => type === "tool_called"));
    await home.holdfast("send", "--no-wake", "acp", "and one more thing");
    release(home, "acp");
    await expectLeftUnread(home, "acp");
    const made = execFileSync("git", ["-C", home.main, "show", "holdfast/acp:made.txt"], {
      encoding: "utf8",
    });
    expect(made).toBe("made\n");
  });

  it("is left unread if its agent was handed it, even if the agent takes it in at once", async () => {
    await using home = await AgentHome.start();
    for (const way of ["outside", "hasty"]) {
      await home.run(way, "do", "--model", `hostile-${way}`, "--budget-turns", "1", "--detach");
      await until(async () => (await home.records(way)).some(({ type }) => type === "turn_started"));
      await home.holdfast("send", "--no-wake", way, "and one more thing");
      await expectLeftUnread(home, way);
    }
  });

  it("is left unread if its agent was just leaving", async () => {
    await using home = await AgentHome.start();
    await home.run("leaving", "do", "--model", "hostile-lingers", "--budget-turns", "1", "--detach");
    await until(async () => (await home.records("leaving")).some(({ type }) => type === "message_added"));
    await home.holdfast("send", "--no-wake", "leaving", "and one more thing");
    await until(async () => (await home.records("leaving")).some(({ type }) => type === "message_received"));
    release(home, "leaving");
    await expectLeftUnread(home, "leaving");
  });
});
