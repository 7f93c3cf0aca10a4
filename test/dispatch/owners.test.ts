/**
 * A session has one owner, even if processes are stopped, clocks jump, or a dead process left files behind.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { Dispatcher, HostHome, reaches, script, until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";

const statusOf = async (dispatcher: Dispatcher, id: string) => (await dispatcher.show(id)).status;

async function begin(home: HostHome, dispatcher: Dispatcher, text: string, own = {}) {
  const begun = await dispatcher.begin({ repo: home.main, title: "a test" }, script(text, own));
  return begun.id;
}

/** A minute in long runs. */
const STOP_MS = process.env["HOLDFAST_LONG"] ? 60_000 : 500;

describe("the owner of a session", () => {
  it("keeps its session while it is stopped, shuts out every other process, and goes on afterwards", {
    timeout: STOP_MS + 60_000,
  }, async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const id = await begin(home, dispatcher, "sleep 2; echo done > result");
    await reaches(dispatcher, id, "running");
    const pid = home.hostPid(id) ?? 0;
    process.kill(pid, "SIGSTOP");
    try {
      await sleep(STOP_MS);
      expect(await statusOf(dispatcher, id)).toBe("running");
      await expect(dispatcher.holdfast.resumeSession(id)).rejects.toMatchObject({ code: "session_owned" });
      // A task waits in its inbox; no second process is started for it.
      const submitting = dispatcher.submit(id, script("true"));
      await sleep(500);
      expect(home.processes()).toEqual([pid]);
      process.kill(pid, "SIGCONT");
      await submitting;
    } finally {
      kill(pid, "SIGCONT");
    }
    await reaches(dispatcher, id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:result`)).toBe("done");
    expect((await dispatcher.holdfast.auditSession(id)).findings).toEqual([]);
  });

  it("can take long to end, which does not shorten the wait for another owner that comes in between", async () => {
    using home = new HostHome();
    let aheadMs = 0;
    const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() + aheadMs };
    const dispatcher = await Dispatcher.open({ home: home.dir, clock });
    const id = await begin(home, dispatcher, "sleep 60");
    await reaches(dispatcher, id, "running");
    const pid = home.hostPid(id) ?? 0;
    process.kill(pid, "SIGSTOP");
    const onWait = () => {
      aheadMs = 30_000;
      kill(pid, "SIGCONT");
    };
    // As if a dispatcher owned the session for a moment, just when its process has ended.
    const owned = [await dispatcher.holdfast.resumeSession(id).catch((error: unknown) => error)];
    const work = async () => {
      const error = owned.pop();
      if (error) throw error;
      return "done";
    };
    expect(await dispatcher.withoutProcess(id, { onWait }, work)).toBe("done");
  });

  it("stays the only one when clocks jump, and messages and tasks stay in order", async () => {
    using home = new HostHome();
    let aheadMs = 0;
    const clock = { nowMs: () => Date.now() + aheadMs, monotonicMs: () => performance.now() };
    const dispatcher = await Dispatcher.open({ home: home.dir, clock });
    const id = await begin(home, dispatcher, "sleep 3; echo done > result");
    const pid = await until(() => home.hostPid(id));
    const texts: string[] = [];
    for (const jumpMs of [3_600_000, -365 * 86_400_000, 0, -1000, 86_400_000]) {
      aheadMs = jumpMs;
      texts.push(`at ${jumpMs}`);
      await dispatcher.send(id, texts.at(-1) ?? "");
      await expect(dispatcher.holdfast.resumeSession(id)).rejects.toMatchObject({ code: "session_owned" });
      await dispatcher.submit(id, script(`echo ${texts.length} >> order`));
      await dispatcher.look();
      expect(home.hostPid(id)).toBe(pid);
    }
    await reaches(dispatcher, id, "paused");
    const received: unknown[] = [];
    for await (const { type, data } of dispatcher.holdfast.readJournal(id))
      if (type === "message_received") received.push(data["text"]);
    expect(received).toEqual(texts);
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:order`).trim()).toBe("1\n2\n3\n4\n5");
    expect((await dispatcher.holdfast.auditSession(id)).findings).toEqual([]);
    // A session whose last owner had a clock that was ahead can be resumed.
    aheadMs = 0;
    await dispatcher.submit(id, script("echo after > after"));
    await reaches(dispatcher, id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:after`).trim()).toBe("after");
  });

  it("can be replaced after it was killed, even if its files are still there and its pid was reused", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const id = await begin(home, dispatcher, "sleep 60");
    await reaches(dispatcher, id, "running");
    kill(home.hostPid(id) ?? 0, "SIGKILL");
    await reaches(dispatcher, id, "interrupted");
    // As if the pid had been reused, by this process.
    for (const name of ["owner.json", "host.json"]) {
      const record = JSON.parse(readFileSync(home.sessionDir(id, name), "utf8"));
      writeFileSync(home.sessionDir(id, name), JSON.stringify({ ...record, pid: process.pid }));
    }
    expect(await statusOf(dispatcher, id)).toBe("interrupted");
    await dispatcher.resume(id);
    await reaches(dispatcher, id, "paused");
    const epochs = new Set<number>();
    for await (const { epoch } of dispatcher.holdfast.readJournal(id)) epochs.add(epoch);
    expect(epochs.size).toBeGreaterThan(2);
  });
});
