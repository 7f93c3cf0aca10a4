/**
 * The limits that the kernel enforces for a command, as a process that was started under them sees them.
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
    // Each shell behaves as it does when it is called `sh`.
    const first = { busybox: ["sh"], bash: ["--posix"] }[shell] ?? [];
    const words = [...first, "-c", script];
    const { stdout, stderr, status } = spawnSync(shell, words, { encoding: "utf8" });
    return { said: `${stdout}${stderr}`.trim(), status };
  };
  const HARD_LIMITS =
    "exec awk '/file size|processes|open files|address|cpu/ { print $(NF - 1) }' /proc/self/limits";

  it("are hard limits of the program that the shell becomes", () => {
    const all: ProcessLimits = {
      ...{ maxFileBytes: 1 << 20, maxMemoryBytes: 1 << 30, maxProcesses: 1234 },
      ...{ maxOpenFiles: 64, maxCoreBytes: 0, maxCpuSeconds: 77 },
    };
    const said = run(limitingScript(all) + HARD_LIMITS).said.split("\n");
    expect(said.sort()).toEqual(["77", String(1 << 20), "0", "1234", "64", String(1 << 30)].sort());
  });

  it("keep the command from starting when one of them can't be set", () => {
    const script = limitingScript({ maxOpenFiles: 64 });
    expect(run(`ulimit -n 32; ${script}echo started`)).toMatchObject({ status: 126 });
    expect(run(`ulimit -n 32; ${script}echo started`).said).not.toMatch(/^started$/m);
    const processes = limitingScript({ maxProcesses: 64 });
    const refused = run(`ulimit() { [ "$1" = -n ]; }; ${processes}echo started`);
    expect(refused).toEqual({ said: "", status: 126 });
  });

  it("leave every limit unchanged that was not asked for", () => {
    expect(limitingScript({})).toBe("");
    expect(run(`${limitingScript({ maxOpenFiles: 64 })}${HARD_LIMITS}`).said).toContain("unlimited");
  });
});

describe.skipIf(!findProgram("prlimit"))("limits", () => {
  it("bound open files, core files and the size of a file", () => {
    const words = limited({ maxOpenFiles: 64, maxCoreBytes: 0, maxFileBytes: 4096 });
    expect(said(words, "ulimit -n; ulimit -Hn; ulimit -c; ulimit -Hc; ulimit -f")).toBe("64\n64\n0\n0\n8");
  });

  it("leave every limit unchanged that was not asked for", () => {
    expect(limited({})).toEqual([]);
    expect(said(limited({ maxOpenFiles: 64 }), "ulimit -v")).toBe(said([], "ulimit -v"));
  });

  it("are lowered to the limits that already apply, where those are stricter", () => {
    const module = join(import.meta.dirname, "..", "..", "src", "process", "limits.ts");
    const asked: ProcessLimits = { maxOpenFiles: 512, maxFileBytes: 1 << 20 };
    const script = `import { limited } from "${module}"; console.log(limited(${JSON.stringify(asked)}).slice(1).join(" "))`;
    const node = [process.execPath, "--input-type=module", "-e", script];
    const [program = "", ...args] = [...limited({ maxOpenFiles: 128, maxFileBytes: 4096 }), ...node];
    const { stdout } = spawnSync(program, args, { encoding: "utf8" });
    expect(stdout.trim()).toBe("--fsize=4096 --nofile=128 --");
  });

  it("make the kernel kill the command before Holdfast when memory runs out", () => {
    const look = "cat /proc/self/oom_score_adj";
    expect(Number(said(writingFirst(firstToEnd()), look))).toBe(500);
    expect(Number(said([], look))).toBeLessThan(500);
  });

  it("do not try to lower an oom_score_adj that is high already, which could be refused", () => {
    expect(firstToEnd("500\n")).toEqual([]);
    expect(firstToEnd("999\n")).toEqual([]);
    expect(firstToEnd("-1000\n")).toHaveLength(1);
  });
});
