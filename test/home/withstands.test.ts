/**
 * A home with unreadable sessions, missing files, or a file system that refuses to write.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openLocalHome } from "../../src/library/local-home.ts";
import { type Disk, realDisk, sealLine } from "../../src/util/index.ts";
import { sessionWithTurns, TestHome } from "../support/home.ts";

describe("a home in trouble", () => {
  it("shows unreadable sessions as damaged and keeps the others usable", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const good = await sessionWithTurns(hf, 1);
    const lost = await sessionWithTurns(hf, 1);
    rmSync(home.sessionDir(lost, "journal"), { recursive: true });
    const newer = await sessionWithTurns(hf, 1);
    writeFileSync(home.sessionDir(newer, "journal/000009.jsonl"), sealLine('{"holdfast":9').line);
    const blobless = await sessionWithTurns(hf, 1);
    rmSync(home.sessionDir(blobless, "blobs"), { recursive: true });
    mkdirSync(home.sessionDir("sess_01k00000000000000000000000"));
    const statuses = Object.fromEntries((await hf.listSessions()).map(({ id, status }) => [id, status]));
    expect(statuses).toEqual({
      [good]: "paused",
      [lost]: "damaged",
      [newer]: "damaged",
      [blobless]: "paused",
    });
    const bad = (await hf.examine()).filter(({ level }) => level === "bad").map(({ what }) => what);
    expect(new Set(bad)).toEqual(new Set([lost, newer]));
    expect((await hf.gc()).left).toEqual([]);
    expect(await hf.search(["answer"])).toHaveLength(2);
    expect(await hf.resolveSession(good)).toMatchObject({ id: good });
    await (await hf.resumeSession(good)).pause();
  });

  it("can repair a session without session.json from its journal", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 1);
    rmSync(home.sessionDir(id, "session.json"));
    expect((await hf.auditSession(id)).findings).toMatchObject([
      { file: "session.json", reason: expect.stringContaining("missing") },
    ]);
    expect(await hf.repairSession(id)).toMatchObject({ keptRecords: 7 });
    await expect(hf.showSession(id, { user: "bo" })).rejects.toMatchObject({ code: "session_not_found" });
  });

  it("journal-2 treats a session without its witness as damaged, since its journal could have been cut", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 1);
    for (const file of ["head.json", "fold.json"]) rmSync(home.sessionDir(id, file));
    expect((await hf.showSession(id)).status).toBe("damaged");
    await expect(hf.resumeSession(id)).rejects.toMatchObject({
      code: "session_damaged",
      facts: { file: "head.json" },
    });
    expect((await hf.auditSession(id)).findings).toHaveLength(1);
  });

  it("fails with a clear error and harms nothing when the file system refuses to write", async () => {
    using home = new TestHome();
    const good = await home.open();
    const id = await sessionWithTurns(good, 1);
    const refuse = async () => {
      throw Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" });
    };
    const readOnly: Disk = { ...realDisk, create: refuse, mkdir: refuse, rename: refuse, link: refuse };
    const hf = await home.open({ disk: readOnly });
    for (const attempt of [
      () => hf.openSession(),
      () => hf.resumeSession(id),
      () => hf.forkSession(id),
      () => hf.closeSession(id),
      () => hf.archiveSession(id),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: "home_unreadable" });
    }
    await expect(good.exportSession(id, home.join("no", "such", "dir"))).rejects.toMatchObject({
      code: "file_unwritable",
    });
    await expect(good.importSession(home.dir)).rejects.toMatchObject({ code: "export_invalid" });
    expect((await good.auditSession(id)).findings).toEqual([]);
    await (await good.resumeSession(id)).pause();
  });

  it("may be opened through a symlink, and is not created if the caller forbids it", async () => {
    using home = new TestHome();
    await home.open();
    symlinkSync(home.dir, home.join("link"));
    await (await openLocalHome({ home: home.join("link") })).listSessions();
    await expect(openLocalHome({ home: home.join("typo"), create: false })).rejects.toMatchObject({
      code: "home_not_found",
    });
    await expect(openLocalHome({ home: "" })).rejects.toMatchObject({ code: "usage" });
    expect(existsSync(home.join("typo"))).toBe(false);
  });

  it("removes the words of a deleted session from its search index", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession({ title: "unforgettable" });
    await session.close();
    await hf.archiveSession(session.id);
    expect(await hf.search(["unforgettable"])).toHaveLength(1);
    await hf.gc({ retention: { archiveClosedDays: 0, deleteArchivedDays: 0 } });
    expect(await hf.search(["unforgettable"])).toEqual([]);
    expect(readFileSync(join(home.dir, "index.db")).includes("unforgettable")).toBe(false);
  });

  it("lets an open session continue after its budget is raised, and a refused budget changes nothing", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession({ budget: { turns: 1, usd: 5 } });
    await (await session.beginTurn("one")).end();
    expect(session.state.status).toBe("paused");
    await session.raiseBudget({ turns: 2 });
    await (await session.beginTurn("two")).end();
    await session.release();
    const before = readdirSync(home.sessionDir(session.id, "journal"));
    await expect(hf.resumeSession(session.id, { budget: { usd: 1, turns: 9 } })).rejects.toMatchObject({
      code: "invalid_data",
    });
    expect(readdirSync(home.sessionDir(session.id, "journal"))).toEqual(before);
  });
});
