/**
 * A task whose agent can't go on now is parked, and goes on later.
 */
import { describe, expect, it } from "vitest";
import type { Adapter } from "../../src/agent/index.ts";
import type { ExecSpec } from "../../src/contract/index.ts";
import { openHome, resumeSession } from "../../src/home/index.ts";
import { workDue } from "../../src/session/index.ts";
import { drive, parkedSession, parkingAgent, queued } from "../support/parking.ts";
import { TaskHome } from "../support/tasks.ts";

describe("a task that is parked", () => {
  it("park-1 has no open turn and no process, keeps its files in a checkpoint, and goes on with them", async () => {
    using home = new TaskHome();
    const session = await queued(home);
    const until = "2026-11-16T20:00:00.000Z";
    const agent = parkingAgent(
      { reason: "usage_limit", until, detail: "anthropic" },
      { reason: "key", detail: "x".repeat(1000) },
      "done",
    );
    await drive(home, session, agent);
    expect(session.state).toMatchObject({
      openTurn: null,
      task: { outcome: null, stage: "act", parked: { reason: "usage_limit", until, detail: "anthropic" } },
    });
    expect(session.state.task?.snapshot?.turn).toBe(1);
    expect(workDue(session.state).kind).toBe("nothing");
    expect(home.strays()).toEqual([]);
    // Another process goes on with it after it is unparked.
    await session.pause("idle");
    const hf = await home.open();
    expect((await hf.diffSession(session.id)).stat.insertions).toBe(1);
    const resumed = await resumeSession(await openHome({ home: home.dir, create: false }), session.id, {});
    await expect(resumed.beginTurn("x")).rejects.toMatchObject({ code: "illegal_transition" });
    await resumed.append("task_unparked", { task: 1, by: "user:ani" });
    await drive(home, resumed, agent);
    expect(resumed.state.task?.parked).toEqual({ reason: "key", until: null, detail: "x".repeat(500) });
    // The checkpoint is taken even if the agent did not end its turn.
    expect(resumed.state.task?.snapshot?.turn).toBe(2);
    await resumed.append("task_unparked", { task: 1, by: "user:ani" });
    await drive(home, resumed, agent);
    expect(resumed.state.task).toMatchObject({
      outcome: "unverified",
      parked: null,
      changed: { insertions: 3 },
    });
    await resumed.release();
    expect((await hf.auditSession(session.id)).findings).toEqual([]);
  });

  it.each(["when the agent's surroundings go", "at the checkpoint of the park"])(
    "park-2 is driven again, and not parked, if a person answers %s",
    async (when) => {
      using home = new TaskHome();
      const session = await queued(home);
      const answer = () =>
        session.append("question_answered", { question: "q_1", by: "user:ani", text: "the second" });
      let runs = 0;
      const agent: Adapter<ExecSpec> = {
        name: "exec",
        goesOn: () => true,
        async drive(work, { command }) {
          runs += 1;
          await using turn = await work.beginTurn("please");
          if (runs === 1) await session.append("question_asked", { question: "q_1", text: "which?" });
          await turn.end();
          // It writes after the checkpoint of its turn, so the park takes another one.
          await (await work.start(command)).ended;
          return { outcome: "done", exitCode: 0, signal: null };
        },
      };
      const isAtPart = when.includes("surroundings");
      let checkpoints = 0;
      session.observe((records) => {
        checkpoints += records.filter(({ type }) => type === "checkpoint_taken").length;
        if (!isAtPart && checkpoints === 2 && session.state.pending["q_1"]) void answer();
      });
      expect(await drive(home, session, agent, async () => isAtPart && answer())).toMatchObject({
        goesOn: true,
      });
      expect(session.state).toMatchObject({ pending: {}, task: { parked: null, outcome: null } });
      expect(workDue(session.state).kind).toBe("go_on");
      expect(await drive(home, session, agent)).toMatchObject({ goesOn: false });
      expect(session.state.task).toMatchObject({ outcome: "unverified", changed: { insertions: 2 } });
      expect(runs).toBe(2);
      await session.pause("idle");
    },
  );

  it("is parked for a request only while the request waits", async () => {
    using home = new TaskHome();
    const session = await queued(home);
    await session.append("task_started", { task: 1, request: "task_1" });
    await session.append("question_asked", { question: "q_1", text: "which?" });
    await session.append("question_asked", { question: "q_2", text: "and then?" });
    const park = () => session.append("task_parked", { task: 1, reason: "answer", requests: ["q_1", "q_2"] });
    await session.append("question_answered", { question: "q_2", by: "user:ani", text: "nothing" });
    await expect(park()).rejects.toMatchObject({ code: "approval_not_found" });
    expect(session.state.task?.parked).toBeNull();
    await session.append("task_parked", { task: 1, reason: "answer", requests: ["q_1"] });
    expect(session.state.task?.parked).toEqual({ reason: "answer", until: null, detail: null });
    await session.abandon();
  });

  it("ends as cancelled when its session is closed, and its work is kept", async () => {
    using home = new TaskHome();
    const id = await parkedSession(home, { reason: "budget" });
    const { task, status } = await (await home.open()).closeSession(id);
    expect(status).toBe("closed");
    expect(task).toMatchObject({ outcome: "cancelled", parked: null, changed: { insertions: 1 } });
  });
});
