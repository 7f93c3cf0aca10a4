/**
 * A person who looks on while an agent works by itself.
 */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";

describe.runIf(hasSandbox)("attach", () => {
  it("shows the agent's text as it comes, and what a person types reaches it in the same turn", async () => {
    const waits = { bash: { command: "until [ -e ~/released ]; do sleep 0.05; done" } };
    await using home = await AgentHome.start({
      long: [{ say: "BEFORE-THE-TOOL", call: waits }, { say: "AFTER-THE-TOOL" }],
    });
    await home.run("long", "[[long]]", "--agent", "claude", "--detach");
    const attached = home.spawnCli(["attach", "long"]);
    let shown = "";
    attached.stdout?.on("data", (data: Buffer) => {
      shown += data.toString();
    });
    await until(() => shown.includes("BEFORE-THE-TOOL"));
    expect(shown).not.toContain("AFTER-THE-TOOL");
    attached.stdin?.write("TYPED by a person\n");
    const records = () => home.records("long");
    await until(async () => (await records()).some(({ type }) => type === "message_received"));
    writeFileSync(home.sessionDir(home.idOf("long"), "home", "released"), "");
    await until(() => shown.includes("AFTER-THE-TOOL"));
    expect(home.model.requests.at(-1)?.body).toContain("TYPED by a person");
    const entered = (await records()).find(({ type }) => type === "message_entered_context");
    expect(entered?.data).toMatchObject({ turn: 1 });
    await home.holdfast("wait", "long");
  });
});
