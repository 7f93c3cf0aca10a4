import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Disk, realDisk } from "../../src/util/index.ts";
import { TempDir } from "../support/home.ts";
import { custom, makeSessionDir, openForTest, readAll } from "../support/journal.ts";

/** The real disk, with a list of what was asked of it. */
function watchedDisk() {
  const calls: string[] = [];
  const label = (path: string) =>
    path
      .split("/")
      .slice(-2)
      .join("/")
      .replace(/\.tmp-\w+/, "tmp")
      .replace(/[0-9a-f]{64}/, "sha");
  const disk: Disk = {
    ...realDisk,
    create: async (path) => {
      calls.push(`create ${label(path)}`);
      const file = await realDisk.create(path);
      return {
        ...file,
        write: (bytes, position) => {
          calls.push(`write ${label(path)}`);
          return file.write(bytes, position);
        },
        datasync: async () => {
          await file.datasync();
          calls.push(`sync ${label(path)}`);
        },
      };
    },
    rename: async (from, to) => {
      await realDisk.rename(from, to);
      calls.push(`rename ${label(to)}`);
    },
    syncDir: async (path) => {
      await realDisk.syncDir(path);
      calls.push(`syncDir ${path.split("/").at(-1)}`);
    },
  };
  return { disk, calls };
}

describe("append", () => {
  it("journal-1 acknowledges a record only after its bytes are synced, and syncs the name of a new segment", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    const { disk, calls } = watchedDisk();
    const { writer } = await openForTest(session, { disk });
    expect(calls).toEqual([
      "create journal/000001.jsonl",
      "write journal/000001.jsonl",
      "sync journal/000001.jsonl",
      "syncDir journal",
    ]);
    calls.length = 0;
    await writer.append(...custom(1));
    calls.push("acknowledged");
    expect(calls).toEqual(["write journal/000001.jsonl", "sync journal/000001.jsonl", "acknowledged"]);
    await writer.close({ witness: true });
  });

  it("journal-1 blob-1 syncs a blob and its name before it writes the record that names it", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    const { disk, calls } = watchedDisk();
    const { writer } = await openForTest(session, { disk });
    calls.length = 0;
    await writer.append(...custom(1, { text: "x".repeat(5000) }));
    expect(calls).toEqual([
      "create blobs/tmp",
      "write blobs/tmp",
      "sync blobs/tmp",
      "rename blobs/sha",
      "syncDir blobs",
      "write journal/000001.jsonl",
      "sync journal/000001.jsonl",
    ]);
    await writer.close({ witness: false });
  });

  it("shares one sync among appends that overlap", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    const { disk, calls } = watchedDisk();
    const { writer } = await openForTest(session, { disk });
    calls.length = 0;
    const records = await Promise.all(
      Array.from({ length: 32 }, (_, index) => writer.append(...custom(index))),
    );
    expect(records.map(({ seq }) => seq)).toEqual(Array.from({ length: 32 }, (_, index) => index + 1));
    expect(calls.filter((call) => call.startsWith("sync "))).toHaveLength(1);
    await writer.close({ witness: false });
  });

  it("journal-2 keeps seq dense and the chain whole across segments and owners", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    for (let owner = 0; owner < 3; owner += 1) {
      const { writer, found } = await openForTest(session);
      expect(found).toHaveLength(owner * 1000);
      for (let index = 0; index < 1000; index += 1)
        await writer.append(...custom(index, { text: "y".repeat(1000) }));
      await writer.close({ witness: true });
    }
    const records = await readAll(session);
    expect(records.map(({ seq }) => seq)).toEqual(Array.from({ length: 3000 }, (_, index) => index + 1));
    expect(records.map(({ epoch }) => epoch)).toEqual([1, 2, 3].flatMap((epoch) => Array(1000).fill(epoch)));
    // 1,000 records of 1.2 KB roll over once for each owner.
    expect(readdirSync(join(session, "journal"))).toHaveLength(6);
  });

  it("never writes an earlier time than the last record's, even if the clock jumps back", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    const times = [5_000_000, 1_000_000, 5_000_001, 0];
    const clock = { nowMs: () => times.shift() ?? 0, monotonicMs: () => 0 };
    const first = await openForTest(session, { clock });
    for (let index = 0; index < 3; index += 1) await first.writer.append(...custom(index));
    await first.writer.close({ witness: true });
    const second = await openForTest(session, { clock });
    await second.writer.append(...custom(3));
    await second.writer.close({ witness: true });
    expect((await readAll(session)).map(({ at }) => Date.parse(at))).toEqual([
      5_000_000, 5_000_000, 5_000_001, 5_000_001,
    ]);
  });

  it("blob-2 writes a blob again if the file of that name has other bytes", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    const { writer } = await openForTest(session);
    const text = "z".repeat(9000);
    await writer.append(...custom(1, { text }));
    const [name] = readdirSync(join(session, "blobs"));
    const blob = join(session, "blobs", name ?? "");
    const { writeFileSync } = await import("node:fs");
    writeFileSync(blob, "spoiled");
    await writer.append(...custom(2, { text }));
    expect(readFileSync(blob, "utf8")).toBe(text);
    await writer.close({ witness: true });
  });

  it("moves long values into blobs, so that lines stay short", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    const { writer } = await openForTest(session);
    await writer.append(
      ...custom(1, {
        text: "ö".repeat(5 * 1024 * 1024),
        list: Array.from({ length: 100_000 }, (_, index) => index),
      }),
    );
    await writer.close({ witness: true });
    expect(statSync(join(session, "journal", "000001.jsonl")).size).toBeLessThan(2000);
    expect(readdirSync(join(session, "blobs"))).toHaveLength(2);
  });

  it("creates files that only their owner can read and write", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    const { writer } = await openForTest(session);
    await writer.append(...custom(1, { text: "x".repeat(5000) }));
    await writer.close({ witness: true });
    for (const path of [
      "journal/000001.jsonl",
      "head.json",
      `blobs/${readdirSync(join(session, "blobs"))[0]}`,
    ]) {
      expect(statSync(join(session, path)).mode & 0o777).toBe(0o600);
    }
  });
});
