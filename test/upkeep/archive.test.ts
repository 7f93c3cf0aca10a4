import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sessionWithTurns, TestHome } from "../support/home.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

describe("archive and retention", () => {
  it("an archived session is compressed, stays readable and can be resumed", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession({ title: "old" });
    const turn = await session.beginTurn(`find me ${"needle ".repeat(2000)}`);
    await turn.end();
    await session.close();
    const before = await Array.fromAsync(hf.readJournal(session.id));
    await hf.archiveSession(session.id);
    const files = [
      ...readdirSync(home.sessionDir(session.id, "journal")),
      ...readdirSync(home.sessionDir(session.id, "blobs")),
    ];
    expect(files.every((name) => name.endsWith(".zst"))).toBe(true);
    expect((await hf.showSession(session.id)).status).toBe("archived");
    expect((await Array.fromAsync(hf.readJournal(session.id))).slice(0, before.length)).toEqual(before);
    expect((await hf.search(["needle"]))[0]).toMatchObject({ session: session.id });
    await hf.exportSession(session.id, home.join("e.holdfast"));
    expect((await hf.auditSession(session.id)).findings).toEqual([]);
    await using resumed = await hf.resumeSession(session.id);
    await (await resumed.beginTurn("on")).end();
    expect(resumed.state.turns).toBe(2);
    expect((await hf.auditSession(session.id)).findings).toEqual([]);
  });

  it("refuses to archive a session that is open or damaged", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const open = await hf.openSession();
    await open.release();
    await expect(hf.archiveSession(open.id)).rejects.toMatchObject({ code: "illegal_transition" });
    const id = await sessionWithTurns(hf, 1);
    writeFileSync(home.sessionDir(id, "session.json"), "{}");
    await expect(hf.archiveSession(id)).rejects.toMatchObject({ code: "session_damaged" });
  });

  it("audit finds a changed byte in a compressed segment, unless the content is unaffected", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 1);
    await hf.archiveSession(id);
    const { readFileSync } = await import("node:fs");
    const path = home.sessionDir(id, "journal", "000001.jsonl.zst");
    const original = readFileSync(path);
    const before = await Array.fromAsync(hf.readJournal(id));
    let found = 0;
    for (let offset = 0; offset < original.length; offset += 1) {
      const spoiled = Buffer.from(original);
      spoiled[offset] = (spoiled[offset] as number) ^ 0x10;
      writeFileSync(path, spoiled);
      const { findings } = await hf.auditSession(id);
      // Some bits of a zstd frame do not affect the content. Then every record must still be readable.
      if (findings.length > 0) expect(findings[0]?.file).toBe("journal/000001.jsonl");
      else expect(await Array.fromAsync(hf.readJournal(id))).toEqual(before);
      found += findings.length;
    }
    expect(found).toBeGreaterThan(original.length * 0.9);
    writeFileSync(path, Buffer.concat([original, Buffer.from("more")]));
    expect((await hf.auditSession(id)).findings).not.toEqual([]);
  });

  it("retention-1 gc archives sessions closed long ago, and deletes them only if the retention says so", async () => {
    using home = new TestHome();
    let nowMs = Date.now();
    const clock = { nowMs: () => nowMs, monotonicMs: () => 0 };
    const hf = await home.open({ clock });
    const closed = await hf.openSession();
    await closed.close();
    const paused = await sessionWithTurns(hf, 1);
    expect((await hf.gc()).done).toEqual([]);
    nowMs += 31 * DAY_MS;
    expect((await hf.gc({ dryRun: true })).done).toMatchObject([{ action: "archive", what: closed.id }]);
    expect((await hf.showSession(closed.id)).status).toBe("closed");
    expect((await hf.gc()).done).toMatchObject([{ action: "archive" }]);
    expect((await hf.showSession(closed.id)).status).toBe("archived");
    nowMs += 1000 * DAY_MS;
    expect((await hf.gc()).done).toEqual([]);
    const retention = { archiveClosedDays: 30, deleteArchivedDays: 365 };
    expect((await hf.gc({ retention, dryRun: true })).done).toMatchObject([
      { action: "delete", what: closed.id },
    ]);
    expect(existsSync(home.sessionDir(closed.id))).toBe(true);
    await hf.gc({ retention });
    expect(existsSync(home.sessionDir(closed.id))).toBe(false);
    expect((await hf.listSessions()).map(({ id }) => id)).toEqual([paused]);
    expect(readdirSync(join(home.dir, "trash"))).toEqual([]);
  });

  it("gc clears what crashed processes left behind and keeps what a live process is making", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 1);
    mkdirSync(join(home.dir, "staging", "999999999-stage_x", "journal"), { recursive: true });
    mkdirSync(join(home.dir, "staging", `${process.pid}-stage_y`));
    mkdirSync(join(home.dir, "trash", "sess_z"));
    const unborn = "sess_01k00000000000000000000000";
    for (const part of ["journal", "blobs"]) mkdirSync(home.sessionDir(unborn, part), { recursive: true });
    expect((await hf.listSessions()).map((one) => one.id)).toEqual([id]);
    const { done, left } = await hf.gc();
    expect(done.map(({ action }) => action)).toEqual(["clear", "clear", "clear"]);
    expect(left).toEqual([]);
    expect(readdirSync(join(home.dir, "staging"))).toEqual([`${process.pid}-stage_y`]);
    expect(existsSync(home.sessionDir(unborn))).toBe(false);
    expect((await hf.gc()).done).toEqual([]);
  });

  it("gc leaves a session alone while a process owns it, and reports why", async () => {
    using home = new TestHome();
    const nowMs = Date.now() + 40 * DAY_MS;
    const hf = await home.open();
    const session = await hf.openSession();
    await session.append("session_closed", {});
    const later = await home.open({ clock: { nowMs: () => nowMs, monotonicMs: () => 0 } });
    const { done, left } = await later.gc();
    expect(done).toEqual([]);
    expect(left).toMatchObject([
      { action: "archive", what: session.id, reason: expect.stringContaining(String(process.pid)) },
    ]);
    await session.release();
  });
});
