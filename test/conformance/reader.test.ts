/**
 * Compares Holdfast's own reader with one that was written from docs/format.md alone: they agree on every session
 * that is whole, and on where the others are damaged.
 */
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readBlob } from "../../src/journal/index.ts";
import { auditJournal } from "../../src/upkeep/checking/audit-journal.ts";
import {
  hasDuplicateKeys,
  openSealedJson,
  SEAL_LENGTH,
  sealJson,
  sealLine,
  sha256Hex,
} from "../../src/util/index.ts";
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
  it("reads the same records as Holdfast, in every kind of session", async () => {
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

  it("reads exports, and refuses one with a changed byte", async () => {
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

  it("reads what an import wrote, and detects a session.json that was changed", async () => {
    using home = new TestHome(memoryDir);
    using elsewhere = new TestHome(memoryDir);
    const hf = await home.open();
    const { long, fork } = await sessions(home);
    const other = await elsewhere.open();
    for (const [id, repo] of [
      [long, undefined],
      [fork, "/a/repo"],
    ] as [string, string | undefined][]) {
      await hf.exportSession(id, home.join(id));
      await other.importSession(home.join(id), { user: "bo", ...(repo && { repo }) });
      expect(readSession(elsewhere.sessionDir(id)).kind).toBe("whole");
      const file = elsewhere.sessionDir(id, "session.json");
      const { hash: _, ...manifest } = JSON.parse(readFileSync(file, "utf8"));
      expect(manifest).toMatchObject({ session: id, user: "bo", repo: repo ?? null });
      for (const changed of [{ user: "ani" }, { repo: "/other" }, { agent: "x" }, { createdAt: "" }]) {
        writeFileSync(file, sealJson({ ...manifest, ...changed }));
        expect(readSession(elsewhere.sessionDir(id))).toMatchObject({ file: "session.json" });
        expect((await auditJournal(elsewhere.sessionDir(id))).findings).toMatchObject([
          { file: "session.json" },
        ]);
      }
    }
  });

  it("journal-2 refuses a duplicate key in a record, a blob or a sealed file, even if every hash fits", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 2);
    const original = home.sessionDir(id);
    const lines = readFileSync(join(original, "journal/000001.jsonl"), "utf8").split("\n").slice(0, -1);
    const bad: [string, string][] = [
      ['"input":"input 2"', '"input":"input 2","input":"another"'],
      ['"input":"input 2"', '"input":{"a":1,"b":[{"a":2}],"\\u0061":3}'],
      ['"type":"turn_started"', '"type":"turn_started","type":"turn_started"'],
    ];
    for (const [from, to] of bad) {
      const copy = home.join("copy");
      cpSync(original, copy, { recursive: true, filter: (path) => !/owner|fold\.json$/.test(path) });
      let hash = "0".repeat(64);
      const forged = lines.map((line, index) => {
        if (index === 0) return `${line}\n`;
        const body = line.slice(0, -SEAL_LENGTH);
        const sealed = sealLine(line.includes("input 2") ? body.replace(from, to) : body, hash);
        hash = sealed.hash;
        return sealed.line;
      });
      const content = forged.join("");
      writeFileSync(join(copy, "journal/000001.jsonl"), content);
      const head = { segment: 1, bytes: Buffer.byteLength(content), seq: lines.length - 1, hash };
      writeFileSync(join(copy, "head.json"), sealJson({ head, isFinal: true }));
      const [ours] = (await auditJournal(copy)).findings;
      const theirs = readSession(copy);
      expect(ours, to).toMatchObject({ file: "journal/000001.jsonl", seq: 7 });
      expect(theirs, to).toMatchObject({ kind: "damaged", file: ours?.file, offset: ours?.offset });
      rmSync(copy, { recursive: true });
    }
    // JSON in another style than Holdfast's, but with each key once.
    expect(hasDuplicateKeys('{ "a": 1.0, "b": {"a": "x\\":"}, "c": [{"a":1},{"a":2}] }', {})).toBe(false);
    expect(openSealedJson(Buffer.from(sealLine('{"a":1,"a":2').line))).toBeUndefined();
    const blob = Buffer.from('{"a":1,"a":2}');
    const $blob = { sha256: sha256Hex(blob), bytes: blob.length, as: "json" as const };
    writeFileSync(join(original, "blobs", $blob.sha256), blob);
    await expect(readBlob(original, { $blob }, 5)).rejects.toMatchObject({
      code: "session_damaged",
      facts: { seq: 5 },
    });
  });

  it("finds the same damage at the same place as Holdfast's audit", async () => {
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
          const [ours] = (await auditJournal(copy)).findings;
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
