/**
 * What the kernel keeps of a command: each limit is asked for by what it forbids.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writingFirst } from "../../src/process/first-writes.ts";
import { findProgram } from "../../src/process/index.ts";
import { firstToEnd, limited, limitingScript, type ProcessLimits } from "../../src/process/limits.ts";

const leaveOut = (what: string, why: string) => console.log(`left out: ${what}: ${why}`);
if (!findProgram("prlimit")) leaveOut("limits of processes", "prlimit is not installed");

function said(words: readonly string[], script: string): string {
  const [program = "", ...args] = [...words, "sh", "-c", script];
  const { stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  return `${stdout}${stderr}`.trim();
}

const shells = ["sh", "dash", "bash", "busybox"].filter((shell) => findProgram(shell));

describe.each(shells)("limits that %s sets", (shell) => {
  const run = (script: string) => {
    // As they are when they are called `sh`.
    const first = { busybox: ["sh"], bash: ["--posix"] }[shell] ?? [];
    const words = [...first, "-c", script];
    const { stdout, stderr, status } = spawnSync(shell, words, { encoding: "utf8" });
    return { said: `${stdout}${stderr}`.trim(), status };
  };
  const HARD_LIMITS =
    "exec awk '/file size|processes|open files|address|cpu/ { print $(NF - 1) }' /proc/self/limits";

  it("are those of what it becomes, and can't be raised", () => {
    const all: ProcessLimits = {
      ...{ maxFileBytes: 1 << 20, maxMemoryBytes: 1 << 30, maxProcesses: 1234 },
      ...{ maxOpenFiles: 64, maxCoreBytes: 0, maxCpuSeconds: 77 },
    };
    const said = run(limitingScript(all) + HARD_LIMITS).said.split("\n");
    expect(said.sort()).toEqual(["77", String(1 << 20), "0", "1234", "64", String(1 << 30)].sort());
  });

  it("end it where it can't set one, and nothing is started", () => {
    const script = limitingScript({ maxOpenFiles: 64 });
    expect(run(`ulimit -n 32; ${script}echo started`)).toMatchObject({ status: 126 });
    expect(run(`ulimit -n 32; ${script}echo started`).said).not.toMatch(/^started$/m);
    const processes = limitingScript({ maxProcesses: 64 });
    const refused = run(`ulimit() { [ "$1" = -n ]; }; ${processes}echo started`);
    expect(refused).toEqual({ said: "", status: 126 });
  });

  it("of what nothing is said stay as they are", () => {
    expect(limitingScript({})).toBe("");
    expect(run(`${limitingScript({ maxOpenFiles: 64 })}${HARD_LIMITS}`).said).toContain("unlimited");
  });
});

describe.skipIf(!findProgram("prlimit"))("limits", () => {
  it("open files, core files and the size of a file are bounded", () => {
    const words = limited({ maxOpenFiles: 64, maxCoreBytes: 0, maxFileBytes: 4096 });
    expect(said(words, "ulimit -n; ulimit -Hn; ulimit -c; ulimit -Hc; ulimit -f")).toBe("64\n64\n0\n0\n8");
  });

  it("what nothing is said of stays as it is", () => {
    expect(limited({})).toEqual([]);
    expect(said(limited({ maxOpenFiles: 64 }), "ulimit -v")).toBe(said([], "ulimit -v"));
  });

  it("one that is lower already does not keep the command from starting", () => {
    const module = join(import.meta.dirname, "..", "..", "src", "process", "limits.ts");
    const asked: ProcessLimits = { maxOpenFiles: 512, maxFileBytes: 1 << 20 };
    const script = `import { limited } from "${module}"; console.log(limited(${JSON.stringify(asked)}).slice(1).join(" "))`;
    const node = [process.execPath, "--input-type=module", "-e", script];
    const [program = "", ...args] = [...limited({ maxOpenFiles: 128, maxFileBytes: 4096 }), ...node];
    const { stdout } = spawnSync(program, args, { encoding: "utf8" });
    expect(stdout.trim()).toBe("--fsize=4096 --nofile=128 --");
  });

  it("the command is ended before us when memory runs out", () => {
    const look = "cat /proc/self/oom_score_adj";
    expect(Number(said(writingFirst(firstToEnd()), look))).toBe(500);
    expect(Number(said([], look))).toBeLessThan(500);
  });

  it("what is ended first already is not asked to be ended later, which it may not", () => {
    expect(firstToEnd("500\n")).toEqual([]);
    expect(firstToEnd("999\n")).toEqual([]);
    expect(firstToEnd("-1000\n")).toHaveLength(1);
  });
});
