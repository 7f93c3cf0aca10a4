/**
 * What sessions take of the disk, and what is given back of it.
 */
import { linkSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sessionWithTurns, TestHome } from "../support/home.ts";
import { TaskHome, turn } from "../support/tasks.ts";

const MEGABYTE = 1024 * 1024;

describe("the disk use of a session", () => {
  it("names its parts, in blocks; a capsule has what it holds beyond the base, sealed or not", async () => {
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
    // Sealed, its files lie elsewhere, and are still what it takes.
    expect(atRest.capsule).toBeGreaterThan(own + 2 * MEGABYTE);
    expect(atRest.total).toBeGreaterThanOrEqual(atRest.capsule + atRest.home + atRest.journal);
    await hf.tearDownSession(id);
    const torn = await hf.diskUse(id);
    expect(torn.capsule).toBeLessThan(MEGABYTE / 2);
    expect(torn.total).toBeLessThan(atRest.total - 2 * MEGABYTE);
  });

  it("counts what is linked twice once, also where the system's own program is not there", async () => {
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
