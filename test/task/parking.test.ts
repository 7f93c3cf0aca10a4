/**
 * A task whose agent can't go on now is parked, and goes on later.
 */
import { describe, expect, it } from "vitest";
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

  it("ends as cancelled when its session is closed, and its work is kept", async () => {
    using home = new TaskHome();
    const id = await parkedSession(home, { reason: "budget" });
    const { task, status } = await (await home.open()).closeSession(id);
    expect(status).toBe("closed");
    expect(task).toMatchObject({ outcome: "cancelled", parked: null, changed: { insertions: 1 } });
  });
});
