/**
 * Actions of real workers behind the gate, in a lane that asks a person and in one that does not.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actingDir, actionsDir } from "../../src/util/index.ts";
import { GateHome } from "../support/gates.ts";
import { Operator } from "../support/granting.ts";
import { until } from "../support/hosts.ts";
import { acceptFile } from "../support/trust.ts";

const BEGUN = "touch $HOME/begun; sleep 600";
const CONFIG = `lane: asking
lanes:
  asking: { external: ["*"] }
  free: { external: ["*"], approval: [] }
tools:
  late: { run: [sleep, "600"], timeout_minutes: 0.03 }
  slow: { run: [sh, -c, "${BEGUN}"] }
  good: { run: [echo, done] }
`;

async function begun(lane: string): Promise<GateHome> {
  const home = new GateHome({ "holdfast.yaml": CONFIG, "a.txt": "one\n" });
  await home.open();
  await acceptFile(home);
  await home.begin({ lane, holdMs: 60_000 });
  return home;
}

/** Makes a call, which a person approves if the lane asks. */
async function called(home: GateHome, lane: string, name: string, signal?: AbortSignal) {
  const before = (await home.records("approval_requested")).length;
  const calling = home.gate.call(name, {}, { ...(signal && { signal }) });
  if (lane === "asking") await new Operator(home).approve(before + 1);
  return calling;
}

describe.each(["asking", "free"])("an external action in the lane %s", (lane) => {
  it("gate-7 is unknown, and a person is asked, if it took too long or was stopped", async () => {
    using home = await begun(lane);
    expect(await called(home, lane, "late")).toMatchObject({
      outcome: "error",
      text: expect.stringContaining("a person was asked"),
    });
    const stop = new AbortController();
    const calling = called(home, lane, "slow", stop.signal);
    await until(() => existsSync(join(actingDir(home.sessionDir(home.session.id), 1), "home", "begun")));
    stop.abort();
    expect(await calling).toMatchObject({ outcome: "error", text: expect.stringContaining("stopped") });
    const ended = await home.records("action_ended");
    expect(ended.map(({ outcome }) => outcome)).toEqual(["unknown", "unknown"]);
    expect(await home.records("question_asked")).toHaveLength(2);
    await home.end();
  });

  it("gate-5 has a record before it begins, with its call and the id of its outcome", async () => {
    using home = await begun(lane);
    expect(await called(home, lane, "good")).toMatchObject({ outcome: "ok", text: "done" });
    const [call] = await home.records("tool_called");
    const [action] = await home.records("action_begun");
    expect(action).toMatchObject({ tool: "good", call: call?.["call"] });
    const dir = actionsDir(home.sessionDir(home.session.id), 1);
    expect(existsSync(join(dir, `${action?.["approval"]}.json`))).toBe(true);
    expect(await home.records("action_ended")).toMatchObject([
      { approval: action?.["approval"], outcome: "ok", output: "done" },
    ]);
    expect(home.session.state.grants).toEqual({});
    await home.end();
  });
});
