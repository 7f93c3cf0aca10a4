/**
 * `serve` as a process: only one for a home, and what it looks after.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { HostHome, reaches, script, until } from "../support/hosts.ts";
import { isDone } from "../support/outcomes.ts";
import { Served } from "../support/served.ts";

describe("serve", () => {
  it("is refused while another one runs, and can start again after a kill; sessions go on meanwhile", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const first = await Served.start(home);
    const second = await home.cli("serve");
    expect(second.status).toBe(5);
    expect(second.stderr).toMatch(new RegExp(`serve_running: process ${first.pid} serves it at /`));
    const { id } = await dispatcher.begin({ repo: home.main }, script("sleep 1; echo on > result"));
    kill(first.pid, "SIGKILL");
    await reaches(dispatcher, id, "paused");
    await using next = await Served.start(home);
    expect((await next.ask(`/v1/sessions/${id}`)).body).toMatchObject({ task: { outcome: "unverified" } });
  });

  it("supervise-1 resumes a crashed session a few times, and then leaves it to a person", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    await using served = await Served.start(home);
    const { id } = await dispatcher.begin({ repo: home.main }, script("sleep 60", { restart: true }));
    await reaches(dispatcher, id, "running");
    // A crash counts if no person resumed it. Up to five are put on record; the sixth is one too many.
    kill(home.hostPid(id) ?? 0, "SIGKILL");
    await until(
      () => dispatcher.show(id),
      ({ status, crashes }) => status === "running" && crashes === 1,
    );
    kill(served.pid, "SIGSTOP");
    kill(home.hostPid(id) ?? 0, "SIGKILL");
    await reaches(dispatcher, id, "interrupted");
    const session = await dispatcher.holdfast.resumeSession(id, { by: "serve" });
    for (let crash = 3; crash <= 5; crash += 1)
      await session.append("session_resumed", { from: "interrupted", by: "serve" });
    const turn = await session.beginTurn("cut off");
    expect(turn.number).toBeGreaterThan(1);
    await session.release();
    kill(served.pid, "SIGCONT");
    await sleep(3000);
    expect(await dispatcher.show(id)).toMatchObject({ status: "interrupted", crashes: 5, pid: null });
    // When a person resumes it, the count begins anew.
    await dispatcher.resume(id);
    await until(
      () => dispatcher.show(id),
      ({ status, crashes }) => status === "running" && crashes === 0,
    );
  });

  it("reports that another program has its address, and releases the home", async () => {
    using home = new HostHome();
    await using there = await Served.start(home, "--listen", "127.0.0.1:0");
    using elsewhere = new HostHome();
    const taken = await elsewhere.cli("serve", "--listen", there.address);
    expect(taken).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("another program listens there"),
    });
    await using next = await Served.start(elsewhere);
    expect((await next.ask("/v1/sessions")).status).toBe(200);
  });

  it("starts a task that it finds in an inbox, even if the session crashed before", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const opened = await dispatcher.holdfast.openSession({ repo: home.main });
    const crashed = await dispatcher.holdfast.openSession({ repo: home.main });
    await (await crashed.beginTurn("before")).end();
    await opened.release();
    await crashed.abandon();
    const spec = script("echo found > result");
    const envelope = { kind: "task", id: "task_left", from: "user:ani", at: "", spec, priority: 0 };
    for (const { id } of [opened, crashed])
      await dispatcher.inboxOf(id).put("task_left", Buffer.from(JSON.stringify(envelope)));
    await using _served = await Served.start(home);
    for (const { id } of [opened, crashed]) {
      await until(
        () => dispatcher.show(id),
        ({ task }) => isDone(task),
      );
      expect(existsSync(join(home.sessionDir(id), "inbox/cur/task_left"))).toBe(true);
    }
  });
});
