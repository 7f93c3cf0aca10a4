/**
 * An agent that changes its files while our own process looks at them.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, statSync, symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { OpenDir } from "../../src/capsule/files/open-dir.ts";
import { findProgram } from "../../src/process/index.ts";
import { TempDir } from "../support/home.ts";

const leaveOut = (what: string, why: string) => console.log(`left out: ${what}: ${why}`);

describe("files-1 opening a directory that an agent keeps swapping for a link", () => {
  const why = process.arch === "x64" && findProgram("perl") ? undefined : "it takes perl and x86_64";
  if (why) leaveOut("files that are swapped", why);
  it.skipIf(why)("never changes the mode of what the link leads to", async () => {
    using temp = new TempDir();
    mkdirSync(temp.join("outside"), { mode: 0o755 });
    mkdirSync(temp.join("files"));
    // As an agent leaves it: its owner is locked out, and everybody else would be let in.
    mkdirSync(temp.join("files", "a"));
    chmodSync(temp.join("files", "a"), 0o077);
    symlinkSync(temp.join("outside"), temp.join("files", "b"));
    const RENAMEAT2 = 316;
    const swap = `$| = 1; print "begun\\n"; my ($a, $b) = ("a", "b");
      syscall(${RENAMEAT2}, -100, $a, -100, $b, 2) while getppid() == $ARGV[0];`;
    const child = spawn("perl", ["-e", swap, String(process.pid)], {
      cwd: temp.join("files"),
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    const modes = new Set<number>();
    using root = OpenDir.root(temp.join("files"));
    for (let times = 0; times < 5000; times += 1) {
      root.child("a")?.[Symbol.dispose]();
      modes.add(statSync(temp.join("outside")).mode & 0o7777);
    }
    expect(child.exitCode).toBeNull();
    child.kill("SIGKILL");
    await once(child, "exit");
    expect([...modes]).toEqual([0o755]);
  });
});
