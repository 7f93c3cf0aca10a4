import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Disk, realDisk } from "../../src/util/index.ts";
import { TempDir, TestHome } from "../support/home.ts";
import { custom, makeSessionDir, openForTest, readAll } from "../support/journal.ts";

/** Fails one call, the n-th, and then works again, as disks do. */
function faultyDisk(operation: "datasync" | "write", nth: number, code: string, writesFirst = 0) {
  let calls = 0;
  let syncsAfterFailure = 0;
  let hasFailed = false;
  const disk: Disk = {
    ...realDisk,
    create: async (path) => {
      const file = await realDisk.create(path);
      const fail = () => {
        calls += 1;
        if (calls !== nth) return false;
        hasFailed = true;
        return true;
      };
      const error = () => Object.assign(new Error(`${code}: made up`), { code });
      return {
        ...file,
        datasync: async () => {
          if (hasFailed) syncsAfterFailure += 1;
          if (operation === "datasync" && fail()) throw error();
          await file.datasync();
        },
        write: async (bytes, position) => {
          if (operation !== "write" || !fail()) return file.write(bytes, position);
          if (writesFirst === 0) throw error();
          calls = nth - 1;
          const written = await file.write(bytes.subarray(0, writesFirst), position);
          writesFirst = 0;
          return written;
        },
      };
    },
  };
  return { disk, syncsAfterFailure: () => syncsAfterFailure };
}

describe("a disk that fails", () => {
  it("journal-5 a writer whose sync failed never syncs that file again and fails every later append", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    const { disk, syncsAfterFailure } = faultyDisk("datasync", 4, "EIO");
    const { writer } = await openForTest(session, { disk });
    await writer.append(...custom(1));
    await writer.append(...custom(2));
    await expect(writer.append(...custom(3))).rejects.toMatchObject({
      code: "append_failed",
      facts: { errno: "EIO" },
    });
    await expect(writer.append(...custom(4))).rejects.toMatchObject({ code: "append_failed" });
    await writer.close({ witness: true });
    expect(syncsAfterFailure()).toBe(0);
    expect(readdirSync(session)).not.toContain("head.json");

    // Recovery writes the doubtful record again before it goes on, and does not trust the old file's sync.
    const { found, writer: next } = await openForTest(session);
    expect(found.map(({ data }) => data["number"])).toEqual([1, 2, 3]);
    await next.append(...custom(5));
    await next.close({ witness: true });
    expect((await readAll(session)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    const { header, load } =
      (await import("../../src/journal/index.ts").then(({ readChain }) => readChain(session, 0))).segments.at(
        -1,
      ) ?? {};
    expect(header?.prev?.seq).toBe(2);
    expect((await load?.())?.toString()).toContain('"number":3');
  });

  it("journal-5 a session whose journal failed refuses all work, and a resume closes its open turn", async () => {
    using home = new TestHome();
    const good = await home.open();
    const id = await good.openSession().then(async (session) => {
      await session.release();
      return session.id;
    });
    const { disk } = faultyDisk("datasync", 4, "EIO");
    const hf = await home.open({ disk });
    const session = await hf.resumeSession(id);
    const turn = await session.beginTurn("one");
    await expect(turn.callTool("push", {})).rejects.toMatchObject({ code: "append_failed" });
    await expect(turn.addMessage("assistant", "two")).rejects.toMatchObject({ code: "append_failed" });
    await expect(turn.end()).rejects.toMatchObject({ code: "append_failed" });
    expect(session.state.openTurn?.calls).toEqual({});
    await session[Symbol.asyncDispose]();

    const again = await good.resumeSession(id);
    expect(again.state.openTurn).toBeNull();
    await again.pause();
    const [only] = await Array.fromAsync(good.readHistory(id));
    expect(
      only?.entries.every((entry) => entry.kind !== "tool_call" || entry.outcome === "interrupted"),
    ).toBe(true);
  });

  it("when the disk fills up during a batch, the written records are acknowledged and the rest are refused", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    const { disk } = faultyDisk("write", 2, "ENOSPC", 700);
    const { writer } = await openForTest(session, { disk });
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => writer.append(...custom(index + 1))),
    );
    const kept = results.filter(({ status }) => status === "fulfilled").length;
    expect(kept).toBeGreaterThan(0);
    expect(kept).toBeLessThan(8);
    const refused = results.filter((result) => result.status === "rejected");
    expect(refused.every(({ reason }) => reason.code === "disk_full")).toBe(true);
    expect(await readAll(session)).toHaveLength(kept);
    const { seq } = await writer.append(...custom(100));
    expect(seq).toBe(kept + 1);
    await writer.close({ witness: true });
    expect((await readAll(session)).at(-1)?.data["number"]).toBe(100);
  });

  it("a full disk at a rollover leaves the old segment in use", async () => {
    using dir = new TempDir();
    const session = makeSessionDir(dir.join("s"));
    const fields = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`f${index}`, "r".repeat(4000)]),
    );
    const { writer } = await openForTest(session, { disk: faultyDisk("write", 9, "ENOSPC").disk });
    const numbers: unknown[] = [];
    let refusals = 0;
    for (let number = 1; number <= 10; number += 1) {
      await writer.append(...custom(number, fields)).then(
        ({ data }) => numbers.push(data["number"]),
        (error) => {
          expect(error.code).toBe("disk_full");
          refusals += 1;
        },
      );
    }
    await writer.close({ witness: true });
    expect(refusals).toBe(1);
    expect((await readAll(session)).map(({ data }) => data["number"])).toEqual(numbers);
    expect(readdirSync(join(session, "journal")).filter((name) => name.endsWith(".jsonl"))).toHaveLength(2);
  });
});
