/**
 * Claude Code's own interface in a terminal of its session: what it is told when it starts.
 */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readTextOr } from "../../src/util/index.ts";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { hasScript } from "../support/terminal.ts";

describe.skipIf(!hasSandbox || !hasScript)("an agent's own interface", () => {
  it("starts with a summary of earlier work, and resumes after a crash without the same request again", async () => {
    await using home = await AgentHome.start({ one: [{ say: "FIRST-SAID" }] });
    await home.run("one", "[[one]]");
    await home.holdfast("run", "--session", "one", "-i", "--detach", "--agent", "claude", "[[one]] NEXT");
    const id = home.idOf("one");
    const started = (): string[][] =>
      readTextOr(home.sessionDir(id, "home", "started"), "")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    const metered = async () =>
      (await home.records("one")).filter(({ type }) => type === "usage_metered").length === 2;
    await until(metered);
    const [first = []] = started();
    expect(first).toContain("--session-id");
    expect(first.at(-1)).toMatch(/What happened in this session before.*FIRST-SAID.*NEXT/s);
    process.kill(home.hostPid(id) ?? 0, "SIGKILL");
    await home.holdfast("resume", "one");
    const [, second = []] = await until(started, (all) => all.length === 2);
    expect(second[second.indexOf("--resume") + 1]).toBe(first[first.indexOf("--session-id") + 1]);
    expect(second.at(-1)).toContain("was ended in the middle of your work");
    expect(second.at(-1)).not.toContain("NEXT");
    await home.holdfast("interrupt", "one");
    await home.holdfast("wait", "one");
  });

  it("leaves a conversation that goes on without it, with --continue", async () => {
    await using home = await AgentHome.start({ one: [{ say: "FIRST-SAID" }] });
    await home.run("one", "[[one]]", "-i", "--detach", "--agent", "claude");
    await until(async () => (await home.records("one")).some(({ type }) => type === "usage_metered"));
    writeFileSync(home.sessionDir(home.idOf("one"), "home", "released"), "");
    await home.holdfast("wait", "one");
    const { status } = await home.holdfast("run", "--session", "one", "--continue", "what did you say?");
    expect(status).toBe(0);
    const last = home.model.requests.at(-1)?.body;
    for (const text of ["FIRST-SAID", "what did you say?"]) expect(last).toContain(text);
    const begun = (await home.records("one")).filter(({ type }) => type === "conversation_begun");
    expect(begun.map(({ data }) => data["how"])).toEqual(["new", "resumed"]);
  });
});
