import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sessionWithTurns, TestHome } from "../support/home.ts";

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

  it("journal-4 a damaged session can be shown, listed and read up to the damage, but is never changed", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await damagedSession(home, flipIn("journal/000001.jsonl", "input 2"));
    // A cached fold beyond the damage would hide it from everything but audit, doctor and fork.
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

  it("repair forks the good records and leaves the damaged journal untouched", async () => {
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
    // The turn that the damage cut off is closed as after a crash.
    const history = await Array.fromAsync(hf.readHistory(fork));
    expect(history.map(({ outcome }) => outcome)).toEqual(["completed", "interrupted"]);
    await using session = await hf.resumeSession(fork);
    await (await session.beginTurn("on")).end();
  });

  it("repair keeps the good records after damage to the witness, session.json or the journal", async () => {
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

  it("repair keeps the records before a segment with a damaged header", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await damagedSession(home, () => {});
    await (await hf.resumeSession(id)).pause();
    flipIn("journal/000002.jsonl", "epoch")(home.sessionDir(id));
    expect((await hf.auditSession(id)).findings[0]).toMatchObject({ file: "journal/000002.jsonl" });
    expect(await hf.repairSession(id)).toMatchObject({ keptRecords: 17 });
  });

  it("a damaged or missing blob is reported at the record that names it", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession();
    await (await session.beginTurn("b".repeat(5000))).end();
    await session.pause();
    const blob = `blobs/${readdirSync(home.sessionDir(session.id, "blobs"))[0]}`;
    flipIn(blob, "bbb")(home.sessionDir(session.id));
    const wanted = { code: "session_damaged", facts: { file: blob, seq: 2 } };
    await expect(Array.fromAsync(hf.readJournal(session.id))).rejects.toMatchObject(wanted);
    rmSync(home.sessionDir(session.id, blob));
    await expect(Array.fromAsync(hf.readJournal(session.id))).rejects.toMatchObject(wanted);
    expect((await hf.auditSession(session.id)).findings).toMatchObject([wanted.facts]);
  });

  it("audit reports session.json only for its own damage, not because the journal is unreadable", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await damagedSession(home, () => {});
    const fork = await hf.forkSession(id);
    await fork.pause();
    flipIn("journal/000001.jsonl", "session_opened")(home.sessionDir(id));
    // The record that says what the fork is comes after the damage.
    const segment = home.sessionDir(fork.id, "journal/000001.jsonl");
    const content = readFileSync(home.sessionDir(id, "journal/000001.jsonl"));
    rmSync(segment);
    writeFileSync(segment, content);
    for (const damaged of [id, fork.id])
      expect((await hf.auditSession(damaged)).findings.map(({ file }) => file)).toEqual([
        "journal/000001.jsonl",
      ]);
    flipIn("session.json", "user")(home.sessionDir(id));
    expect((await hf.auditSession(id)).findings.map(({ file }) => file)).toEqual([
      "journal/000001.jsonl",
      "session.json",
    ]);
  });

  it("journal-3 bytes added after the end of an earlier segment are reported, but are not damage", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await damagedSession(home, () => {});
    await (await hf.resumeSession(id)).pause();
    expect(await hf.auditSession(id)).toMatchObject({ findings: [], ignoredBytes: 0 });
    appendFileSync(home.sessionDir(id, "journal/000001.jsonl"), "added");
    expect(await hf.auditSession(id)).toMatchObject({ findings: [], ignoredBytes: 5 });
    expect(await hf.examine()).toContainEqual({
      level: "note",
      what: id,
      detail: expect.stringContaining("5 bytes after"),
    });
    // In the last segment they are damage, once its owner has let go of it.
    appendFileSync(home.sessionDir(id, "journal/000002.jsonl"), "added");
    expect((await hf.auditSession(id)).findings).toMatchObject([{ file: "journal/000002.jsonl" }]);
  });

  it("fold-cache-2 a changed fold.json is reported and ignored in favor of the records, and repair removes it", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await damagedSession(home, (dir) => {
      const path = join(dir, "fold.json");
      const text = readFileSync(path, "utf8");
      expect(text).toContain('"title":"hurt"');
      writeFileSync(path, text.replace('"title":"hurt"', '"title":"lies"'));
    });
    expect(await hf.showSession(id)).toMatchObject({ title: "hurt", status: "paused" });
    expect((await hf.auditSession(id)).findings).toMatchObject([{ file: "fold.json" }]);
    const session = await hf.resumeSession(id);
    expect(session.state.title).toBe("hurt");
    await session.pause();
    expect((await hf.auditSession(id)).findings).toEqual([]);
    flipIn("fold.json", "title")(home.sessionDir(id));
    expect(await hf.repairSession(id)).toMatchObject({ session: null });
    expect(existsSync(home.sessionDir(id, "fold.json"))).toBe(false);
    expect((await hf.auditSession(id)).findings).toEqual([]);
  });

  it("fold-cache-1 a session whose cached fold is ahead of its journal is damaged", async () => {
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

  it("doctor reports damaged sessions and leftovers without removing anything", async () => {
    using home = new TestHome();
    const hf = await home.open();
    expect((await hf.examine()).filter(({ level }) => level === "bad")).toEqual([]);
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
