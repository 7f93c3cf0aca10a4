/**
 * An agent of the Agent Client Protocol: what it tells and what it asks for.
 */
import { copyFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";

/** In place of Gemini CLI, which is started without anything else of its own. */
async function start(): Promise<AgentHome> {
  const home = await AgentHome.start();
  const bin = home.join("bin");
  copyFileSync(join(import.meta.dirname, "..", "fixtures", "agents", "telling.ts"), join(bin, "telling.ts"));
  writeFileSync(join(bin, "gemini"), '#!/bin/sh\nexec node "$(dirname "$0")/telling.ts" "$@"\n', {
    mode: 0o755,
  });
  return home;
}

// Without one, HOME would be the user's own.
describe.skipIf(!hasSandbox)("an agent of the Agent Client Protocol", () => {
  it("history that it tells after it has loaded a conversation is not recorded again", async () => {
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

  it("a tool that it asks for runs where the lane has it, and is refused on record where not", async () => {
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
});
