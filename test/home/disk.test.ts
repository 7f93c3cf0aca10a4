/**
 * How much of the disk sessions use, and how much of it is given back.
 */
import { existsSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { sessionWithTurns, TestHome } from "../support/home.ts";
import { TaskHome, turn } from "../support/tasks.ts";

const MEGABYTE = 1024 * 1024;

describe("the disk use of a session", () => {
  it("lists its parts; a capsule counts with what it holds beyond its base, sealed or not", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "large.bin": "x".repeat(3 * MEGABYTE) });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const { id } = session;
    const { strategy } = task.capsule.spec;
    await turn(task, "head -c 2097152 /dev/urandom > new.bin; truncate -s 1G sparse.bin; rm sparse.bin");
    mkdirSync(home.sessionDir(id, "home"), { recursive: true });
    writeFileSync(home.sessionDir(id, "home", "settings"), "x".repeat(MEGABYTE));
    const busy = await hf.diskUse(id);
    const own = strategy === "overlay" ? 0 : 3 * MEGABYTE;
    expect(busy.capsule).toBeGreaterThan(own + 2 * MEGABYTE);
    expect(busy.capsule).toBeLessThan(own + 3 * MEGABYTE);
    expect(busy.home).toBeGreaterThanOrEqual(MEGABYTE);
    expect(busy.journal).toBeGreaterThan(0);
    await task.rest();
    await session.pause();
    const atRest = await hf.diskUse(id);
    // Sealed files are stored elsewhere, but still count as the capsule's.
    expect(atRest.capsule).toBeGreaterThan(own + 2 * MEGABYTE);
    expect(atRest.total).toBeGreaterThanOrEqual(atRest.capsule + atRest.home + atRest.journal);
    await hf.tearDownSession(id);
    const torn = await hf.diskUse(id);
    expect(torn.capsule).toBeLessThan(MEGABYTE / 2);
    expect(torn.total).toBeLessThan(atRest.total - 2 * MEGABYTE);
  });

  it("counts a file with two hard links once, even if du is missing", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 1);
    const dir = home.sessionDir(id, "home");
    mkdirSync(join(dir, "sub"), { recursive: true });
    writeFileSync(join(dir, "one"), "x".repeat(MEGABYTE));
    linkSync(join(dir, "one"), join(dir, "sub", "two"));
    const path = process.env["PATH"];
    const counted = await hf.diskUse(id);
    try {
      process.env["PATH"] = "/nonexistent";
      expect(await hf.diskUse(id)).toEqual(counted);
    } finally {
      process.env["PATH"] = path;
    }
    expect(counted.home).toBeLessThan(1.1 * MEGABYTE);
  });
});

/** Files of a session's HOME, as an agent may have left them. */
function fillHome(dir: string, paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(join(dir, dirname(path)), { recursive: true });
    writeFileSync(join(dir, path), "x".repeat(100_000));
  }
}

const CACHED = [".cache/pip/wheel", ".npm/_cacache/tarball", "go/pkg/mod/module", ".cargo/registry/crate"];
const KEPT = [
  ".cache/huggingface/token",
  ".cargo/config.toml",
  ".cargo/bin/tool",
  ".npm/notes",
  ".codex/log/session.log",
  ".local/bin/agent",
  "conversation.jsonl",
];

describe.runIf(hasSandbox)("HOME's caches", () => {
  it("cache-1 are deleted by teardown and archive, while credentials, settings and programs stay", async () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const { id } = session;
    const dir = home.sessionDir(id, "home");
    await turn(task, "echo two > a.txt");
    await task.rest();
    await session.pause();
    for (const end of ["teardown", "archive"] as const) {
      fillHome(dir, [...CACHED, ...KEPT]);
      mkdirSync(home.join("elsewhere"), { recursive: true });
      writeFileSync(home.join("elsewhere", "theirs"), "x");
      if (end === "teardown") symlinkSync(home.join("elsewhere"), join(dir, ".gradle"));
      mkdirSync(home.join("elsewhere", "caches"), { recursive: true });
      writeFileSync(home.join("elsewhere", "caches", "theirs"), "x");
      const { cacheBytes } = end === "teardown" ? await hf.tearDownSession(id) : await hf.archiveSession(id);
      expect(cacheBytes).toBeGreaterThanOrEqual(CACHED.length * 100_000);
      expect(CACHED.filter((path) => existsSync(join(dir, path)))).toEqual([]);
      expect(KEPT.filter((path) => !existsSync(join(dir, path)))).toEqual([]);
      expect(existsSync(home.join("elsewhere", "caches", "theirs"))).toBe(true);
    }
    expect((await hf.auditSession(id)).findings).toEqual([]);
  });

  it("cache-1 stay on a rewind, and on a teardown if the repo's checkpoints include them", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "holdfast.yaml": "capsule: { home_exclude: [go/pkg] }\n" });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const dir = home.sessionDir(session.id, "home");
    fillHome(dir, CACHED);
    await turn(task, "echo two > a.txt");
    await turn(task, "echo three > a.txt");
    await task.rest();
    await session.pause();
    await hf.rewindSession(session.id, 1);
    expect(CACHED.filter((path) => !existsSync(join(dir, path)))).toEqual([]);
    await hf.tearDownSession(session.id);
    expect(CACHED.filter((path) => !existsSync(join(dir, path)))).toEqual(["go/pkg/mod/module"]);
  });
});

describe("gc", () => {
  it("reports the bytes freed by each step and in total; a dry run reports those that it can know", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const [closed, archived] = [await sessionWithTurns(hf, 1), await sessionWithTurns(hf, 1)];
    for (const id of [closed, archived]) {
      const session = await hf.resumeSession(id);
      for (let index = 0; index < 20; index += 1)
        await session.append("custom", { name: "fill", text: "words ".repeat(10_000) });
      await session.close();
    }
    await hf.archiveSession(archived);
    mkdirSync(join(home.dir, "trash", "left"));
    writeFileSync(join(home.dir, "trash", "left", "file"), "x".repeat(MEGABYTE));
    const clock = { nowMs: () => Date.now() + 400 * 86_400_000, monotonicMs: () => performance.now() };
    const old = await home.open({ clock });
    const retention = { archiveClosedDays: 30, deleteArchivedDays: 60 };
    const planned = await old.gc({ dryRun: true, retention });
    const bytesOf = ({ done }: typeof planned, action: string) =>
      done.find((step) => step.action === action)?.freedBytes;
    expect(bytesOf(planned, "archive")).toBeNull();
    expect(bytesOf(planned, "delete")).toBeGreaterThan(0);
    expect(bytesOf(planned, "clear")).toBeGreaterThanOrEqual(MEGABYTE);
    expect(existsSync(join(home.dir, "trash", "left"))).toBe(true);
    const done = await old.gc({ retention });
    expect(bytesOf(done, "clear")).toBe(bytesOf(planned, "clear"));
    expect(bytesOf(done, "delete")).toBe(bytesOf(planned, "delete"));
    expect(bytesOf(done, "archive")).toBeGreaterThan(0);
    expect(done.freedBytes).toBe(done.done.reduce((sum, { freedBytes }) => sum + (freedBytes ?? 0), 0));
    expect(existsSync(join(home.dir, "trash", "left"))).toBe(false);
  });
});
