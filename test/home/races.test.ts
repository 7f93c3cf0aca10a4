/**
 * Operations on a session while another operation on it is under way.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isHoldfastError } from "../../src/contract/errors.ts";
import type { LocalHome } from "../../src/library/local-home.ts";
import type { Session } from "../../src/session/session.ts";
import { type Disk, realDisk } from "../../src/util/index.ts";
import { TestChild } from "../support/children.ts";
import { memoryDir, sessionWithTurns, TestHome } from "../support/home.ts";
import { PowerLossDisk } from "../support/power-loss-disk.ts";

async function closedWithBlobs(hf: LocalHome, count: number): Promise<string> {
  const session = await hf.openSession();
  const turn = await session.beginTurn("x");
  await Promise.all(
    Array.from({ length: count }, (_, index) => turn.addMessage("assistant", `${index} `.repeat(3000))),
  );
  await turn.end();
  await session.close();
  return session.id;
}

describe("archiving and gc beside other owners", () => {
  it("archive-1 archiving removes no blob of a record that another owner adds meanwhile", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    const id = await closedWithBlobs(hf, 150);
    // If the other owner comes first, archiving is refused, which is fine.
    const archiving = hf.archiveSession(id).catch(() => {});
    let acknowledged = false;
    for (let tries = 0; tries < 2000; tries += 1) {
      const session = await hf.resumeSession(id).catch((error) => error);
      if (isHoldfastError(session, "session_owned")) {
        await new Promise((resolve) => setTimeout(resolve, 2));
        continue;
      }
      await (await (session as Session).beginTurn("IMPORTANT ".repeat(1000))).end();
      await (session as Session).close();
      acknowledged = true;
      break;
    }
    await archiving;
    expect(acknowledged).toBe(true);
    expect((await hf.auditSession(id)).findings).toEqual([]);
    expect((await Array.fromAsync(hf.readHistory(id))).at(-1)?.input).toBe("IMPORTANT ".repeat(1000));
  });

  it("archive-1 gc removes no blob of an archived session in which one blob is damaged", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    const id = await closedWithBlobs(hf, 4);
    const session = await hf.resumeSession(id);
    await session.record("session_closed", {});
    await session.record("session_archived", {});
    await session.release();
    const blobs = readdirSync(home.sessionDir(id, "blobs"));
    writeFileSync(home.sessionDir(id, "blobs", blobs[0] ?? ""), "junk");
    const { left } = await hf.gc();
    expect(left).toMatchObject([{ action: "compress", what: id }]);
    expect(readdirSync(home.sessionDir(id, "blobs"))).toEqual(blobs);
  });

  it("retention-1 gc does not delete a session that was resumed after gc found it old", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    const ids = [await closedWithBlobs(hf, 1), await closedWithBlobs(hf, 1)];
    for (const id of ids) await hf.archiveSession(id);
    const [, second = ""] = ids;
    let isFirst = true;
    const disk: Disk = {
      ...realDisk,
      rename: async (from, to) => {
        await realDisk.rename(from, to);
        if (!isFirst || !to.includes("trash")) return;
        isFirst = false;
        await (await hf.resumeSession(second)).pause();
      },
    };
    const collecting = await home.open({ disk });
    const { done, left } = await collecting.gc({
      retention: { archiveClosedDays: 30, deleteArchivedDays: 0 },
    });
    expect(done.map(({ action }) => action)).toEqual(["delete"]);
    expect(left).toMatchObject([{ action: "delete", what: second }]);
    expect((await hf.showSession(second)).status).toBe("paused");
  });

  it("gc finishes archiving after a crash before the witness was written, and the session can be resumed", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await closedWithBlobs(hf, 2);
    await using child = new TestChild("archive-and-die.ts", [home.dir, id]);
    await child.ended();
    expect((await hf.showSession(id)).status).toBe("archived");
    expect((await hf.gc()).left).toEqual([]);
    expect((await hf.showSession(id)).status).toBe("archived");
    expect((await hf.auditSession(id)).findings).toEqual([]);
    await (await hf.resumeSession(id)).pause();
  });
});

describe("a session in use", () => {
  it("blob-1 an append syncs a blob that an earlier, failed append left unsynced", async () => {
    using home = new TestHome(memoryDir);
    const good = await home.open();
    const { id } = await good.openSession().then(async (session) => {
      await session.release();
      return session;
    });
    const lossy = new PowerLossDisk(home.join("attic"));
    let isFailing = true;
    const disk: Disk = {
      create: (path) => {
        if (isFailing && path.includes("blobs") && readdirSync(home.sessionDir(id, "blobs")).length === 1) {
          throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
        }
        return lossy.create(path);
      },
      mkdir: (path) => lossy.mkdir(path),
      rename: (from, to) => lossy.rename(from, to),
      link: (existing, path) => lossy.link(existing, path),
      unlink: (path) => lossy.unlink(path),
      syncDir: (path) => lossy.syncDir(path),
      removeTree: (path) => lossy.removeTree(path),
      makeRoom: () => lossy.makeRoom(),
    };
    const hf = await home.open({ disk });
    const session = await hf.resumeSession(id);
    const first = "a".repeat(5000);
    await expect(
      session.append("custom", { name: "two", first, second: "b".repeat(5000) }),
    ).rejects.toMatchObject({ code: "disk_full" });
    isFailing = false;
    await session.append("custom", { name: "one", first });
    lossy.losePower(() => true);
    await session.abandon();
    const records = await Array.fromAsync(good.readJournal(id));
    expect(records.at(-1)?.data).toMatchObject({ name: "one", first });
  });

  it("pause, close and dispose end the turn even while another call on it is under way", async () => {
    const endings = {
      pause: (session: Session) => session.pause(),
      close: (session: Session) => session.close(),
      dispose: (session: Session) => session[Symbol.asyncDispose](),
    };
    for (const [name, finish] of Object.entries(endings)) {
      for (const what of ["callTool", "returned", "end", "beginTurn", "nothing"] as const) {
        using home = new TestHome(memoryDir);
        const hf = await home.open();
        const session = await hf.openSession();
        const turn = what === "beginTurn" ? undefined : await session.beginTurn("x");
        const call = what === "returned" ? await turn?.callTool("t", {}) : undefined;
        const inFlight = {
          callTool: () => turn?.callTool("t", {}),
          returned: () => call?.returned("ok"),
          end: () => turn?.end(),
          beginTurn: () => session.beginTurn("y"),
          nothing: () => undefined,
        }[what]();
        await Promise.allSettled([inFlight, finish(session)]);
        const shown = await hf.showSession(session.id);
        expect(shown.status, `${name} during ${what}`).toBe(name === "close" ? "closed" : "paused");
        expect(shown.pid).toBeNull();
        const [only] = await Array.fromAsync(hf.readHistory(session.id));
        expect(only?.outcome, `${name} during ${what}`).toBe(what === "end" ? "completed" : "interrupted");
      }
    }
  });

  it("a second release waits for the first", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession();
    const first = session.release();
    await session.release();
    await (await hf.resumeSession(session.id)).pause();
    await first;
  });

  it("a record that is too large is refused alone, and the rest of its batch is written", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    await using session = await hf.openSession();
    const large = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`f${index}`, "\u0001".repeat(4000)]),
    );
    const results = await Promise.allSettled([
      session.append("custom", { name: "innocent" }),
      session.append("custom", { name: "large", ...large }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(results[1]).toMatchObject({ reason: { code: "record_too_large" } });
  });

  it("append refuses the events that would give a session another id or user", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    await using session = await hf.openSession();
    const append = session.append.bind(session) as (type: string, data: object) => Promise<unknown>;
    for (const type of ["session_opened", "session_forked", "session_imported", "session_archived"]) {
      await expect(append(type, { session: "x", user: "bob" }), type).rejects.toMatchObject({
        code: "illegal_transition",
      });
    }
  });

  it("id-1 ids that a caller's own generator makes are checked like any other", async () => {
    using home = new TestHome();
    for (const bad of ["../../escaped", "sess_test1", ""]) {
      const hf = await home.open({
        newId: (prefix) => (prefix === "sess" ? bad : `${prefix}_x${Math.random()}`),
      });
      await expect(hf.openSession(), bad).rejects.toMatchObject({ code: "invalid_id" });
    }
    expect(readdirSync(home.path)).toEqual(["home"]);
  });

  it("a session that reached its budget can be archived, and resumed with a larger budget", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    const session = await hf.openSession({ budget: { turns: 1 } });
    await (await session.beginTurn("one")).end();
    await session.release();
    await hf.archiveSession(session.id);
    await expect(hf.resumeSession(session.id)).rejects.toMatchObject({ code: "budget_reached" });
    await using resumed = await hf.resumeSession(session.id, { budget: { turns: 5 } });
    await (await resumed.beginTurn("two")).end();
  });

  it("a session with a batch longer than a segment can be exported and imported", async () => {
    using home = new TestHome(memoryDir);
    using other = new TestHome(memoryDir);
    const hf = await home.open();
    const session = await hf.openSession();
    const turn = await session.beginTurn("x");
    await Promise.all(Array.from({ length: 400 }, () => turn.addMessage("assistant", "m".repeat(3500))));
    await hf.exportSession(session.id, home.join("e"));
    await (await other.open()).importSession(home.join("e"));
    expect((await (await other.open()).auditSession(session.id)).findings).toEqual([]);
    await session.pause();
  });

  it("refusing to open a session leaks no file descriptor and leaves nothing in staging", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    await expect(hf.openSession({ title: "x".repeat(501) })).rejects.toMatchObject({ code: "invalid_data" });
    const before = readdirSync("/proc/self/fd").length;
    for (let index = 0; index < 20; index += 1)
      await hf.openSession({ title: "x".repeat(501) }).catch(() => {});
    expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before + 1);
    expect(readdirSync(home.join("home", "staging"))).toEqual([]);
  });

  it("index-1 index-2 the index is rebuilt if it is spoiled, or if an older export of a session is imported", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 2, { title: "mango" });
    await hf.exportSession(id, home.join("old"));
    const session = await hf.resumeSession(id);
    await session.append("custom", { name: "n", text: "mango mango" });
    await session.close();
    expect(await hf.search(["mango"])).toHaveLength(2);
    const { rmSync } = await import("node:fs");
    rmSync(home.sessionDir(id), { recursive: true });
    await hf.importSession(home.join("old"));
    const again = await hf.resumeSession(id);
    for (let index = 0; index < 8; index += 1) await again.append("custom", { name: "n", text: "papaya" });
    await again.pause();
    expect((await hf.listSessions())[0]).toMatchObject({ id, status: "paused" });
    expect(await hf.search(["mango"])).toHaveLength(1);
    expect(await hf.search(["papaya"])).toHaveLength(8);
    const path = home.join("home", "index.db");
    const content = readFileSync(path);
    content.fill(0x5a, 4096);
    writeFileSync(path, content);
    expect(await hf.search(["papaya"])).toHaveLength(8);
    expect(await hf.listSessions()).toHaveLength(1);
  });
});
