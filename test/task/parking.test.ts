/**
 * A task whose agent says that it can't go on now: it is parked, and goes on when it is let.
 */
import { describe, expect, it } from "vitest";
import type { Adapter } from "../../src/agent/index.ts";
import type { Parked } from "../../src/contract/index.ts";
import { openHome, resumeSession } from "../../src/home/index.ts";
import type { Session } from "../../src/session/index.ts";
import { workDue } from "../../src/session/index.ts";
import { runStages } from "../../src/task/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { TaskHome } from "../support/tasks.ts";

const spec = {
  agent: {
    adapter: "exec" as const,
    command: ["sh", "-c", "echo run >> runs"],
    input: "nothing" as const,
    restart: true,
  },
  definition: "exec:sh",
  sandbox: hasSandbox,
};

/** Runs its command in a turn, and is parked after all but the last. */
function parking(...parks: readonly (Parked | "done")[]): Adapter {
  const left = [...parks];
  return {
    name: "exec",
    goesOn: () => true,
    async drive(work, { command }) {
      await using turn = await work.beginTurn("please");
      await (await work.start(command)).ended;
      const next = left.shift();
      if (next === "done" || next === undefined) {
        await turn.end();
        return { outcome: "done", exitCode: 0, signal: null };
      }
      // Not every adapter says how its turn ended.
      if (next.reason !== "key") await turn.interrupt();
      else await turn[Symbol.asyncDispose]();
      return { outcome: "parked", parked: next };
    },
  };
}

async function run(home: TaskHome, session: Session, adapter: Adapter): Promise<void> {
  await runStages(
    {
      home: await openHome({ home: home.dir, create: false }),
      session,
      request: "task_1",
      spec,
      stop: new AbortController().signal,
      around: {
        onProgress: () => {},
        onSetup: () => {},
        onReady: () => {},
        join: async () => ({ surroundings: {}, part: async () => ({ isOverQuota: false }) }),
      },
    },
    adapter,
  );
}

async function begun(home: TaskHome): Promise<Session> {
  const session = await (await home.open()).openSession({ repo: home.main, title: "park" });
  await session.append("task_queued", { request: "task_1", spec: { ...spec, agent: { ...spec.agent } } });
  return session;
}

describe("a task that is parked", () => {
  it("T12 is open, with its turn closed, its files in a checkpoint and nothing running; it goes on with them", async () => {
    using home = new TaskHome();
    const session = await begun(home);
    const until = "2026-11-16T20:00:00.000Z";
    const agent = parking(
      { reason: "usage_limit", until, detail: "anthropic" },
      { reason: "key", detail: "x".repeat(1000) },
      "done",
    );
    await run(home, session, agent);
    expect(session.state).toMatchObject({
      openTurn: null,
      task: { outcome: null, stage: "act", parked: { reason: "usage_limit", until, detail: "anthropic" } },
    });
    expect(session.state.task?.snapshot?.turn).toBe(1);
    expect(workDue(session.state).kind).toBe("nothing");
    expect(home.strays()).toEqual([]);
    // Another process goes on with it, when it was let.
    await session.pause("idle");
    const hf = await home.open();
    expect((await hf.diffSession(session.id)).stat.insertions).toBe(1);
    const resumed = await resumeSession(await openHome({ home: home.dir, create: false }), session.id, {});
    await expect(resumed.beginTurn("x")).rejects.toMatchObject({ code: "illegal_transition" });
    await resumed.append("task_unparked", { task: 1, by: "user:ani" });
    await run(home, resumed, agent);
    expect(resumed.state.task?.parked).toEqual({ reason: "key", until: null, detail: "x".repeat(500) });
    // Whatever its agent did about its turn.
    expect(resumed.state.task?.snapshot?.turn).toBe(2);
    await resumed.append("task_unparked", { task: 1, by: "user:ani" });
    await run(home, resumed, agent);
    expect(resumed.state.task).toMatchObject({ outcome: "done", parked: null, changed: { insertions: 3 } });
    await resumed.release();
    expect((await hf.auditSession(session.id)).findings).toEqual([]);
  });

  it("ends as cancelled when its session is closed", async () => {
    using home = new TaskHome();
    const session = await begun(home);
    await run(home, session, parking({ reason: "budget" }));
    const hf = await home.open();
    await session.pause("idle");
    const { task, status } = await hf.closeSession(session.id);
    expect({ status, outcome: task?.outcome, parked: task?.parked }).toEqual({
      status: "closed",
      outcome: "cancelled",
      parked: null,
    });
  });
});
