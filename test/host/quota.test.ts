/**
 * What a session may use, who sets the limits, and that no session is charged for another's bytes.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { parseConfig, parseSettings, within } from "../../src/config/index.ts";
import { findProgram } from "../../src/process/index.ts";
import type { Quota } from "../../src/task/room/quota.ts";
import { type Exceeded, Watch } from "../../src/task/room/quota-watch.ts";
import { systemClock } from "../../src/util/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { TempDir } from "../support/home.ts";
import { HostHome, reaches, script, typesOf } from "../support/hosts.ts";
import { asNobody, NOBODY, whyNotNobody } from "../support/nobody.ts";

const MEGABYTE = 1024 * 1024;

describe("the quota of a session", () => {
  it("is at most what settings.yaml allows, and a repo's file may ask for less", async () => {
    const { quota: allowed } = await parseSettings(
      "quota: { disk_mb: 100, files: 50, processes: 9, reserve_mb: 64 }",
    );
    const ask = async (text: string) => within((await parseConfig(text)).quota, allowed);
    expect(
      await ask(
        "quota: { disk_mb: 1.0e+300, files: 9007199254740991, processes: 100000, reserve_mb: 0.001 }",
      ),
    ).toEqual(allowed);
    expect(await ask("quota: { disk_mb: 10, files: 5, processes: 3, reserve_mb: 100 }")).toEqual({
      disk_mb: 10,
      files: 5,
      processes: 3,
      reserve_mb: 100,
    });
    // Memory is limited as soon as one of the two files limits it.
    const memory = async (text: string) => (await ask(text)).memory_mb;
    expect(await memory("")).toBeUndefined();
    expect(await memory("quota: { memory_mb: 10 }")).toBe(10);
    await expect(parseConfig("quota: { disk_mb: .inf }")).rejects.toMatchObject({ code: "config_invalid" });
    await expect(parseSettings("quotas: {}")).rejects.toThrow("settings.yaml:1: quotas: no such key");
  });

  it("limits a single file and many files together, whatever the repo's file asks for", async (context) => {
    if (!findProgram("prlimit") || !findProgram("fallocate"))
      context.skip("this machine has no prlimit or no fallocate");
    using home = new HostHome({ "holdfast.yaml": "quota: { disk_mb: 1.0e+300 }\n" });
    mkdirSync(home.dir, { mode: 0o700 });
    writeFileSync(join(home.dir, "settings.yaml"), "quota: { disk_mb: 48 }\n");
    const dispatcher = await home.dispatcher();
    const large =
      "fallocate -l 60M large 2>/dev/null && echo taken > said || echo refused > said; rm -f large";
    const { id } = await dispatcher.begin({ repo: home.main }, script(large));
    await reaches(dispatcher, id, "paused");
    const { patch } = await dispatcher.holdfast.diffSession(id);
    expect(patch.toString()).toContain("+refused");
    // More than the quota in many files ends the turn.
    await dispatcher.submit(
      id,
      script("i=0; while true; do i=$((i+1)); head -c 10000000 /dev/zero > f$i; sleep 0.1; done"),
    );
    await reaches(dispatcher, id, "paused");
    expect(await typesOf(dispatcher, id)).toContain("quota_reached");
    // A snapshot is no larger than the session may be.
    expect((await dispatcher.show(id)).task?.outcome).not.toBe("done");
  });

  it("ends the turn when its memory is exceeded, by the kernel or by the watch", async () => {
    using home = new HostHome({ "holdfast.yaml": "quota: { memory_mb: 96 }\n" });
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin(
      { repo: home.main },
      script(`perl -e '$x = "a" x (300 << 20); sleep 60'; echo went on; sleep 60`),
    );
    await reaches(dispatcher, id, "paused");
    const reached: unknown[] = [];
    for await (const { type, data } of dispatcher.holdfast.readJournal(id))
      if (type === "quota_reached") reached.push(data);
    expect(reached).toEqual([expect.objectContaining({ limit: "memory", allowed: 96 * MEGABYTE })]);
    expect((await dispatcher.show(id)).task?.outcome).toBe("failed");
  });

  it("is reported with its line, and run fails, if settings.yaml has it wrong", async () => {
    using home = new HostHome();
    mkdirSync(home.dir, { mode: 0o700 });
    writeFileSync(join(home.dir, "settings.yaml"), "quota: { disk_mb: lots }\n");
    const { status, stderr } = await home.cli(
      "run",
      "--repo",
      home.main,
      ...(hasSandbox ? [] : ["--no-sandbox"]),
      "--",
      "true",
    );
    expect(status).toBe(2);
    expect(stderr).toContain("settings.yaml:1: quota.disk_mb");
  });
});

/** Watches this process and these directories. */
const watched = (quota: Quota, ...dirs: string[]) => ({ pid: process.pid, dirs, quota });

describe("the watch of a quota", () => {
  it("charges no session for what others write, even if one of its directories is gone", async () => {
    using temp = new TempDir();
    mkdirSync(temp.join("own"));
    const exceeded: Exceeded[] = [];
    const quota = { maxBytes: 40 * MEGABYTE, maxFiles: 1e6, maxProcesses: 1e6, reserveBytes: 1 };
    // One of the directories is gone, so that the counting has something to complain about.
    const watch = new Watch(systemClock, watched(quota, temp.join("own"), temp.join("gone")), (one) =>
      exceeded.push(one),
    );
    writeFileSync(temp.join("of-another"), Buffer.alloc(120 * MEGABYTE, "x"));
    spawnSync("sync", ["-f", temp.path]);
    expect(statSync(temp.join("of-another")).blocks * 512).toBeGreaterThan(100 * MEGABYTE);
    await sleep(2500);
    watch.end();
    expect(exceeded).toEqual([]);
  });

  it("notices what a task writes even while others free as much space", async () => {
    using temp = new TempDir();
    mkdirSync(temp.join("own"));
    writeFileSync(temp.join("of-another"), Buffer.alloc(200 * MEGABYTE, "x"));
    spawnSync("sync", ["-f", temp.path]);
    const exceeded = Promise.withResolvers<Exceeded | string>();
    const quota = { maxBytes: 40 * MEGABYTE, maxFiles: 1e6, maxProcesses: 1e6, reserveBytes: 1 };
    const watch = new Watch(systemClock, watched(quota, temp.join("own")), exceeded.resolve, {
      countAnywayMs: 1000,
    });
    rmSync(temp.join("of-another"));
    writeFileSync(temp.join("own/large"), Buffer.alloc(60 * MEGABYTE, "x"));
    const said = await Promise.race([exceeded.promise, sleep(30_000, "nothing")]);
    watch.end();
    expect(said).toMatchObject({ limit: "bytes" });
  });

  it("counts again soon while the disk is nearly full, however slow the counting is", async () => {
    using temp = new TempDir();
    mkdirSync(temp.join("own"));
    // Each count calls this twice. A watch that then rested ten times as long would be late.
    mkdirSync(temp.join("bin"));
    writeFileSync(temp.join("bin/du"), `#!/bin/sh\nsleep 1\nexec ${findProgram("du")} "$@"\n`, {
      mode: 0o755,
    });
    const path = process.env["PATH"];
    process.env["PATH"] = `${temp.join("bin")}:${path}`;
    const exceeded = Promise.withResolvers<Exceeded | string>();
    const quota = { maxBytes: 4 * MEGABYTE, maxFiles: 1e6, maxProcesses: 1e6, reserveBytes: 1e18 };
    const watch = new Watch(systemClock, watched(quota, temp.join("own")), exceeded.resolve);
    try {
      await sleep(2500);
      writeFileSync(temp.join("own/large"), Buffer.alloc(8 * MEGABYTE, "x"));
      const said = await Promise.race([exceeded.promise, sleep(14_000, "nothing")]);
      expect(said).toMatchObject({ limit: "bytes" });
    } finally {
      watch.end();
      process.env["PATH"] = path;
    }
  });

  it("says which limit was exceeded: files, bytes, processes or memory", async () => {
    using temp = new TempDir();
    for (let number = 0; number < 20; number += 1) writeFileSync(temp.join(`${number}`), "x".repeat(9000));
    // Space is short from the beginning, so that everything is counted at once.
    const ample = { maxBytes: 1e15, maxFiles: 1e6, maxProcesses: 1e6, reserveBytes: 1e18 };
    for (const [limit, own] of [
      ["files", { maxFiles: 10 }],
      ["bytes", { maxBytes: 100_000 }],
      ["processes", { maxProcesses: 0 }],
      ["memory", { maxMemoryBytes: 1 }],
    ] as const) {
      const exceeded = Promise.withResolvers<Exceeded | string>();
      const watch = new Watch(systemClock, watched({ ...ample, ...own }, temp.path), exceeded.resolve);
      const said = await Promise.race([exceeded.promise, sleep(3000, "nothing")]);
      watch.end();
      expect(said).toMatchObject({ limit });
    }
  });

  if (whyNotNobody) console.log(`left out: quotas of an ordinary user: ${whyNotNobody}`);
  it.skipIf(whyNotNobody !== undefined || !hasSandbox)(
    "counts files that a task hides from its own user, and the kernel limits an ordinary user's processes",
    () => {
      using temp = new TempDir();
      mkdirSync(temp.join("dir"));
      chmodSync(temp.path, 0o755);
      if (asNobody.length > 0) chownSync(temp.join("dir"), NOBODY, NOBODY);
      const fixture = join(import.meta.dirname, "..", "fixtures", "watch-dir.ts");
      const [program = "", ...args] = [...asNobody, process.execPath, fixture, temp.join("dir")];
      const { stdout, stderr } = spawnSync(program, args, {
        encoding: "utf8",
        env: { PATH: process.env["PATH"], HOME: temp.join("dir") },
      });
      const result = JSON.parse(stdout.trim() || JSON.stringify({ stderr }));
      expect(result).toMatchObject({ limit: "bytes" });
      expect(result.made).not.toBe("made 60");
    },
  );
});
