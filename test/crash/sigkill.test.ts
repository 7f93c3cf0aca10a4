/**
 * A process that appends turns is killed at random moments, again and again, on the same session.
 * 50 times here; HOLDFAST_LONG=1 (npm run test:crash) makes it 1,000.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { TestChild } from "../support/children.ts";
import { TestHome } from "../support/home.ts";

const KILLS = process.env["HOLDFAST_LONG"] ? 1000 : 50;
const PARALLEL = 2;
/** On average, at least. */
const ACKS_PER_KILL = 10;

const acknowledgementsIn = (lines: readonly string[]) =>
  lines.filter((line) => line.startsWith("ack ")).length;

async function killAgainAndAgain(
  home: TestHome,
  kills: number,
): Promise<{ acknowledged: number; records: number }> {
  const hf = await home.open();
  const opened = await hf.openSession();
  await opened.release();
  const { id } = opened;
  const acknowledged = new Map<number, string>();
  for (let kill = 0; kill < kills; kill += 1) {
    await using child = new TestChild("turn-writer.ts", [home.dir, id]);
    await child.line((line) => line === "ready");
    // Some die in the middle of their first appends, some after many: counted in acknowledgements, because a busy
    // machine makes few of them in a given time.
    const enough = Math.floor(Math.random() ** 2 * 3 * ACKS_PER_KILL);
    await child.line(() => acknowledgementsIn(child.lines) >= enough);
    await sleep(Math.random() * 4);
    child.kill("SIGKILL");
    await child.ended();
    for (const line of child.lines) {
      const match = /^ack (\d+) ([0-9a-f]{64})$/.exec(line);
      if (!match) continue;
      const [, seq = "", hash = ""] = match;
      expect(acknowledged.has(Number(seq)), `seq ${seq} was acknowledged twice`).toBe(false);
      acknowledged.set(Number(seq), hash);
    }
    // `open` when it died before its first turn.
    expect((await hf.showSession(id)).status).toMatch(/^(interrupted|open)$/);
  }
  const total = acknowledged.size;
  const session = await hf.resumeSession(id);
  expect(session.state.openTurn).toBeNull();
  await session.pause();

  let records = 0;
  const openCalls = new Set<string>();
  for await (const { seq, hash, type, data } of hf.readJournal(id)) {
    records += 1;
    expect(seq).toBe(records);
    if (acknowledged.has(seq))
      expect(hash, `record ${seq} is not the one that was acknowledged`).toBe(acknowledged.get(seq));
    acknowledged.delete(seq);
    if (type === "tool_called") openCalls.add(String(data["call"]));
    if (type === "tool_returned") expect(openCalls.delete(String(data["call"]))).toBe(true);
  }
  expect([...acknowledged.keys()], "acknowledged records that are gone").toEqual([]);
  expect(openCalls.size, "calls without a result").toBe(0);
  const audit = await hf.auditSession(id);
  expect(audit.findings).toEqual([]);
  return { acknowledged: total, records };
}

describe("SIGKILL", () => {
  it(`journal-1 journal-4 journal-5 ${KILLS} kills lose no acknowledged record and double no seq, and the session always opens`, {
    timeout: 1_800_000,
  }, async () => {
    using home = new TestHome();
    const results = await Promise.all(
      Array.from({ length: PARALLEL }, () => killAgainAndAgain(home, KILLS / PARALLEL)),
    );
    // A run that acknowledged next to nothing would prove next to nothing.
    for (const { acknowledged } of results) expect(acknowledged).toBeGreaterThan((KILLS / PARALLEL) * 2);
  });
});
