/**
 * Benches of the journal and the session, against the floor (append 1 KB + fdatasync through the same
 * asynchronous API) and a table of node:sqlite with synchronous=FULL.
 */
import { execFile } from "node:child_process";
import { lstatSync, readdirSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { type LocalHome, openLocalHome } from "../src/library/local-home.ts";
import type { Session } from "../src/session/session.ts";
import { atLeast, atMost, compared, inTurns, median, type Row, timeMs } from "./measure.ts";

const run = promisify(execFile);
const KILOBYTE = "k".repeat(1024);
const FEW = 1_000;
const MANY = 100_000;
const IN_FLIGHT = 32;

export async function benchJournal(directory: string, progress: (text: string) => void): Promise<Row[]> {
  const hf = await openLocalHome({ home: join(directory, "home") });
  const floor = await makeFloor(join(directory, "floor"));
  const rows: Row[] = [];

  progress("appends, one at a time");
  const session = await hf.openSession({ title: "bench" });
  const append = () => session.append("custom", { name: "bench", text: KILOBYTE });
  for (let index = 0; index < 100; index += 1) await append();
  const sqlite = makeSqlite(join(directory, "sqlite.db"));
  const early = await inTurns({ floor: floor.append, ours: append, sqlite }, { rounds: 10, perRound: 50 });
  rows.push(
    atMost(
      "durable append of 1 KB, p50, against the floor",
      `${ms(early.ours)} : ${ms(early.floor)}`,
      early.ours / early.floor,
      2,
    ),
  );
  rows.push(
    compared(
      "the same, against a synchronous insert, node:sqlite synchronous=FULL",
      `${ms(early.ours)} : ${ms(early.sqlite)}`,
      early.ours / early.sqlite,
    ),
  );

  progress(`${IN_FLIGHT} appends in flight`);
  const flights: number[] = [];
  const floors: number[] = [];
  for (let round = 0; round < 12; round += 1) {
    flights.push((await timeMs(() => inFlight(append, 1600))) / 1600);
    floors.push((await timeMs(() => oneByOne(floor.append, 200))) / 200);
  }
  const rates = median(floors) / median(flights);
  rows.push(
    atLeast(
      `rate with ${IN_FLIGHT} in flight, against the floor's`,
      `${perSecond(flights)} : ${perSecond(floors)}`,
      rates,
      8,
    ),
  );

  progress(`a session of ${MANY} records`);
  await inFlight(append, MANY - session.state.seq);
  const young = await hf.openSession();
  const appendYoung = () => young.append("custom", { name: "bench", text: KILOBYTE });
  for (let index = 0; index < 100; index += 1) await appendYoung();
  const late = await inTurns({ young: appendYoung, old: append }, { rounds: 40, perRound: 25 });
  rows.push(
    atMost(
      "append at record 100,000, against record 100",
      `${ms(late.old)} : ${ms(late.young)}`,
      late.old / late.young,
      1.2,
    ),
  );
  await young.pause();
  await session.pause();

  progress("opening and forking it");
  const small = await hf.openSession();
  await inFlight(() => small.append("custom", { name: "bench", text: KILOBYTE }), FEW - small.state.seq);
  await small.pause();
  const opening = await inTurns(
    { few: () => reopen(hf, small.id), many: () => reopen(hf, session.id) },
    { rounds: 15, perRound: 1 },
  );
  rows.push(
    atMost(
      "open with its cached fold: 100,000 records against 1,000",
      `${ms(opening.many)} : ${ms(opening.few)}`,
      opening.many / opening.few,
      3,
    ),
  );

  const before = diskBytes(join(directory, "home", "sessions"));
  const forks: Session[] = [];
  const forking = await inTurns(
    {
      floor: () => oneByOne(floor.append, 20),
      fork: async () => forks.push(await hf.forkSession(session.id)),
    },
    { rounds: 9, perRound: 1 },
  );
  const grown = (diskBytes(join(directory, "home", "sessions")) - before) / forks.length;
  const size = diskBytes(join(directory, "home", "sessions", session.id));
  for (const fork of forks) await fork.release();
  rows.push(
    atMost(
      "fork of 100,000 records, against a floor append",
      `${ms(forking.fork)} : ${ms(forking.floor / 20)}`,
      forking.fork / (forking.floor / 20),
      50,
    ),
  );
  rows.push(
    atMost(
      "disk space that a fork adds, in % of its parent",
      `${kilobytes(grown)} : ${kilobytes(size)}`,
      (grown / size) * 100,
      1,
      "%",
    ),
  );

  progress("1,000 turns");
  for (const [each, bound] of [
    [512, 2.5],
    [1024, undefined],
  ] as const) {
    const megabytes = (await thousandTurns(hf, directory, each)) / 1e6;
    const what = `1,000 turns of five records, ${each} B in and ${each} B out, in MB`;
    const measured = `${megabytes.toFixed(2)} MB`;
    rows.push(bound ? atMost(what, measured, megabytes, bound, "MB") : compared(what, measured, megabytes));
  }
  await floor.close();
  return rows;
}

export async function benchList(directory: string, progress: (text: string) => void): Promise<Row[]> {
  const cli = join(import.meta.dirname, "..", "dist", "cli", "main.js");
  const list = (home: string) => run(process.execPath, [cli, "ls", "--home", home], { maxBuffer: 1 << 24 });
  const homes: string[] = [];
  for (const sessions of [10, 1000]) {
    progress(`a home of ${sessions} sessions`);
    const home = join(directory, `home-${sessions}`);
    const hf = await openLocalHome({ home });
    for (let index = 0; index < sessions; index += 1)
      await (await hf.openSession({ title: `session ${index}` })).release();
    await list(home);
    homes.push(home);
  }
  const [few = "", many = ""] = homes;
  const times = await inTurns(
    { few: () => list(few), many: () => list(many), node: () => run(process.execPath, ["-e", "0"]) },
    { rounds: 11, perRound: 1 },
  );
  return [
    atMost(
      "holdfast ls over 1,000 sessions, against 10",
      `${ms(times.many)} : ${ms(times.few)}`,
      times.many / times.few,
      3,
    ),
    compared(
      "holdfast ls over 10, against a bare node",
      `${ms(times.few)} : ${ms(times.node)}`,
      times.few / times.node,
    ),
  ];
}

async function makeFloor(path: string) {
  const handle = await open(path, "w");
  const line = Buffer.from(`${KILOBYTE}\n`);
  let position = 0;
  return {
    append: async () => {
      await handle.write(line, 0, line.length, position);
      position += line.length;
      await handle.datasync();
    },
    close: () => handle.close(),
  };
}

function makeSqlite(path: string): () => Promise<void> {
  const database = new DatabaseSync(path);
  database.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE records (seq INTEGER PRIMARY KEY, data TEXT)",
  );
  const insert = database.prepare("INSERT INTO records (data) VALUES (?)");
  return async () => {
    insert.run(KILOBYTE);
  };
}

async function oneByOne(work: () => Promise<unknown>, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await work();
}

/** Runs this many callers at once. Each waits for its own call before the next one. */
async function inFlight(work: () => Promise<unknown>, count: number): Promise<void> {
  let left = count;
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (left > 0) {
        left -= 1;
        await work();
      }
    }),
  );
}

async function reopen(hf: LocalHome, id: string): Promise<void> {
  await (await hf.resumeSession(id)).release();
}

async function thousandTurns(hf: LocalHome, directory: string, bytes: number): Promise<number> {
  const session = await hf.openSession();
  for (let turn = 1; turn <= 1000; turn += 1) {
    const open = await session.beginTurn("i".repeat(bytes));
    const call = await open.callTool("read_file", { path: "src/index.ts" });
    await call.returned("ok");
    await open.addMessage("assistant", "a".repeat(bytes));
    await open.end({ inputTokens: 1000, outputTokens: 300 });
  }
  await session.pause();
  return apparentBytes(join(directory, "home", "sessions", session.id));
}

/** Counts each file once, however many names it has. */
function diskBytes(directory: string): number {
  return sum(directory, (stats) => stats.blocks * 512);
}

function apparentBytes(directory: string): number {
  return sum(directory, (stats) => stats.size);
}

function sum(directory: string, sizeOf: (stats: { size: number; blocks: number }) => number): number {
  const seen = new Set<number>();
  let total = 0;
  for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith("owner.lock")) continue;
    const stats = lstatSync(join(directory, name));
    if (!stats.isFile() || seen.has(stats.ino)) continue;
    seen.add(stats.ino);
    total += sizeOf(stats);
  }
  return total;
}

const ms = (value: number) => `${value.toFixed(2)} ms`;
const kilobytes = (value: number) => `${(value / 1000).toFixed(0)} kB`;
const perSecond = (msEach: readonly number[]) => `${Math.round(1000 / median(msEach))}/s`;
