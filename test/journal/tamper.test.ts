/**
 * journal-2: any change to the bytes of a closed session is detected and located.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type Damage, damageOf, scanJournal } from "../../src/journal/index.ts";
import { auditJournal } from "../../src/upkeep/checking/audit-journal.ts";
import { SEAL_LENGTH, sealLine } from "../../src/util/index.ts";
import { memoryDir, TestHome } from "../support/home.ts";

const RECORDS = 100;
/** Trying every byte takes minutes, so only the long run does it. Other runs try a random sample. */
const STEP = process.env["HOLDFAST_LONG"] ? 1 : 21;
const offsetsIn = ({ length }: Buffer) => {
  const first = Math.floor(Math.random() * STEP);
  return Array.from({ length: Math.ceil((length - first) / STEP) }, (_, index) => first + index * STEP);
};

describe("the audit of a closed session", () => {
  let home: TestHome;
  let session: string;
  let segment: string;
  let content: Buffer;
  let starts: number[];

  beforeAll(async () => {
    home = new TestHome(memoryDir);
    const hf = await home.open();
    await (await hf.openSession({ title: "t" })).release();
    const [only] = await hf.listSessions();
    const opened = await hf.resumeSession(only?.id ?? "");
    for (let index = 4; index < RECORDS; index += 1) await opened.append("custom", { name: "n", index });
    await opened.append("custom", { name: "n", text: "b".repeat(5000) });
    await opened.close();
    session = home.sessionDir(opened.id);
    segment = "journal/000002.jsonl";
    content = readFileSync(join(session, segment));
    starts = [0];
    for (let index = content.indexOf(10); index >= 0; index = content.indexOf(10, index + 1))
      starts.push(index + 1);
    starts.pop();
    expect((await auditJournal(session)).findings).toEqual([]);
    expect((await auditJournal(session)).records).toBe(RECORDS);
    return () => home[Symbol.dispose]();
  });

  /** Writes the file, audits, puts it back; returns what was found. */
  async function findings(file: string, bytes: Buffer): Promise<readonly Damage[]> {
    const original = readFileSync(join(session, file));
    writeFileSync(join(session, file), bytes);
    try {
      return (await auditJournal(session)).findings;
    } finally {
      writeFileSync(join(session, file), original);
    }
  }

  /** Like `findings` without blobs and caches, because these bytes don't affect them and are many. */
  async function scanned(bytes: Buffer): Promise<Damage | undefined> {
    writeFileSync(join(session, segment), bytes);
    try {
      for await (const _ of scanJournal(session));
      return undefined;
    } catch (error) {
      return damageOf(error);
    } finally {
      writeFileSync(join(session, segment), content);
    }
  }

  /** The start of the line that holds a byte. */
  const lineOf = (offset: number) => starts.findLast((start) => start <= offset) as number;

  it("journal-2 detects every flipped byte in the line that holds it", async () => {
    for (const offset of offsetsIn(content)) {
      const flipped = Buffer.from(content);
      flipped[offset] = (flipped[offset] as number) ^ (1 << (offset % 8));
      const [found] = await findings(segment, flipped);
      expect(found, `byte ${offset}`).toBeDefined();
      // Damage to the header is only known to be in this file; later damage is found at its exact offset.
      if (offset >= (starts[1] as number))
        expect(found, `byte ${offset}`).toMatchObject({ file: segment, offset: lineOf(offset) });
      else expect(found?.file).toBe(segment);
    }
  });

  it("journal-2 detects every removed or inserted byte at its place", async () => {
    for (const offset of offsetsIn(content)) {
      const removed = Buffer.concat([content.subarray(0, offset), content.subarray(offset + 1)]);
      const gone = await scanned(removed);
      expect(gone, `removed ${offset}`).toBeDefined();
      const added = Buffer.concat([
        content.subarray(0, offset),
        Buffer.from([content[offset] === 0x41 ? 0x42 : 0x41]),
        content.subarray(offset),
      ]);
      const extra = await scanned(added);
      expect(extra, `added ${offset}`).toBeDefined();
      if (offset > (starts[1] as number)) {
        expect(gone?.offset, `removed ${offset}`).toBe(lineOf(offset));
        expect(extra?.offset, `added ${offset}`).toBe(lineOf(offset));
      }
    }
  });

  it("journal-2 detects every removed, doubled or swapped record at its place", async () => {
    const lines = starts.map((start, index) => content.subarray(start, starts[index + 1]));
    for (let index = 1; index < lines.length; index += 1) {
      const without = lines.filter((_, other) => other !== index);
      const doubled = lines.flatMap((line, other) => (other === index ? [line, line] : [line]));
      expect((await findings(segment, Buffer.concat(without)))[0], `removed ${index}`).toMatchObject({
        offset: starts[index],
      });
      expect((await findings(segment, Buffer.concat(doubled)))[0], `doubled ${index}`).toMatchObject({
        offset: starts[index + 1] ?? content.length,
      });
      if (index + 1 < lines.length) {
        const swapped = [
          ...lines.slice(0, index),
          lines[index + 1] as Buffer,
          lines[index] as Buffer,
          ...lines.slice(index + 2),
        ];
        expect((await findings(segment, Buffer.concat(swapped)))[0], `swapped ${index}`).toMatchObject({
          offset: starts[index],
        });
      }
    }
  });

  it("journal-2 detects every cut at the end, even of whole records and segments", async () => {
    for (let length = 0; length < content.length; length += 7) {
      expect(await findings(segment, content.subarray(0, length)), `cut to ${length}`).not.toEqual([]);
    }
    for (const start of starts)
      expect(await findings(segment, content.subarray(0, start)), `cut to ${start}`).not.toEqual([]);
    const copy = home.join("copy");
    cpSync(session, copy, { recursive: true, filter: (path) => !path.endsWith("owner.lock") });
    rmSync(join(copy, segment));
    expect((await auditJournal(copy)).findings[0]).toMatchObject({ reason: expect.stringContaining("cut") });
    rmSync(join(copy, "journal/000001.jsonl"));
    expect((await auditJournal(copy)).findings).not.toEqual([]);
  });

  it("journal-2 sealed-1 locates a flipped byte in a blob, manifest, witness, fold or first segment", async () => {
    const blob = `blobs/${readdirSync(join(session, "blobs"))[0]}`;
    for (const file of [blob, "session.json", "head.json", "fold.json", "journal/000001.jsonl"]) {
      const original = readFileSync(join(session, file));
      const step = file === blob ? 13 : 1;
      for (let offset = 0; offset < original.length; offset += step) {
        const flipped = Buffer.from(original);
        flipped[offset] = (flipped[offset] as number) ^ (1 << (offset % 8));
        const found = await findings(file, flipped);
        expect(
          found.map((one) => one.file),
          `${file} byte ${offset}`,
        ).toContain(file);
      }
      if (file === "fold.json") continue;
      const copy = home.join("gone");
      cpSync(session, copy, { recursive: true, filter: (path) => !path.endsWith("owner.lock") });
      rmSync(join(copy, file));
      expect((await auditJournal(copy)).findings, `without ${file}`).not.toEqual([]);
      rmSync(copy, { recursive: true });
    }
  });

  it("journal-2 detects records that were rewritten with a valid hash chain, by the witness", async () => {
    const lines = content.toString().split("\n").slice(0, -1);
    let hash = JSON.parse(lines[0] ?? "").prev.hash as string;
    const forged = lines.map((line, index) => {
      if (index === 0) return `${line}\n`;
      const sealed = sealLine(line.slice(0, -SEAL_LENGTH).replace('"index":50', '"index":51'), hash);
      hash = sealed.hash;
      return sealed.line;
    });
    expect(forged.join("").length).toBe(content.length);
    expect(await findings(segment, Buffer.from(forged.join("")))).toMatchObject([
      { file: segment, reason: expect.stringContaining("witness") },
    ]);
  });

  it("detects a fold that was rewritten with another state and a valid seal", async () => {
    const { openSealedJson, sealJson } = await import("../../src/util/index.ts");
    const fold = openSealedJson(readFileSync(join(session, "fold.json"))) as {
      state: Record<string, unknown>;
    };
    const forged = Buffer.from(sealJson({ ...fold, state: { ...fold.state, title: "another" } }));
    expect(await findings("fold.json", forged)).toMatchObject([{ file: "fold.json" }]);
  });
});
