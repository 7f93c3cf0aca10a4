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
import { openHoldfast } from "../../src/index.ts";
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
    await expect(hf.resolveId(id, bo)).rejects.toMatchObject({ code: "session_not_found" });
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
      expect(await seen()).toMatchObject({ status: "idle", records: session.state.seq });
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
    await expect(hf.resolveId("01k")).rejects.toMatchObject({ code: "ambiguous_id" });
    expect(await hf.resolveId(first.id)).toBe(first.id);
    expect(await hf.resolveId(second.id.slice("sess_".length))).toBe(second.id);
    await expect(hf.resolveId("7zz")).rejects.toMatchObject({ code: "session_not_found" });
    await expect(hf.resolveId("../x")).rejects.toMatchObject({ code: "invalid_id" });
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
    expect(await hf.resolveId(good)).toBe(good);
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

describe("damage", () => {
  async function damagedSession(home: TestHome, spoil: (dir: string) => void): Promise<string> {
    const id = await sessionWithTurns(await home.open(), 3, { title: "hurt" });
    spoil(home.sessionDir(id));
    return id;
  }
  const flipIn = (file: string, text: string) => (dir: string) => {
    const path = join(dir, file);
    const content = readFileSync(path);
    const at = content.indexOf(text);
    content[at] = (content[at] as number) ^ 1;
    writeFileSync(path, content);
  };

  it("J4 a damaged session opens read-only: shown, listed and read up to the damage, never changed", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await damagedSession(home, flipIn("journal/000001.jsonl", "input 2"));
    // A cached fold beyond the damage would hide it from everything but audit and doctor.
    rmSync(home.sessionDir(id, "fold.json"));
    const before = readdirSync(home.sessionDir(id), { recursive: true }).sort();
    expect(await hf.showSession(id)).toMatchObject({
      id,
      status: "damaged",
      title: "hurt",
      damage: { file: "journal/000001.jsonl", seq: 7 },
    });
    expect((await hf.listSessions())[0]).toMatchObject({ id, status: "damaged" });
    await expect(hf.resumeSession(id)).rejects.toMatchObject({ code: "session_damaged" });
    await expect(hf.forkSession(id)).rejects.toMatchObject({ code: "session_damaged" });
    await expect(hf.exportSession(id, home.join("e"))).rejects.toMatchObject({ code: "session_damaged" });
    const read: number[] = [];
    await expect(
      (async () => {
        for await (const { seq } of hf.readJournal(id)) read.push(seq);
      })(),
    ).rejects.toMatchObject({ code: "session_damaged" });
    expect(read).toEqual([1, 2, 3, 4, 5, 6]);
    expect(readdirSync(home.sessionDir(id), { recursive: true }).sort()).toEqual(before);
  });

  it("repair forks the good records and keeps the rest as it was", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await damagedSession(home, flipIn("journal/000001.jsonl", "content 2"));
    const bytes = readFileSync(home.sessionDir(id, "journal/000001.jsonl"));
    const repair = await hf.repairSession(id);
    expect(repair).toMatchObject({ keptRecords: 8 });
    expect(readFileSync(home.sessionDir(id, "journal/000001.jsonl"))).toEqual(bytes);
    const fork = repair.session ?? "";
    expect((await hf.auditSession(fork)).findings).toEqual([]);
    expect(await hf.showSession(fork)).toMatchObject({ status: "open", parent: { id, seq: 8 } });
    // The turn that the damage cut off is closed as a crash's would be.
    const history = await Array.fromAsync(hf.readHistory(fork));
    expect(history.map(({ outcome }) => outcome)).toEqual(["completed", "interrupted"]);
    await using session = await hf.resumeSession(fork);
    await (await session.beginTurn("on")).end();
  });

  it("repair handles every kind of damage", async () => {
    const kinds: [string, (dir: string) => void, number][] = [
      ["witness", flipIn("head.json", "seq"), 17],
      ["manifest", flipIn("session.json", "user"), 17],
      [
        "cut",
        (dir) =>
          writeFileSync(
            join(dir, "journal/000001.jsonl"),
            readFileSync(join(dir, "journal/000001.jsonl")).subarray(0, 700),
          ),
        2,
      ],
    ];
    for (const [kind, spoil, kept] of kinds) {
      using home = new TestHome();
      const hf = await home.open();
      const id = await damagedSession(home, spoil);
      expect((await hf.auditSession(id)).findings, kind).not.toEqual([]);
      const repair = await hf.repairSession(id);
      expect(repair.keptRecords, kind).toBe(kept);
      expect((await hf.auditSession(repair.session ?? "")).findings, kind).toEqual([]);
    }
  });

  it("repair keeps what stands before a segment whose header is damaged", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await damagedSession(home, () => {});
    await (await hf.resumeSession(id)).pause();
    flipIn("journal/000002.jsonl", "epoch")(home.sessionDir(id));
    expect((await hf.auditSession(id)).findings[0]).toMatchObject({ file: "journal/000002.jsonl" });
    expect(await hf.repairSession(id)).toMatchObject({ keptRecords: 17 });
  });

  it("C2 a spoiled fold is only a cache: the session opens, and repair removes it", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await damagedSession(home, flipIn("fold.json", "title"));
    expect((await hf.auditSession(id)).findings).toMatchObject([{ file: "fold.json" }]);
    expect(await hf.repairSession(id)).toMatchObject({ session: null });
    expect((await hf.auditSession(id)).findings).toEqual([]);
    await (await hf.resumeSession(id)).pause();
  });

  it("C1 a fold ahead of its journal means that the journal was cut", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await damagedSession(home, (dir) => {
      const path = join(dir, "journal/000001.jsonl");
      const content = readFileSync(path);
      writeFileSync(path, content.subarray(0, content.lastIndexOf(10, content.length - 2) + 1));
      rmSync(join(dir, "head.json"));
    });
    expect((await hf.showSession(id)).status).toBe("damaged");
    await expect(hf.resumeSession(id)).rejects.toMatchObject({ code: "session_damaged" });
  });

  it("the doctor says what works here, and finds what is wrong", async () => {
    using home = new TestHome();
    const hf = await home.open();
    expect((await hf.examine()).every(({ level }) => level === "ok")).toBe(true);
    const id = await damagedSession(home, flipIn("journal/000001.jsonl", "input 3"));
    mkdirSync(join(home.dir, "staging", "999999999-stage_x"));
    const findings = await hf.examine();
    expect(findings.find(({ what }) => what === id)).toMatchObject({
      level: "bad",
      detail: expect.stringContaining("seq 12"),
    });
    expect(findings.find(({ what }) => what === "staging")).toMatchObject({ level: "note" });
    expect(existsSync(join(home.dir, "staging", "999999999-stage_x"))).toBe(true);
  });
});
