/**
 * How much memory many processes use together, compared with what the kernel reports for each of them.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { findProgram } from "../../src/process/index.ts";
import { measureTree, treeOf, unnamedBytes } from "../../src/process/tree.ts";
import { readTextOr } from "../../src/util/index.ts";
import { TempDir } from "../support/home.ts";
import { gitIn, makeRepo } from "../support/repo.ts";

const MB = 1024 * 1024;
const COUNT = 80;
const SHARED_BYTES = 24 * MB;

/** A shell and what it started; all of it ends with the test. */
class Crowd implements AsyncDisposable {
  readonly #shell: ChildProcess;

  constructor(script: string, cwd: string) {
    this.#shell = spawn("sh", ["-c", script], { cwd, detached: true, stdio: ["pipe", "ignore", "inherit"] });
  }

  get pid(): number {
    return this.#shell.pid ?? 0;
  }

  /** What the kernel reports for each of them, added up. */
  sums(): { resident: number; shares: number } {
    const texts = treeOf(this.pid).map((pid) => readTextOr(`/proc/${pid}/smaps_rollup`, ""));
    const kilobytes = (field: string, text: string) =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0);
    const sum = (field: string) => texts.reduce((total, text) => total + kilobytes(field, text) * 1024, 0);
    return { resident: sum("Rss"), shares: sum("Pss") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#shell, "exit");
    process.kill(-this.pid, "SIGKILL");
    await ended;
  }
}

async function expectSharedOnce(crowd: Crowd): Promise<void> {
  // Wait until all processes have started and have touched all of the shared memory.
  while (crowd.sums().resident < COUNT * SHARED_BYTES) await sleep(50);
  const { resident, shares } = crowd.sums();
  expect(resident).toBeGreaterThan(5 * shares);
  const { bytes, processes } = measureTree(crowd.pid);
  expect(processes).toBeGreaterThanOrEqual(COUNT);
  expect(bytes).toBeGreaterThan(shares / 1.5);
  expect(bytes).toBeLessThan(shares * 1.5);
  expect(bytes).toBeLessThanOrEqual(totalmem());
}

describe("measureTree", () => {
  it("counts a mapped file once, however many processes have mapped it", async () => {
    using temp = new TempDir();
    const repo = makeRepo(temp.join("repo"));
    writeFileSync(temp.join("big"), randomBytes(SHARED_BYTES));
    const id = gitIn(repo, "hash-object", "-w", temp.join("big"));
    execFileSync("git", ["-c", "pack.compression=0", "pack-objects", "-q", ".git/objects/pack/pack"], {
      cwd: repo,
      input: `${id}\n`,
    });
    gitIn(repo, "prune-packed");
    // Each reads the whole pack through a mapping that it keeps, and then waits for more input.
    const reader = `{ echo ${id}; exec sleep 600; } | git -c core.bigFileThreshold=1m cat-file --batch > /dev/null`;
    await using crowd = new Crowd(`for i in $(seq ${COUNT}); do ${reader} & done; wait`, repo);
    await expectSharedOnce(crowd);
  });

  it("counts memory from before a fork once, however many processes share it", async () => {
    using temp = new TempDir();
    const script = `
      all=$(head -c ${SHARED_BYTES} /dev/zero | tr '\\0' x)
      exec 3<&0
      for i in $(seq ${COUNT}); do (read line <&3) & done
      wait`;
    await using crowd = new Crowd(script, temp.path);
    await expectSharedOnce(crowd);
  });
});

describe("unnamedBytes", () => {
  const hasPerl = findProgram("perl") !== undefined;
  if (!hasPerl) console.log("left out: files without a name in memory: perl is not installed");

  it.skipIf(!hasPerl)("counts a file that is only in memory, and once if it is open too", async () => {
    using temp = new TempDir();
    const mmap = process.arch === "arm64" ? 222 : 9;
    const script = (close: string) => `
      open(F, "+>", "big"); print F "x" x (8 << 20); my $old = select(F); $| = 1; select($old);
      syscall(${mmap}, 0, 8 << 20, 1, 1, fileno(F), 0) != -1 or die; unlink "big"; ${close}
      open(R, ">", "ready"); close R; sleep 60;`;
    for (const close of ["close F;", ""]) {
      await using crowd = new Crowd(`exec perl -e '${script(close)}'`, temp.path);
      while (!existsSync(temp.join("ready"))) await sleep(10);
      expect(unnamedBytes(crowd.pid) / MB).toSatisfy((mb: number) => mb >= 8 && mb < 9);
      rmSync(temp.join("ready"));
    }
  });
});
