/**
 * Which records the gate writes for a call, and when: before any effect, and after a kill cut an action off.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { PlainTool } from "../../src/lane/index.ts";
import { GateHome } from "../support/gates.ts";
import { CountedTool, Operator } from "../support/granting.ts";

/** A tool that reads the journal's files at the moment it runs. */
class Looking implements PlainTool {
  readonly name = "look_at_journal";
  readonly class = "write";
  readonly description = "Looks.";
  readonly input = { type: "object" };
  seen = "";
  readonly #home: GateHome;

  constructor(home: GateHome) {
    this.#home = home;
  }

  async run() {
    const dir = this.#home.sessionDir(this.#home.session.id, "journal");
    this.seen = readdirSync(dir)
      .map((name) => readFileSync(`${dir}/${name}`, "utf8"))
      .join("");
    return { outcome: "ok" as const, text: "looked" };
  }
}

const ends = [
  ["ended", { kind: "ended", outcome: "ok", text: "pushed" }, "ok"],
  ["not begun", { kind: "not_begun" }, "error"],
  ["unknown", { kind: "unknown" }, "unknown"],
] as const;

describe("records of the gate", () => {
  it("gate-2 a tool that may write runs only after its intent is on disk", async () => {
    using home = new GateHome();
    const tool = new Looking(home);
    await home.begin({ more: [tool] });
    await home.gate.call("look_at_journal", { mark: "planted-mark" }, { call: "call_1" });
    expect(tool.seen).toContain("planted-mark");
    expect(tool.seen).not.toContain("tool_returned");
    await home.end();
  });

  it("a quick call of a read tool has its intent and outcome in one batch; a write tool's are in two", async () => {
    using home = new GateHome({ "README.md": "hello\n" });
    await home.begin();
    const hf = await home.open();
    const batches = async () => {
      const found: number[] = [];
      for await (const { type, durable } of hf.readJournal(home.session.id))
        if (type === "tool_called" || type === "tool_returned") found.push(durable);
      return found;
    };
    // On a busy machine a read may be too slow to share a batch, so it is tried again.
    for (;;) {
      expect(await home.gate.call("read_file", { path: "README.md" })).toMatchObject({ text: "hello\n" });
      const [intent, outcome] = (await batches()).slice(-2);
      if (intent === outcome) break;
    }
    await home.gate.call("write_file", { path: "a.txt", content: "x" });
    const [intent, outcome] = (await batches()).slice(-2);
    expect(outcome).toBeGreaterThan(Number(intent));
    await home.end();
  });

  it("a call outside a turn is refused, and a call still running when its turn ends is recorded as interrupted", async () => {
    using home = new GateHome();
    await home.begin();
    const running = home.gate.call("run_command", { command: "sleep 60" });
    while ((await home.records("process_started")).length === 0);
    await home.session.interruptTurn(1);
    expect(await home.gate.call("list_files", {})).toMatchObject({
      outcome: "refused",
      text: expect.stringContaining("no turn is open"),
    });
    await home.end();
    await running;
    expect(await home.records("tool_returned")).toMatchObject([{ outcome: "interrupted" }]);
  });

  it("the gate refuses calls beyond 32 at once and approval requests beyond 20 pending", async () => {
    using home = new GateHome();
    const tool = new CountedTool(home.dir);
    await home.begin({ tools: { external: ["*"] }, more: [tool], holdMs: 1 });
    const many = Array.from({ length: 40 }, () => home.gate.call("run_command", { command: "true" }));
    const answers = await Promise.all(many);
    expect(answers.filter(({ outcome }) => outcome === "refused")).toHaveLength(8);
    const asked: string[] = [];
    for (let at = 0; at < 25; at += 1)
      asked.push((await home.gate.call("publish_page", { title: `page ${at}` })).outcome);
    expect(asked.filter((outcome) => outcome === "held")).toHaveLength(20);
    expect(asked.filter((outcome) => outcome === "refused")).toHaveLength(5);
    expect(await home.records("approval_requested")).toHaveLength(20);
    await home.end();
  });

  it("an action that fails after its grant was spent is recorded as unknown, and a person is asked", async () => {
    using home = new GateHome();
    const tool = new CountedTool(home.dir);
    await home.begin({ tools: { external: ["*"] }, more: [tool], holdMs: 10_000 });
    const operator = new Operator(home);
    tool.onAct = async () => {
      throw new Error("the disk is gone");
    };
    const calling = home.gate.call("publish_page", { title: "x" });
    await operator.approve();
    expect(await calling).toMatchObject({ outcome: "error" });
    expect(await home.records("action_ended")).toMatchObject([{ outcome: "unknown" }]);
    expect(await home.records("question_asked")).toHaveLength(1);
    await home.end();
  });

  it.each(ends)(
    "gate-7 the gate records what became of an action that was cut off: %s",
    async (_name, end, outcome) => {
      using home = new GateHome();
      await home.begin({ outcomeOf: async () => end });
      const { session } = home;
      const approval = "appr_1";
      const expiresAt = "2099-01-01T00:00:00.000Z";
      await session.append("approval_requested", {
        approval,
        fingerprint: "0".repeat(64),
        tool: "git_push",
        args: {},
        task: 1,
      });
      await session.append("approval_granted", { approval, by: "user:ani", grant: {}, expiresAt });
      await session.append("action_begun", { approval, task: 1, tool: "git_push" });
      await home.gate.settleBegun();
      expect(await home.records("action_ended")).toMatchObject([{ approval, tool: "git_push", outcome }]);
      // What was not begun has spent nothing, and is permitted still.
      const left =
        end.kind === "not_begun" ? { [approval]: expect.objectContaining({ hasBegun: false }) } : {};
      expect(session.state.grants).toEqual(left);
      const questions = await home.records("question_asked");
      expect(questions).toHaveLength(outcome === "unknown" ? 1 : 0);
      expect(await home.records("approval_spent")).toHaveLength(end.kind === "not_begun" ? 0 : 1);
      await home.gate.settleBegun();
      expect(await home.records("action_ended")).toHaveLength(1);
      // In a lane that asks nobody, an action has an id of its own.
      const own = { approval: "act_1", task: 1, tool: "git_push" };
      await session.append("action_begun", { ...own, call: "call_1" });
      await home.gate.settleBegun();
      expect((await home.records("action_ended"))[1]).toMatchObject({ ...own, outcome });
      expect(session.state.grants).toEqual(left);
      expect(await home.records("question_asked")).toHaveLength(outcome === "unknown" ? 2 : 0);
      expect(await home.records("approval_spent")).toHaveLength(end.kind === "not_begun" ? 0 : 1);
      await home.end();
    },
  );
});
