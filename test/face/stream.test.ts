/**
 * The stream of all sessions of a home: where it begins, and which cursors it refuses.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { HomeStream } from "../../src/face/index.ts";
import { Feed, openHome } from "../../src/home/index.ts";
import { LibraryHome } from "../support/library.ts";

describe("the stream of all sessions", () => {
  it("begins now if no cursor is given, although no process looked at the feed for a while", async () => {
    using home = new LibraryHome();
    const hf = await home.holdfast();
    await using session = await hf.openSession({ title: "watched" });
    const inside = await openHome({ home: home.dir });
    // The feed exists, and knows nothing of what comes now.
    (await Feed.open(inside))[Symbol.dispose]();
    for (let at = 0; at < 5; at += 1) await session.note("acme.old");
    const stop = new AbortController();
    const first = hf.events({ signal: stop.signal }).next();
    let isOver = false;
    first.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await session.note("acme.new");
      await sleep(20);
    }
    expect((await first).value).toMatchObject({ record: { type: "custom", data: { name: "acme.new" } } });
    stop.abort();
  });

  it("refuses a wrong cursor before it looks at any session", async () => {
    using home = new LibraryHome();
    const hf = await home.holdfast();
    const inside = await openHome({ home: home.dir });
    using feed = await Feed.open(inside);
    const end = feed.end();
    await using session = await hf.openSession();
    const user = (await hf.listSessions())[0]?.user ?? "";
    for (const [cursor, code] of [
      [`${"0".repeat(16)}.1`, "cursor_unknown"],
      [end.replace(/\d+$/, "99"), "cursor_unknown"],
      ["nonsense", "invalid_data"],
    ] as const)
      await expect(HomeStream.open(inside, user, cursor)).rejects.toMatchObject({ code });
    expect(feed.end()).toBe(end);
    using stream = await HomeStream.open(inside, user, end);
    const first = await stream.records(new AbortController().signal).next();
    expect(first.value).toMatchObject({ session: session.id, record: { type: "session_opened" } });
  });
});
