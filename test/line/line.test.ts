import { describe, expect, it } from "vitest";
import { openHome } from "../../src/home/index.ts";
import { admitWaiting, enterLine } from "../../src/line/index.ts";
import { myself, type Place, readPlace, withLine } from "../../src/line/line.ts";
import { TestHome } from "../support/home.ts";

const id = "sess_01k00000000000000000000000" as const;
const gone = { pid: 2 ** 22 - 1, startTicks: 1 };
const base: Place = {
  session: id,
  definition: "exec:sh",
  priority: 0,
  order: 7,
  state: "waiting",
  reason: "no room",
  maxSessions: 3,
  maxMemoryBytes: null,
  sessionProcess: null,
  by: null,
  maker: myself(),
  attempts: 0,
  isTaken: false,
};

describe("the line", () => {
  it("line-3 a place whose process is gone waits again, or is removed if the process had taken it", async () => {
    using test = new TestHome();
    const home = await openHome({ home: test.dir });
    const settled = (place: Place) =>
      withLine(home, async (line) => {
        await line.set(place);
        return line.places();
      });
    expect(await settled(base)).toEqual([base]);
    const mine: Place = { ...base, state: "granted", sessionProcess: myself() };
    expect(await settled(mine)).toEqual([mine]);
    // The process that was to start it was killed: it waits, in the same place.
    expect(await settled({ ...mine, sessionProcess: gone })).toEqual([{ ...base, attempts: 1 }]);
    expect(await settled({ ...mine, sessionProcess: gone, attempts: 2 })).toEqual([]);
    // The process that was to open its session was killed.
    const unborn = await settled({ ...base, session: "sess_01k00000000000000000000009", maker: gone });
    expect(unborn.map(({ session }) => session)).not.toContain("sess_01k00000000000000000000009");
    // Its process was killed in the middle of its work: whether it goes on is decided anew.
    expect(await settled({ ...mine, sessionProcess: gone, isTaken: true })).toEqual([]);
    // By now another process has the pid.
    expect(
      await settled({ ...mine, sessionProcess: { pid: process.pid, startTicks: 1 }, isTaken: true }),
    ).toEqual([]);
    expect(readPlace(home, id)).toBeUndefined();
  });

  it("is ordered by priority, then by arrival", async () => {
    using test = new TestHome();
    const home = await openHome({ home: test.dir });
    const named = (last: number) => `sess_01k0000000000000000000000${last}` as const;
    const order = await withLine(home, async (line) => {
      await line.set({ ...base, session: named(1), order: 1 });
      await line.set({ ...base, session: named(2), order: 2, priority: 5 });
      await line.set({ ...base, session: named(3), order: 3 });
      expect(await line.nextOrder()).toBe(4);
      return (await line.places()).map(({ session }) => session);
    });
    expect(order).toEqual([named(2), named(1), named(3)]);
  });

  it("a session that is not open yet gets its process only from the command that opens it", async () => {
    using test = new TestHome();
    const home = await openHome({ home: test.dir });
    await enterLine(home, { session: id, definition: "exec:sh", priority: 0 });
    const started: string[] = [];
    const start = async (session: string) => {
      started.push(session);
      return process.pid;
    };
    await admitWaiting(home, start);
    expect([started, readPlace(home, id)?.state]).toEqual([[], "waiting"]);
    await admitWaiting(home, start, id);
    expect([started, readPlace(home, id)?.state]).toEqual([[id], "granted"]);
  });
});
