/**
 * The feed puts the records of all sessions in one order. Any process can continue after any cursor, and gets
 * each record once.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Feed, openHome } from "../../src/home/index.ts";
import { openLocalHome } from "../../src/library/index.ts";
import { TempDir } from "../support/home.ts";

const HEX = /^[0-9a-f]{16}\./;

async function all(feed: Feed, cursor: string, user?: string) {
  await feed.look();
  return Array.fromAsync(feed.after(cursor, user));
}

describe("the feed of a home", () => {
  it("stream-1 gives each record once and in order, across partial reads, reopening and other readers", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.record({ does: fc.constant("append" as const), session: fc.nat(2) }),
            fc.record({ does: fc.constant("read" as const), most: fc.nat(4) }),
            fc.record({ does: fc.constantFrom("look" as const, "reopen" as const) }),
          ),
          { maxLength: 25 },
        ),
        async (steps) => {
          using dir = new TempDir();
          const hf = await openLocalHome({ home: dir.path });
          const home = await openHome({ home: dir.path });
          await using first = await hf.openSession();
          let [feed, other] = [await Feed.open(home), await Feed.open(home)];
          let cursor = feed.end();
          await using second = await hf.openSession();
          await using third = await hf.openSession();
          const sessions = [first, second, third];
          const seen: string[] = [];
          const take = async (most: number) => {
            await feed.look();
            for await (const one of feed.after(cursor, undefined)) {
              if (most <= 0) break;
              most -= 1;
              seen.push(`${one.session} ${one.record.seq}`);
              cursor = one.cursor;
            }
          };
          for (const step of steps) {
            if (step.does === "append") await sessions[step.session]?.append("custom", { name: "step" });
            else if (step.does === "read") await take(step.most);
            else if (step.does === "look") await other.look();
            else {
              feed[Symbol.dispose]();
              feed = other;
              other = await Feed.open(home);
            }
          }
          await take(1000);
          feed[Symbol.dispose]();
          other[Symbol.dispose]();
          for (const session of sessions) {
            const from = session === first ? 2 : 1;
            const wanted = Array.from(
              { length: session.state.seq - from + 1 },
              (_, at) => `${session.id} ${from + at}`,
            );
            expect(seen.filter((one) => one.startsWith(session.id))).toEqual(wanted);
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it("stream-1 refuses a cursor that is malformed, beyond its end or from another feed", async () => {
    using dir = new TempDir();
    const hf = await openLocalHome({ home: dir.path });
    const home = await openHome({ home: dir.path });
    await using session = await hf.openSession();
    let feed = await Feed.open(home);
    const cursor = feed.end();
    await session.append("custom", { name: "step" });
    expect(await all(feed, cursor)).toHaveLength(1);
    await expect(all(feed, cursor.replace(/\d+$/, "99"))).rejects.toMatchObject({ code: "cursor_unknown" });
    await expect(all(feed, "9")).rejects.toMatchObject({ code: "invalid_data" });
    feed[Symbol.dispose]();
    for (const end of ["", "-wal", "-shm"]) rmSync(join(dir.path, `feed.db${end}`), { force: true });
    feed = await Feed.open(home);
    await expect(all(feed, cursor)).rejects.toMatchObject({ code: "cursor_unknown" });
    expect(feed.end()).toMatch(HEX);
    feed[Symbol.dispose]();
  });

  it("stream-1 continues after a cursor from before the first session, also when it is opened again", async () => {
    using dir = new TempDir();
    const hf = await openLocalHome({ home: dir.path });
    const home = await openHome({ home: dir.path });
    const before = await Feed.open(home);
    const cursor = before.end();
    before[Symbol.dispose]();
    await using session = await hf.openSession();
    using feed = await Feed.open(home);
    expect(await all(feed, cursor)).toMatchObject([
      { session: session.id, record: { type: "session_opened" } },
    ]);
  });

  it("gives a user only their own sessions, and of a fork only the records after the fork", async () => {
    using dir = new TempDir();
    const hf = await openLocalHome({ home: dir.path });
    const home = await openHome({ home: dir.path });
    using feed = await Feed.open(home);
    const cursor = feed.end();
    await using theirs = await hf.openSession({ user: "bo" });
    await using mine = await hf.openSession({ user: "ani" });
    await mine.append("custom", { name: "step" });
    await mine.release();
    await using fork = await hf.forkSession(mine.id, { user: "ani" });
    const records = await all(feed, cursor, "ani");
    expect(records.filter(({ session }) => session === theirs.id)).toEqual([]);
    expect(records.filter(({ session }) => session === fork.id)[0]?.record.type).toBe("session_forked");
    expect(await all(feed, records.at(-1)?.cursor ?? "", "ani")).toEqual([]);
  });
});
