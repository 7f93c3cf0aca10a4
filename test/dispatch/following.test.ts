/**
 * What the follower of a session is told, and in which order.
 */
import { describe, expect, it } from "vitest";
import { Spool } from "../../src/host/spool.ts";
import { HostHome } from "../support/hosts.ts";

describe("following a session", () => {
  it("shows that a task began before the output of its command, and all of the output before its end", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const hf = await home.open();
    await using session = await hf.openSession({ repo: home.main });
    await session.append("task_queued", { request: "task_1", spec: {} });
    await session.append("task_started", { task: 1, request: "task_1" });
    const turn = await session.beginTurn("x");
    await session.append("process_started", { pid: 1, command: "x" });
    const spool = new Spool(home.sessionDir(session.id), "task_1", () => []);
    spool.add("setup", Buffer.from("set up"));
    spool.add("stdout", Buffer.from("written"));
    await session.append("process_ended", { pid: 1, exitCode: 0, signal: null });
    await turn.end();
    await session.append("task_ended", { task: 1, outcome: "done" });
    const told: string[] = [];
    const stop = new AbortController();
    for await (const happening of dispatcher.follow(session.id, {
      fromSeq: 1,
      request: "task_1",
      signal: stop.signal,
    })) {
      if (happening.kind === "record") told.push(happening.record.type);
      if (happening.kind === "output") told.push(happening.chunk.toString());
      if (told.at(-1) === "task_ended") stop.abort();
    }
    expect(told).toEqual([
      "set up",
      "session_opened",
      "task_queued",
      "task_started",
      "turn_started",
      "process_started",
      "written",
      "process_ended",
      "turn_ended",
      "task_ended",
    ]);
    spool.remove();
  });
});
