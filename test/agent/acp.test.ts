/**
 * An agent that speaks the Agent Client Protocol: its updates and its requests.
 */
import { copyFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";

/** Stands in for Gemini CLI, which is ended without being told, and for goose, which is told first. */
async function start(): Promise<AgentHome> {
  const home = await AgentHome.start();
  const bin = home.join("bin");
  copyFileSync(join(import.meta.dirname, "..", "fixtures", "agents", "telling.ts"), join(bin, "telling.ts"));
  for (const name of ["gemini", "goose"])
    writeFileSync(join(bin, name), '#!/bin/sh\nexec node "$(dirname "$0")/telling.ts" "$@"\n', {
      mode: 0o755,
    });
  return home;
}

// Without a sandbox, HOME would be the user's own.
describe.skipIf(!hasSandbox)("an agent of the Agent Client Protocol", () => {
  it("may replay its history after loading a conversation, and nothing is recorded twice", async () => {
    await using home = await start();
    await home.run("one", "first\nsecond\nthird", "--agent", "gemini");
    const { stdout } = await home.holdfast(
      ...["run", "--session", "one", "--agent", "gemini", "--continue", "fourth"],
    );
    expect(stdout.trim()).toBe("heard fourth");
    const records = await home.records("one");
    const begun = records.filter(({ type }) => type === "conversation_begun").map(({ data }) => data["how"]);
    expect(begun).toEqual(["new", "resumed"]);
    const ofTheSecond = records.filter(({ data }) => data["turn"] === 2);
    expect(
      ofTheSecond.filter(({ type }) => type === "message_added").map(({ data }) => data["content"]),
    ).toEqual(["heard fourth"]);
    expect(ofTheSecond.filter(({ type }) => type === "tool_called")).toEqual([]);
  });

  it("may run the tools that its lane has; the others are refused, and that is recorded", async () => {
    await using home = await start();
    const kinds = ["read", "edit", "execute", "fetch"];
    const asked = kinds.map((kind) => `ask ${kind}`).join(", ");
    for (const lane of ["read-only", "repo-fix"]) {
      await home.run(lane, asked, "--agent", "gemini", "--lane", lane);
      const ran = kinds.filter((kind) => existsSync(home.sessionDir(home.idOf(lane), "home", kind)));
      expect(ran).toEqual(lane === "read-only" ? ["read"] : ["read", "edit", "execute"]);
      const outcomes = (await home.records(lane))
        .filter(({ type }) => type === "tool_returned")
        .map(({ data }) => data["outcome"]);
      expect(outcomes).toEqual(kinds.map((kind) => (ran.includes(kind) ? "ok" : "refused")));
    }
  });

  it("checkpoint-2 the files of a cancelled turn are kept, even if an earlier turn ended with a checkpoint", async () => {
    await using home = await start();
    const again = (...words: string[]) =>
      home.holdfast("run", "--session", "two", "--agent", "goose", "--continue", ...words);
    await home.run("two", "hello", "--agent", "goose");
    await home.holdfast("send", "--no-wake", "two", "write second.txt, stay");
    await again("--detach", "write first.txt");
    const id = home.idOf("two");
    await until(() => existsSync(join(home.capsuleDir(id, 2), "upper", "second.txt")));
    await home.holdfast("interrupt", "two");
    expect((await home.holdfast("wait", "two")).stdout).toContain("task 2 cancelled");
    const { stdout } = await home.holdfast("diff", "two");
    for (const name of ["first.txt", "second.txt"]) expect(stdout).toContain(`b/${name}`);
    // It was asked to stop, and had the time to do so.
    expect(existsSync(home.sessionDir(id, "home", "cancelled"))).toBe(true);
    const records = await home.records("two");
    const of = (type: string) => records.filter((record) => record.type === type).map(({ data }) => data);
    expect(of("turn_ended").map(({ outcome }) => outcome)).toEqual(["completed", "completed", "interrupted"]);
    expect(of("message_added").at(-1)).toMatchObject({ turn: 3, content: "HALF-SAID" });
    // One for each turn, and no others.
    expect(of("snapshot_taken").map(({ turn }) => turn)).toEqual([1, 2, 3]);
    // When it dies in the middle of a turn, what it had said is recorded.
    expect((await again("die")).stdout).toContain("exit 137");
    expect((await home.records("two")).findLast(({ type }) => type === "message_added")?.data).toMatchObject({
      turn: 4,
      content: "HALF-SAID",
    });
  });

  it("is told to end its turn before a pause, unless it is one that would then forget the turn", async () => {
    await using home = await start();
    const toldIn = async (agent: string) => {
      await home.run(agent, "write begun.txt, stay", "--agent", agent, "--detach");
      const id = home.idOf(agent);
      await until(() => existsSync(join(home.capsuleDir(id), "upper", "begun.txt")));
      await home.holdfast("pause", agent);
      return existsSync(home.sessionDir(id, "home", "cancelled"));
    };
    expect(await toldIn("goose")).toBe(true);
    expect(await toldIn("gemini")).toBe(false);
  });

  it("message-4 a message that it had not answered before a kill is sent to it again", async () => {
    await using home = await start();
    await home.run("two", "hello", "--agent", "gemini");
    const id = home.idOf("two");
    await home.holdfast("send", "two", "mute");
    await until(() => existsSync(home.sessionDir(id, "home", "muted")));
    process.kill(home.hostPid(id) ?? 0, "SIGKILL");
    await home.holdfast("resume", "two");
    await home.holdfast("wait", "two");
    const records = await home.records("two");
    const entered = records.filter(({ type }) => type === "message_entered_context");
    expect(entered.map(({ data }) => data)).toMatchObject([{ certain: true }]);
    const heard = records.findLast(({ type }) => type === "message_added");
    expect(heard?.data["content"]).toContain("mute");
  });
});
