/**
 * Between a session process and its callers: a ring is answered once the inbox was taken in, a caller that
 * starts a process is told whether it began, and a session that is being opened is handed over without
 * polling.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { SessionId } from "../../src/contract/index.ts";
import { submitFirstTask } from "../../src/dispatch/submitting.ts";
import { type Home, openHome, readProcessRecord, sessionDirOf } from "../../src/home/index.ts";
import { startHost } from "../../src/host/index.ts";
import { readPlace } from "../../src/line/index.ts";
import { idOf } from "../../src/mail/index.ts";
import { ownProgram } from "../../src/process/index.ts";
import { identityOf, isAlive, signalIfThere } from "../../src/util/index.ts";
import { HostHome, reaches, script, typesOf, until } from "../support/hosts.ts";

const pidOf = (home: Home, id: SessionId) => readPlace(home, id)?.sessionProcess?.pid ?? 0;
const isGone = (pid: number) => until(() => !isAlive({ pid, startTicks: null }));

const ticksOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, "utf8").split(" ").slice(13, 15).join();

/** Waits until the process uses no more processor time: it has got as far as it can. */
async function whenIdle(pid: number): Promise<void> {
  for (let before = ""; before !== ticksOf(pid); await sleep(200)) before = ticksOf(pid);
}

describe("a ring", () => {
  it("is answered only after its message was taken in, even if many ring at once", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("sleep 60"));
    await reaches(dispatcher, id, "running");
    const before = (await dispatcher.show(id)).unread;
    const sent = await Promise.all(
      Array.from({ length: 20 }, async (_, number) => {
        const { isHeard, message } = await dispatcher.send(id, `message ${number}`);
        const left = (await dispatcher.inboxOf(id).waiting()).map(idOf);
        return isHeard && !left.includes(message);
      }),
    );
    expect(new Set(sent)).toEqual(new Set([true]));
    expect(await dispatcher.show(id)).toMatchObject({ inbox: 0, unread: before + 20 });
    await dispatcher.keep(id, true);
    expect(await typesOf(dispatcher, id)).toContain("session_kept");
    await dispatcher.stop(id);
    expect(home.hostPid(id)).toBeUndefined();
    expect(await dispatcher.send(id, "are you there?")).toMatchObject({ isHeard: false });
  });
});

describe("a process that is started before its session is opened", () => {
  const opening = async (
    test: HostHome,
    text: string,
    during: (home: Home, id: SessionId) => Promise<void>,
  ): Promise<{ home: Home; submitted: Awaited<ReturnType<typeof submitFirstTask>> }> => {
    const home = await openHome({ home: test.dir });
    const describeIt = async (id: SessionId) => {
      await during(home, id);
      return { session: { repo: test.main }, spec: script(text) };
    };
    return { home, submitted: await submitFirstTask(home, describeIt, "exec:sh") };
  };

  it("waits until the session is opened, and then owns it", async () => {
    using test = new HostHome();
    let waiting = 0;
    const { home, submitted } = await opening(test, "sleep 60", async (home, id) => {
      waiting = pidOf(home, id);
      await whenIdle(waiting);
      // A dispatcher that looks after the line leaves the process to the one that opens the session.
      await (await test.dispatcher()).look();
      expect(pidOf(home, id)).toBe(waiting);
    });
    expect(isAlive(identityOf(waiting))).toBe(true);
    expect(readProcessRecord(sessionDirOf(home, submitted.found.id))?.pid).toBe(waiting);
  });

  it("is replaced by another one if it is killed meanwhile, and the task still runs", async () => {
    using test = new HostHome();
    let first = 0;
    const { home, submitted } = await opening(test, "echo done > result", async (home, id) => {
      first = pidOf(home, id);
      signalIfThere(first, "SIGKILL");
      await isGone(first);
    });
    expect(readProcessRecord(sessionDirOf(home, submitted.found.id))?.pid).not.toBe(first);
    const dispatcher = await test.dispatcher();
    expect(await reaches(dispatcher, submitted.found.id, "paused")).toMatchObject({
      task: { number: 1, outcome: "unverified" },
    });
  });

  it("ends if the session is never opened, and if the process that started it is gone", async () => {
    using test = new HostHome();
    let waiting = 0;
    const failed = opening(test, "true", async (home, id) => {
      waiting = pidOf(home, id);
      throw new Error("it can't be described");
    });
    await expect(failed).rejects.toThrow("it can't be described");
    await isGone(waiting);
    const home = await openHome({ home: test.dir });
    const started = await startHost(home, "sess_01k00000000000000000000000" as SessionId, {
      isUnopened: true,
      dispatcher: ownProgram("dispatch"),
    });
    started.close();
    await isGone(started.pid);
    expect(await (await test.dispatcher()).list()).toEqual([]);
  });
});

describe("a session process that can't begin", () => {
  it("tells its caller why, and its task is taken back", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const session = await dispatcher.holdfast.openSession({ repo: home.main });
    await session.release();
    writeFileSync(home.sessionDir(session.id, "host"), "a file where its directory should be");
    await expect(dispatcher.submit(session.id, script("true"))).rejects.toMatchObject({
      code: "start_failed",
      message: expect.stringMatching(/^the session process of .* could not be started: .*EEXIST/),
    });
    expect(await dispatcher.show(session.id)).toMatchObject({ inbox: 0, queue: 0 });
  });

  it("because it is killed at any moment: its task is either taken in, or reported as failed and never run", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    for (const delayMs of [50, 150, 250, 350]) {
      const session = await dispatcher.holdfast.openSession({ repo: home.main });
      await session.release();
      const submitting = dispatcher.submit(session.id, script("sleep 60")).then(
        () => "taken in",
        (error: { readonly code?: string }) => error.code,
      );
      const pid = await until(() => dispatcher.placeOf(session.id)?.sessionProcess?.pid ?? 0);
      await sleep(delayMs);
      signalIfThere(pid, "SIGKILL");
      const outcome = await submitting;
      expect(["taken in", "start_failed"]).toContain(outcome);
      const { inbox, queue, task } = await dispatcher.show(session.id);
      const isKept = inbox + queue > 0 || task !== null;
      expect([outcome, isKept], `after ${delayMs} ms`).toEqual([outcome, outcome === "taken in"]);
    }
  });
});
