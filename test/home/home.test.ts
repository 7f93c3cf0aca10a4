import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openHoldfast } from "../../src/library/holdfast.ts";
import { type Disk, realDisk, sealJson, sealLine } from "../../src/util/index.ts";
import { sessionWithTurns, TestHome } from "../support/home.ts";

describe("a home", () => {
  it("is made on first use, and is its owner's alone", async () => {
    using home = new TestHome();
    await home.open();
    await (await home.open()).openSession().then((session) => session.pause());
    expect(statSync(home.dir).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(home.dir, { recursive: true, encoding: "utf8" })) {
      const { mode } = statSync(join(home.dir, name));
      expect(mode & 0o077, name).toBe(0);
    }
  });

  it("that others can enter is refused, and so is a session directory that they can", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 1);
    chmodSync(home.sessionDir(id), 0o750);
    await expect(hf.resumeSession(id)).rejects.toMatchObject({
      code: "unsafe_permissions",
      facts: { path: home.sessionDir(id) },
    });
    chmodSync(home.sessionDir(id), 0o700);
    chmodSync(home.dir, 0o755);
    await expect(home.open()).rejects.toMatchObject({ code: "unsafe_permissions" });
    await expect(hf.openSession()).rejects.toMatchObject({ code: "unsafe_permissions" });
  });

  it("that is a file, can't be made, was changed, or is of a newer format gets a clear error", async () => {
    using home = new TestHome();
    writeFileSync(home.join("file"), "");
    await expect(openHoldfast({ home: home.join("file") })).rejects.toMatchObject({
      code: "home_unreadable",
    });
    await expect(openHoldfast({ home: "/proc/holdfast" })).rejects.toMatchObject({ code: "home_unreadable" });
    await home.open();
    writeFileSync(join(home.dir, "home.json"), '{"holdfast":1}\n');
    await expect(home.open()).rejects.toMatchObject({ code: "home_unreadable" });
    writeFileSync(join(home.dir, "home.json"), sealJson({ holdfast: 2, home: "home_x" }));
    await expect(home.open()).rejects.toMatchObject({ code: "newer_format" });
  });

  it("I1 ids that climb, and ids that are none, never reach the file system", async () => {
    using home = new TestHome();
    const hf = await home.open();
    for (const id of [
      "../x",
      "sess_../../etc",
      "sess_",
      "",
      ".",
      "sess_01k0000000000000000000000/",
      "SESS_01K00000000000000000000000",
      "sess_01k0000000000000000000000\u0000",
    ]) {
      await expect(hf.resumeSession(id), id).rejects.toMatchObject({ code: "invalid_id" });
      await expect(hf.forkSession(id), id).rejects.toMatchObject({ code: "invalid_id" });
      await expect(hf.auditSession(id), id).rejects.toMatchObject({ code: "invalid_id" });
      await expect(Array.fromAsync(hf.readJournal(id)), id).rejects.toMatchObject({ code: "invalid_id" });
    }
  });

  it("another user's session is not found, by any door", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 1, { user: "ani", title: "private words" });
    const bo = { user: "bo" };
    const missing = { code: "session_not_found", message: `there is no session ${id}` };
    for (const attempt of [
      () => hf.resumeSession(id, bo),
      () => hf.forkSession(id, bo),
      () => hf.showSession(id, bo),
      () => hf.pauseSession(id, bo),
      () => hf.closeSession(id, bo),
      () => hf.archiveSession(id, bo),
      () => hf.auditSession(id, bo),
      () => hf.repairSession(id, bo),
      () => hf.exportSession(id, home.join("x"), bo),
      () => Array.fromAsync(hf.readJournal(id, bo)),
      () => Array.fromAsync(hf.readHistory(id, bo)),
    ]) {
      await expect(attempt()).rejects.toMatchObject(missing);
    }
    expect(await hf.listSessions(bo)).toEqual([]);
    expect(await hf.search(["private"], bo)).toEqual([]);
    await expect(hf.resolveSession(id, bo)).rejects.toMatchObject({ code: "session_not_found" });
    expect(await hf.search(["private"], { user: "ani" })).toHaveLength(1);
    // The same words as for a session that never was.
    const never = id.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    await expect(hf.showSession(never, bo)).rejects.toMatchObject({
      code: "session_not_found",
      message: `there is no session ${never}`,
    });
    for (const user of ["", "../x", "a/b", "-rf", "a b"])
      await expect(hf.openSession({ user }), user).rejects.toMatchObject({ code: "invalid_data" });
  });

  it("X1 the index is a cache: deleted or spoiled, lists and searches are the same", async () => {
    using home = new TestHome();
    const hf = await home.open();
    for (let index = 0; index < 3; index += 1)
      await sessionWithTurns(hf, index + 1, { title: `number ${index}` });
    const list = await hf.listSessions();
    const hits = await hf.search(["answer", "2"]);
    expect(list.map(({ turns }) => turns)).toEqual([1, 2, 3]);
    expect(hits).toHaveLength(2);
    rmSync(join(home.dir, "index.db"));
    expect(await hf.listSessions()).toEqual(list);
    expect(await hf.search(["answer", "2"])).toEqual(hits);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(join(home.dir, `index.db${suffix}`), { force: true });
    writeFileSync(
      join(home.dir, "index.db"),
      "this is no database, but it is long enough to look at".repeat(100),
    );
    expect(await hf.listSessions()).toEqual(list);
    expect(await hf.search(["answer", "2"])).toEqual(hits);
  });

  it("X2 a list is never stale: it shows each append, pause and resume as soon as it is durable", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession();
    const seen = async () => (await hf.listSessions()).find(({ id }) => id === session.id);
    for (let turn = 1; turn <= 30; turn += 1) {
      const open = await session.beginTurn("x");
      expect(await seen()).toMatchObject({ turns: turn, status: "running", pid: process.pid });
      await open.end();
      expect(await seen()).toMatchObject({ status: "open", records: session.state.seq });
    }
    await session.pause();
    expect(await seen()).toMatchObject({ status: "paused", pid: null });
  });

  it("search takes words as they are, query syntax included", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession();
    await session.append("custom", { name: "n", text: 'NEAR the "quoted" OR col:umn -minus star*' });
    await session.pause();
    for (const words of [
      ["NEAR"],
      ['"quoted"'],
      ["OR", "near"],
      ["col:umn"],
      ["-minus"],
      ["star*"],
      ["'"],
      ['"'],
      ["(", ")"],
    ]) {
      const hits = await hf.search(words);
      if (words.join("").match(/\w/)) expect(hits, words.join(" ")).toHaveLength(1);
    }
    expect(await hf.search(["absent"])).toEqual([]);
    await expect(hf.search([" "])).rejects.toMatchObject({ code: "usage" });
  });

  it("lists by status, agent and repo, and resolves prefixes", async () => {
    using home = new TestHome();
    let count = 0;
    const hf = await home.open({
      newId: (prefix) => `${prefix}_01k0000000000000000000000${(count++).toString(32)}`,
    });
    const first = await hf.openSession({ agent: "fix-bot", repo: "/r" });
    await first.close();
    const second = await hf.openSession({ agent: "other" });
    await second.release();
    expect((await hf.listSessions({ status: ["closed"] })).map(({ id }) => id)).toEqual([first.id]);
    expect((await hf.listSessions({ agent: "other" })).map(({ id }) => id)).toEqual([second.id]);
    expect((await hf.listSessions({ repo: "/r" })).map(({ id }) => id)).toEqual([first.id]);
    await expect(hf.resolveSession("01k")).rejects.toMatchObject({ code: "ambiguous_id" });
    expect(await hf.resolveSession(first.id)).toMatchObject({ id: first.id });
    expect(await hf.resolveSession(second.id.slice("sess_".length))).toMatchObject({ id: second.id });
    await expect(hf.resolveSession("7zz")).rejects.toMatchObject({ code: "session_not_found" });
    await expect(hf.resolveSession("../x")).rejects.toMatchObject({ code: "invalid_id" });
  });
});

describe("what a home withstands", () => {
  it("one session that can't be read is shown as damaged, and the others go on", async () => {
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

  it("a session without its manifest is found by its journal, and can be repaired", async () => {
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

  it("J2 without its witness a session is damaged, and is not opened: it could have been cut", async () => {
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

  it("a file system that refuses is an error with a way out, in every method", async () => {
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

  it("may be a symlink, and is not made when it must be there", async () => {
    using home = new TestHome();
    await home.open();
    symlinkSync(home.dir, home.join("link"));
    await (await openHoldfast({ home: home.join("link") })).listSessions();
    await expect(openHoldfast({ home: home.join("typo"), create: false })).rejects.toMatchObject({
      code: "home_not_found",
    });
    await expect(openHoldfast({ home: "" })).rejects.toMatchObject({ code: "usage" });
    expect(existsSync(home.join("typo"))).toBe(false);
  });

  it("forgets the words of a session that was deleted", async () => {
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

  it("a refused budget changes nothing, and one that is raised lets the same handle go on", async () => {
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
