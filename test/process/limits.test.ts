/**
 * What the kernel keeps of a command: each limit is asked for by what it forbids.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findProgram } from "../../src/process/index.ts";
import { firstToEnd, limited, type ProcessLimits } from "../../src/process/limits.ts";

const leaveOut = (what: string, why: string) => console.log(`left out: ${what}: ${why}`);
if (!findProgram("prlimit")) leaveOut("limits of processes", "prlimit is not installed");
if (!findProgram("choom")) leaveOut("who is ended first", "choom is not installed");

function said(words: readonly string[], script: string): string {
  const [program = "", ...args] = [...words, "sh", "-c", script];
  const { stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  return `${stdout}${stderr}`.trim();
}

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

  it.skipIf(!findProgram("choom"))("the command is ended before us when memory runs out", () => {
    const look = "cat /proc/self/oom_score_adj";
    expect(Number(said(firstToEnd(), look))).toBe(500);
    expect(Number(said([], look))).toBeLessThan(500);
  });
});
