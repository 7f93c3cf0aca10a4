/**
 * Two readers, one page: the program's own, and one that was written from docs/format.md alone. They agree on
 * every session that is whole, and on where the others are damaged.
 */
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { auditSession } from "../../src/home/audit.ts";
import { memoryDir, sessionWithTurns, TestHome } from "../support/home.ts";
import { readExport, readSession } from "./independent-reader.ts";

async function sessions(home: TestHome): Promise<Record<string, string>> {
  const hf = await home.open();
  const plain = await sessionWithTurns(hf, 3);
  const long = await hf.openSession({ title: "long" });
  const turn = await long.beginTurn("x".repeat(10_000));
  await (await turn.callTool("t", { list: Array(2000).fill("é") })).returned(`\ud800${"y".repeat(6000)}`);
  await turn.end();
  // Forty kilobytes that stay in the line: the segment rolls over.
  for (let index = 0; index < 30; index += 1) {
    await long.append("custom", {
      name: "fill",
      ...Object.fromEntries(Array.from({ length: 10 }, (_, field) => [`f${field}`, "z".repeat(4000)])),
    });
  }
  await long.close();
  const crashed = await hf.openSession();
  await crashed.beginTurn("cut off");
  await crashed.release();
  const torn = await hf.openSession();
  for (let index = 0; index < 5; index += 1) await torn.append("custom", { name: "n", index });
  await Promise.all([5, 6].map((index) => torn.append("custom", { name: "n", index })));
  torn.abandon();
  const tail = home.sessionDir(torn.id, "journal/000001.jsonl");
  truncateSync(tail, readFileSync(tail).length - 10);
  const resumed = await hf.resumeSession(crashed.id);
  await resumed.pause();
  const fork = await hf.forkSession(long.id, { atTurn: 1 });
  await fork.pause();
  const archived = await sessionWithTurns(hf, 2);
  await hf.archiveSession(archived);
  return { plain, long: long.id, crashed: crashed.id, torn: torn.id, fork: fork.id, archived };
}

describe("the independent reader", () => {
  it("reads what was written, in every kind of session", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    for (const [kind, id] of Object.entries(await sessions(home))) {
      const ours = await Array.fromAsync(hf.readJournal(id));
      const theirs = readSession(home.sessionDir(id));
      expect(theirs.kind, kind).toBe("whole");
      expect(theirs.records, kind).toEqual(ours);
      if (theirs.kind === "whole") expect(theirs.tornBytes, kind).toBe((await hf.auditSession(id)).tornBytes);
    }
  });

  it("reads exports, and refuses what was changed", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    for (const [kind, id] of Object.entries(await sessions(home))) {
      const file = home.join(`${kind}.holdfast`);
      await hf.exportSession(id, file);
      expect(readExport(file), kind).toEqual({
        session: id,
        records: await Array.fromAsync(hf.readJournal(id)),
      });
      const bytes = readFileSync(file);
      bytes[40] = (bytes[40] as number) ^ 1;
      writeFileSync(file, bytes);
      expect(() => readExport(file), kind).toThrow();
    }
  });

  it("finds the same damage at the same place", async () => {
    using home = new TestHome(memoryDir);
    const { plain, long, torn } = await sessions(home);
    for (const id of [plain, long, torn] as string[]) {
      const original = home.sessionDir(id);
      const files = [
        "session.json",
        "head.json",
        ...readdirSync(join(original, "journal"))
          .filter((name) => name.endsWith(".jsonl"))
          .map((name) => `journal/${name}`),
      ];
      for (const file of files) {
        const content = readFileSync(join(original, file));
        const step = Math.max(1, Math.floor(content.length / 150));
        for (let offset = 0; offset < content.length; offset += step) {
          const copy = home.join("copy");
          cpSync(original, copy, {
            recursive: true,
            filter: (path) => !path.includes("owner") && !path.endsWith("fold.json"),
          });
          const flipped = Buffer.from(content);
          flipped[offset] = (flipped[offset] as number) ^ (1 << (offset % 8));
          writeFileSync(join(copy, file), flipped);
          const [ours] = (await auditSession(copy)).findings;
          const theirs = readSession(copy);
          const context = `${file} byte ${offset}`;
          expect(theirs.kind, context).toBe(ours ? "damaged" : "whole");
          if (ours && theirs.kind === "damaged") {
            expect(theirs.file, context).toBe(ours.file);
            if (file.startsWith("journal/")) expect(theirs.offset, context).toBe(ours.offset);
          }
          rmSync(copy, { recursive: true });
        }
      }
    }
  });
});
