import { createHash } from "node:crypto";
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isHoldfastError } from "../../src/contract/index.ts";
import { type Position, readDurable, scanJournal } from "../../src/journal/index.ts";
import { TempDir } from "../support/home.ts";
import { custom, makeSessionDir, openForTest, readAll } from "../support/journal.ts";

const LAST = "journal/000001.jsonl";

/** A journal whose owner was killed: no witness, nothing closed. */
async function crashed(session: string, records: number): Promise<void> {
  const { writer } = await openForTest(session);
  for (let index = 1; index <= records; index += 1) await writer.append(...custom(index));
  await writer.close({ witness: false });
}

function lineStarts(content: Buffer): number[] {
  const starts = [0];
  for (let index = content.indexOf(10); index >= 0; index = content.indexOf(10, index + 1))
    starts.push(index + 1);
  return starts;
}

async function damageIn(session: string): Promise<boolean> {
  try {
    for await (const _ of scanJournal(session));
    return false;
  } catch (error) {
    if (!isHoldfastError(error, "session_damaged")) throw error;
    return true;
  }
}

describe("the tail of a journal", () => {
  it("journal-4 recovery keeps all whole records and sets the torn bytes aside, wherever the tail was cut", async () => {
    using dir = new TempDir();
    const original = makeSessionDir(dir.join("original"));
    await crashed(original, 8);
    const content = readFileSync(join(original, LAST));
    const starts = lineStarts(content);
    const firstCut = starts.at(-4) as number;
    for (let cut = firstCut; cut < content.length; cut += 1) {
      const session = dir.join(`cut-${cut}`);
      cpSync(original, session, { recursive: true });
      truncateSync(join(session, LAST), cut);
      const whole = starts.filter((start) => start <= cut).length - 2;
      const tornBytes = cut - (starts[whole + 1] as number);

      const { writer, recovery, found } = await openForTest(session);
      expect(found.map(({ seq }) => seq)).toEqual(Array.from({ length: whole }, (_, index) => index + 1));
      expect(recovery.tornBytes).toBe(tornBytes);
      if (tornBytes > 0) {
        expect(readFileSync(join(session, recovery.brokenFile ?? ""))).toEqual(
          content.subarray(starts[whole + 1], cut),
        );
      }
      const { seq } = await writer.append(...custom(99));
      expect(seq).toBe(whole + 1);
      await writer.close({ witness: true });
      expect(await readAll(session)).toHaveLength(whole + 1);
    }
  });

  it("journal-4 a lost page in the last batch is a torn tail, even if later pages survived", async () => {
    using dir = new TempDir();
    const original = makeSessionDir(dir.join("original"));
    const { writer } = await openForTest(original);
    await writer.append(...custom(1));
    await writer.append(...custom(2));
    await Promise.all([3, 4, 5].map((number) => writer.append(...custom(number))));
    await writer.close({ witness: false });
    const content = readFileSync(join(original, LAST));
    const starts = lineStarts(content);
    for (const lost of [3, 4, 5]) {
      const session = dir.join(`lost-${lost}`);
      cpSync(original, session, { recursive: true });
      writeFileSync(
        join(session, LAST),
        Buffer.from(content).fill(0, starts[lost], (starts[lost + 1] as number) - 1),
      );
      const { writer: next, found, recovery } = await openForTest(session);
      expect(found).toHaveLength(lost - 1);
      expect(recovery.tornBytes).toBe(content.length - (starts[lost] as number));
      await next.close({ witness: true });
    }
  });

  it("journal-4 a lost page is damage if a later record vouches for what was there", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    await crashed(session, 5);
    const content = readFileSync(join(session, LAST));
    const starts = lineStarts(content);
    writeFileSync(join(session, LAST), Buffer.from(content).fill(0, starts[3], (starts[4] as number) - 1));
    expect(await damageIn(session)).toBe(true);
    await expect(openForTest(session)).rejects.toMatchObject({
      code: "session_damaged",
      facts: { file: LAST, offset: starts[3], seq: 3 },
    });
    // Damage is never cut off automatically, so nothing in the directory has changed.
    expect(readdirSync(join(session, "journal"))).toEqual(["000001.jsonl"]);
  });

  it("journal-4 a whole last line with a wrong hash is damage, not a torn tail", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    await crashed(session, 5);
    const content = readFileSync(join(session, LAST));
    const at = content.lastIndexOf('"number":5') + '"number":'.length;
    content[at] = "6".charCodeAt(0);
    writeFileSync(join(session, LAST), content);
    expect(await damageIn(session)).toBe(true);
  });

  it("journal-1 a new owner first writes again, byte for byte, the record that was perhaps never synced", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    await crashed(session, 5);
    const before = await readAll(session);
    const { writer } = await openForTest(session);
    await writer.close({ witness: true });
    // Records 1 to 4 are vouched for by their successors; 5 moved.
    const old = readFileSync(join(session, LAST), "utf8").split("\n");
    const young = readFileSync(join(session, "journal/000002.jsonl"), "utf8").split("\n");
    expect(old).toHaveLength(1 + 4 + 1);
    expect(JSON.parse(young[1] ?? "").seq).toBe(5);
    expect(await readAll(session)).toEqual(before);
  });

  it("journal-3 readers ignore what a stale owner adds to a segment that was taken over", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    await crashed(session, 3);
    const stale = readFileSync(join(session, LAST));
    const { writer } = await openForTest(session);
    await writer.append(...custom(4));
    await writer.close({ witness: true });
    const before = await readAll(session);
    writeFileSync(
      join(session, LAST),
      Buffer.concat([stale, stale.subarray(lineStarts(stale)[1]), Buffer.from("garbage")]),
    );
    expect(await readAll(session)).toEqual(before);
  });

  it("journal-3 a writer acknowledges nothing once another owner has begun the next segment", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    const first = await openForTest(session);
    await first.writer.append(...custom(1));
    // No lock is held in this test, as if the first owner had lost its lock unnoticed.
    const second = await openForTest(session);
    await expect(first.writer.append(...custom(2))).rejects.toMatchObject({ code: "session_taken_over" });
    await expect(first.writer.append(...custom(3))).rejects.toMatchObject({ code: "session_taken_over" });
    const { seq } = await second.writer.append(...custom(4));
    expect(seq).toBe(2);
    await second.writer.close({ witness: true });
    expect((await readAll(session)).map(({ data }) => data["number"])).toEqual([1, 4]);
    await first.writer.close({ witness: false });
  });

  it("journal-3 an owner that has lost the session without noticing leaves its successor's witness alone", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    const first = await openForTest(session);
    await first.writer.append(...custom(1));
    const second = await openForTest(session);
    await second.writer.append(...custom(2));
    await second.writer.close({ witness: true });
    const witness = readFileSync(join(session, "head.json"), "utf8");
    await first.writer.close({ witness: true });
    expect(readFileSync(join(session, "head.json"), "utf8")).toBe(witness);
    expect(first.writer.failure).toMatchObject({ code: "session_taken_over" });
  });

  it("a segment that a crash left without a header is ignored", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    await crashed(session, 3);
    writeFileSync(join(session, "journal/000002.jsonl"), "");
    expect(await readAll(session)).toHaveLength(3);
    const { writer, found } = await openForTest(session);
    expect(found).toHaveLength(3);
    expect(writer.head.segment).toBe(3);
    await writer.append(...custom(4));
    await writer.close({ witness: true });
    expect(await readAll(session)).toHaveLength(4);
  });

  it("journal-2 a line with the right hash and the wrong form is not a record", async () => {
    const { sealLine } = await import("../../src/util/index.ts");
    const forms = [
      '{"at":"2026-01-01T00:00:00.000Z","seq":2,"epoch":1,"durable":1,"type":"custom","data":{}',
      '{"seq": 2,"at":"2026-01-01T00:00:00.000Z","epoch":1,"durable":1,"type":"custom","data":{}',
      '{"seq":2,"at":"yesterday","epoch":1,"durable":1,"type":"custom","data":{}',
      '{"seq":2,"at":"2026-01-01T00:00:00.000Z","epoch":1,"durable":2,"type":"custom","data":{}',
      '{"seq":2,"at":"2026-01-01T00:00:00.000Z","epoch":1,"durable":1,"type":"custom","data":{},"redacted":[1]',
      '{"seq":2,"at":"1999-01-01T00:00:00.000Z","epoch":1,"durable":1,"type":"custom","data":{}',
    ];
    for (const form of forms) {
      using dir = new TempDir();
      const session = makeSessionDir(dir.join("s"));
      await crashed(session, 1);
      const [first] = await readAll(session);
      const path = join(session, LAST);
      writeFileSync(path, readFileSync(path, "utf8") + sealLine(form, first?.hash).line);
      const read = await readAll(session).catch((error) => error.code);
      // Above every mark such a line is a torn tail, or damage if it is a whole record that is only too old.
      expect(read === "session_damaged" || read.length === 1, form).toBe(true);
    }
  });

  it("journal-2 bytes that are not UTF-8 are not a record, even if their hash is right", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    await crashed(session, 1);
    const [first] = await readAll(session);
    const start =
      '{"seq":2,"at":"2099-01-01T00:00:00.000Z","epoch":1,"durable":1,"type":"custom","data":{"name":"';
    const body = Buffer.concat([Buffer.from(start), Buffer.from([0xff, 0xc3, 0x28]), Buffer.from('"}')]);
    const hash = createHash("sha256")
      .update(first?.hash ?? "")
      .update(body)
      .digest("hex");
    appendFileSync(join(session, LAST), Buffer.concat([body, Buffer.from(`,"hash":"${hash}"}\n`)]));
    expect(await readAll(session)).toHaveLength(1);
    const { recovery, writer } = await openForTest(session);
    expect(recovery.tornBytes).toBeGreaterThan(0);
    await writer.close({ witness: true });
  });

  it("a journal of a newer format is refused as such", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    await crashed(session, 2);
    const { sealLine } = await import("../../src/util/index.ts");
    const header = sealLine('{"holdfast":2,"session":"s","segment":2,"epoch":2,"prev":null').line;
    writeFileSync(join(session, "journal/000002.jsonl"), header);
    await expect(openForTest(session)).rejects.toMatchObject({ code: "newer_format" });
  });

  it("a reader beside a writer sees records without gaps, and never fewer than before", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    const { writer } = await openForTest(session);
    let isDone = false;
    const writing = (async () => {
      for (let index = 0; index < 300; index += 1)
        await writer.append(...custom(index, { text: "w".repeat(2000) }));
      isDone = true;
    })();
    let seen = 0;
    while (!isDone) {
      const records = await readAll(session);
      expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1));
      expect(records.length).toBeGreaterThanOrEqual(seen);
      seen = records.length;
    }
    await writing;
    await writer.close({ witness: true });
    expect(await readAll(session)).toHaveLength(300);
  });

  it("a reader does not report damage while the next owner moves the records that a crash left in doubt", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("session"));
    for (const records of [3, 3]) await crashed(session, records);
    let known: Position | undefined;
    for await (const { end } of readDurable(session)) known = end;

    // The reader has found two segments and read one record when a third begins and the second is cut.
    const reading = readDurable(session, { known });
    const seqs = [(await reading.next()).value];
    await crashed(session, 1);
    for await (const scanned of reading) seqs.push(scanned);
    expect(seqs.map((one) => one && "record" in one && one.record.seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it("reading-1 a reader syncs records above all marks before it returns them, and holds them back if it can't", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    await crashed(session, 5);
    const read = async (sync: (path: string) => Promise<void>) => {
      const seqs: number[] = [];
      const records = readDurable(session, { sync });
      for (;;) {
        const step = await records.next();
        if (step.done) return { seqs, end: step.value.end.seq };
        seqs.push(step.value.record.seq);
      }
    };
    const synced: string[] = [];
    expect(await read(async (path) => void synced.push(path.slice(session.length + 1)))).toEqual({
      seqs: [1, 2, 3, 4, 5],
      end: 5,
    });
    expect(synced).toEqual([LAST, "journal"]);
    const refusing = async () => {
      throw Object.assign(new Error("EIO"), { code: "EIO" });
    };
    expect(await read(refusing)).toEqual({ seqs: [1, 2, 3, 4], end: 4 });
    // After a clean close the witness vouches for all records.
    const { writer } = await openForTest(session);
    await writer.close({ witness: true });
    expect(await read(refusing)).toEqual({ seqs: [1, 2, 3, 4, 5], end: 5 });
  });

  it("a journal that was copied without its lock can be opened", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    await crashed(session, 3);
    const copy = makeSessionDir(dir.join("copy"));
    copyFileSync(join(session, LAST), join(copy, LAST));
    const { found, writer } = await openForTest(copy);
    expect(found).toHaveLength(3);
    await writer.close({ witness: true });
  });
});
