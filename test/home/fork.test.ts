import { readdirSync, readFileSync, statSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryDir, sessionWithTurns, TestHome } from "../support/home.ts";

describe("fork", () => {
  it("at every turn, has exactly the history up to there", async () => {
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

  it("F1 of a running session: what the parent appends later never appears in the child, and the other way round", async () => {
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

  it("F1 no file that the parent may still write is linked, and no blob of a later turn is", async () => {
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

  it("a fork of a fork, and of an archived session, keeps everything", async () => {
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
