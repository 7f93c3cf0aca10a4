import { readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openSealedJson } from "../../src/util/index.ts";
import { memoryDir, sessionWithTurns, TestHome } from "../support/home.ts";

describe("a fork", () => {
  it("has exactly the history up to the turn that it was made at", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 4);
    const history = await Array.fromAsync(hf.readHistory(id));
    for (let atTurn = 0; atTurn <= 4; atTurn += 1) {
      await using fork = await hf.forkSession(id, { atTurn });
      expect(await Array.fromAsync(fork.history())).toEqual(history.slice(0, atTurn));
      expect(fork.state).toMatchObject({
        turns: atTurn,
        status: "open",
        parent: { id, turn: atTurn },
        spent: { turns: 0, usd: 0 },
      });
      const turn = await fork.beginTurn("my own way");
      await turn.end();
      expect(fork.state.turns).toBe(atTurn + 1);
      expect((await hf.auditSession(fork.id)).findings).toEqual([]);
    }
    expect(await Array.fromAsync(hf.readHistory(id))).toEqual(history);
    await expect(hf.forkSession(id, { atTurn: 5 })).rejects.toMatchObject({ code: "turn_not_found" });
    await expect(hf.forkSession(id, { atTurn: -1 })).rejects.toMatchObject({ code: "turn_not_found" });
  });

  it("fork-1 never shares later records with its parent, even if that is running", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 3 }),
        fc.integer({ min: 1, max: 40 }),
        async (turns, appends) => {
          await using parent = await hf.openSession();
          for (let number = 0; number < turns; number += 1)
            await (await parent.beginTurn(`p${number}`)).end();
          for (let number = 0; number < appends; number += 1)
            await parent.append("custom", { name: "before", text: "x".repeat(4000) });
          await parent.beginTurn("still open");
          await using child = await hf.forkSession(parent.id);
          expect(child.state).toMatchObject({ turns, openTurn: null });
          await Promise.all([
            ...Array.from({ length: 20 }, () => parent.append("custom", { name: "parent" })),
            ...Array.from({ length: 20 }, () => child.append("custom", { name: "child" })),
          ]);
          const names = async (id: string) =>
            new Set((await Array.fromAsync(hf.readJournal(id))).map(({ data }) => data["name"]));
          expect(await names(child.id)).not.toContain("parent");
          expect(await names(parent.id)).not.toContain("child");
          expect((await hf.auditSession(child.id)).findings).toEqual([]);
          expect((await hf.auditSession(parent.id)).findings).toEqual([]);
        },
      ),
      { numRuns: 15 },
    );
  });

  it("fork-1 is linked to no file that its parent may still write, and has no blob of a later turn", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const parent = await hf.openSession();
    await (await parent.beginTurn("a".repeat(5000))).end();
    await (await parent.beginTurn("b".repeat(5000))).end();
    const child = await hf.forkSession(parent.id, { atTurn: 1 });
    const parentTail = readdirSync(home.sessionDir(parent.id, "journal")).at(-1) ?? "";
    expect(statSync(home.sessionDir(parent.id, "journal", parentTail)).nlink).toBe(1);
    expect(readdirSync(home.sessionDir(child.id, "blobs"))).toHaveLength(1);
    const bytes = readdirSync(home.sessionDir(child.id), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".jsonl"))
      .map((name) => readFileSync(home.sessionDir(child.id, name), "utf8"))
      .join("");
    expect(bytes).not.toContain('"turn":2');
    await child.release();
    await parent.release();
  });

  it("has the whole history of a parent that is itself a fork, and archived", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 2);
    const first = await hf.forkSession(id);
    await (await first.beginTurn("third")).end();
    await first.close();
    await hf.archiveSession(first.id);
    await using second = await hf.forkSession(first.id, { atTurn: 3 });
    expect((await Array.fromAsync(second.history())).map(({ input }) => input)).toEqual([
      "input 1",
      "input 2",
      "third",
    ]);
    expect((await hf.auditSession(second.id)).findings).toEqual([]);
  });
});

describe("a fork of a session whose cached fold hides its damage", () => {
  const flip = (path: string, offset: number) => {
    const content = readFileSync(path);
    content[offset] = (content[offset] as number) ^ 1;
    writeFileSync(path, content);
  };

  it("fork-2 is refused, and the error names the damaged segment or blob", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    const session = await hf.openSession();
    for (const input of ["a", "b", "c".repeat(5000), "d"]) await (await session.beginTurn(input)).end();
    await session.pause();
    await (await hf.forkSession(session.id)).release();
    const blob = `blobs/${readdirSync(home.sessionDir(session.id, "blobs"))[0]}`;
    const segment = "journal/000001.jsonl";
    const { size } = statSync(home.sessionDir(session.id, segment));
    const places: [string, number][] = [0, 400, 700, 1000, size - 200].map((offset) => [segment, offset]);
    for (const [file, offset] of [...places, [blob, 0], [blob, 4000]] as [string, number][]) {
      flip(home.sessionDir(session.id, file), offset);
      const count = (await hf.listSessions()).length;
      for (const atTurn of [1, 4])
        await expect(
          hf.forkSession(session.id, { atTurn }),
          `${file} ${offset} ${atTurn}`,
        ).rejects.toMatchObject({
          code: "session_damaged",
          facts: { file },
        });
      expect((await hf.listSessions()).length).toBe(count);
      expect(readdirSync(home.join("home", "staging"))).toEqual([]);
      flip(home.sessionDir(session.id, file), offset);
    }
    rmSync(home.sessionDir(session.id, blob));
    await expect(hf.forkSession(session.id)).rejects.toMatchObject({
      code: "session_damaged",
      facts: { file: blob, seq: 6 },
    });
  });

  it("fork-2 checked-1 is refused although earlier forks passed, even if the file's times were set back", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    const session = await hf.openSession();
    const fields = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`f${at}`, "z".repeat(4000)]));
    for (let index = 0; index < 150; index += 1) await session.append("custom", { name: "fill", ...fields });
    await (await session.beginTurn("b".repeat(5000))).end();
    await session.pause();
    const journal = home.sessionDir(session.id, "journal");
    const blob = `blobs/${readdirSync(home.sessionDir(session.id, "blobs"))[0]}`;
    const files = [...readdirSync(journal).map((name) => `journal/${name}`), blob];
    expect(files.length).toBeGreaterThan(6);
    // Old enough that the check relies on their times.
    for (const file of files) utimesSync(home.sessionDir(session.id, file), 1_000_000, 1_000_000);
    await (await hf.forkSession(session.id)).release();
    const stored = openSealedJson(readFileSync(home.sessionDir(session.id, "checked.json")));
    expect(Object.keys(stored?.["stamps"] as object).sort()).toEqual([...files].sort());
    await (await hf.forkSession(session.id)).release();
    for (const file of files) {
      const path = home.sessionDir(session.id, file);
      const offset = Math.floor(statSync(path).size / 2);
      flip(path, offset);
      await expect(hf.forkSession(session.id), file).rejects.toMatchObject({ facts: { file } });
      utimesSync(path, 1_000_000, 1_000_000);
      await expect(hf.forkSession(session.id), file).rejects.toMatchObject({ facts: { file } });
      flip(path, offset);
      utimesSync(path, 1_000_000, 1_000_000);
      const fork = await hf.forkSession(session.id);
      await fork.release();
      if (file === blob) expect((await hf.auditSession(fork.id)).findings).toEqual([]);
    }
    // checked.json is a cache: if it is spoiled or deleted, a fork only takes longer.
    for (const spoil of [(path: string) => flip(path, 30), rmSync]) {
      spoil(home.sessionDir(session.id, "checked.json"));
      await (await hf.forkSession(session.id)).release();
    }
    // The check covers segments that the session added later, too.
    const resumed = await hf.resumeSession(session.id);
    await (await resumed.beginTurn("more")).end();
    await resumed.pause();
    await using last = await hf.forkSession(session.id);
    expect(last.state.turns).toBe(2);
    const added = readdirSync(journal).at(-1) ?? "";
    flip(join(journal, added), 600);
    await expect(hf.forkSession(session.id)).rejects.toMatchObject({ code: "session_damaged" });
  });
});
