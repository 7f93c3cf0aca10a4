/**
 * A home: its privacy, and how its sessions are found, listed and searched.
 */
import { chmodSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openLocalHome } from "../../src/library/local-home.ts";
import { sealJson } from "../../src/util/index.ts";
import { sessionWithTurns, TestHome } from "../support/home.ts";

describe("a home", () => {
  it("is created on first use, with access for its owner only", async () => {
    using home = new TestHome();
    await home.open();
    await (await home.open()).openSession().then((session) => session.pause());
    expect(statSync(home.dir).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(home.dir, { recursive: true, encoding: "utf8" })) {
      const { mode } = statSync(join(home.dir, name));
      expect(mode & 0o077, name).toBe(0);
    }
  });

  it("is refused if others can enter it, and so is a session directory that they can enter", async () => {
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

  it("is refused with a clear error if it is a file, can't be created, was changed or has a newer format", async () => {
    using home = new TestHome();
    writeFileSync(home.join("file"), "");
    await expect(openLocalHome({ home: home.join("file") })).rejects.toMatchObject({
      code: "home_unreadable",
    });
    await expect(openLocalHome({ home: "/proc/holdfast" })).rejects.toMatchObject({
      code: "home_unreadable",
    });
    await home.open();
    writeFileSync(join(home.dir, "home.json"), '{"holdfast":1}\n');
    await expect(home.open()).rejects.toMatchObject({ code: "home_unreadable" });
    writeFileSync(join(home.dir, "home.json"), sealJson({ holdfast: 2, home: "home_x" }));
    await expect(home.open()).rejects.toMatchObject({ code: "newer_format" });
  });

  it("id-1 refuses ids that lead out of the directory and text that is not an id", async () => {
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

  it("hides another user's session from every method, as if it did not exist", async () => {
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
    // The message is the same as for a session that never existed.
    const never = id.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    await expect(hf.showSession(never, bo)).rejects.toMatchObject({
      code: "session_not_found",
      message: `there is no session ${never}`,
    });
    for (const user of ["", "../x", "a/b", "-rf", "a b"])
      await expect(hf.openSession({ user }), user).rejects.toMatchObject({ code: "invalid_data" });
  });

  it("index-1 gives the same lists and searches after its index was deleted or spoiled", async () => {
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

  it("index-2 lists every turn and pause of a session as soon as it is durable", async () => {
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

  it("searches for words literally, even if they look like query syntax", async () => {
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

  it("lists sessions by agent and repo, and resolves prefixes of ids", async () => {
    using home = new TestHome();
    let count = 0;
    const hf = await home.open({
      newId: (prefix) => `${prefix}_01k0000000000000000000000${(count++).toString(32)}`,
    });
    const first = await hf.openSession({ agent: "fix-bot", repo: "/r" });
    await first.close();
    const second = await hf.openSession({ agent: "other" });
    await second.release();
    expect((await hf.listSessions({ agent: "other" })).map(({ id }) => id)).toEqual([second.id]);
    expect((await hf.listSessions({ repo: "/r" })).map(({ id }) => id)).toEqual([first.id]);
    await expect(hf.resolveSession("01k")).rejects.toMatchObject({ code: "ambiguous_id" });
    expect(await hf.resolveSession(first.id)).toMatchObject({ id: first.id });
    expect(await hf.resolveSession(second.id.slice("sess_".length))).toMatchObject({ id: second.id });
    await expect(hf.resolveSession("7zz")).rejects.toMatchObject({ code: "session_not_found" });
    await expect(hf.resolveSession("../x")).rejects.toMatchObject({ code: "invalid_id" });
  });
});
