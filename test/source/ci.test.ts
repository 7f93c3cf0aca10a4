/**
 * The last line of `.ci/run` says whether a real agent was tried, because the tests report what they left out
 * in the middle of their output. A few files that failed get a second run, and are named. Here, a stand-in for
 * npm prints and reports what the tests would.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { TempDir } from "../support/home.ts";

const run = join(import.meta.dirname, "..", "..", ".ci", "run");

function ci(script: string): { readonly status: number | null; readonly lines: readonly string[] } {
  using dir = new TempDir();
  writeFileSync(dir.join("npm"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const env = { ...process.env, AT: dir.path, PATH: [dir.path, process.env["PATH"]].join(delimiter) };
  const { status, stdout } = spawnSync(run, { encoding: "utf8", env });
  return { status, lines: stdout.trim().split("\n") };
}

function lastLineOf(script: string): { readonly status: number | null; readonly last: string } {
  const { status, lines } = ci(script);
  return { status, last: lines.at(-1) ?? "" };
}

/** The first run of the tests fails and reports these files as failed. `then`: what a second run does. */
function failingOnce(files: readonly string[], then: string): string {
  const results = files.map((name) => ({ name: join(process.cwd(), name), status: "failed" }));
  const testResults = [...results, { name: "/somewhere/good.test.ts", status: "passed" }];
  return `[ "$1" = test ] || exit 0
case "$*" in
*--outputFile.json=*) for word; do report="\${word#--outputFile.json=}"; done
  echo '${JSON.stringify({ testResults })}' > "$report"; exit 3 ;;
*) echo "second run: $*"; ${then} ;;
esac`;
}

describe(".ci/run", () => {
  it("ends with a line that says whether a real agent was tried, and fails when the tests fail", () => {
    const left = "left out: the conformance of gemini: it is not installed (npm run test:agents)";
    expect(lastLineOf(`[ "$1" != test ] || echo "${left}"; echo "$@: all is well"`)).toEqual({
      status: 0,
      last: `ci: NO REAL AGENT WAS TRIED: ${left}`,
    });
    expect(lastLineOf('echo "left out: the conformance of goose: it is not installed"')).toEqual({
      status: 0,
      last: expect.stringContaining("one real agent was tried, Gemini CLI"),
    });
    expect(lastLineOf('[ "$1" != test ] || exit 3').status).toBe(3);
  });

  it("runs a few files that failed once more, names them, and fails if one of them fails again", () => {
    const failed = ["test/a.test.ts", "test/b.test.ts"];
    const { status, lines } = ci(failingOnce(failed, "exit 0"));
    expect(status).toBe(0);
    expect(lines).toContain(`second run: test -- --no-file-parallelism ${failed.join(" ")}`);
    for (const file of failed) expect(lines).toContain(`ci: UNSTABLE, failed once and then passed: ${file}`);
    expect(ci(failingOnce(failed, "exit 4")).status).toBe(4);
  });

  it("gives no second run where many files failed, or an error belongs to none", () => {
    const many = Array.from({ length: 5 }, (_, at) => `test/${at}.test.ts`);
    for (const files of [many, []]) {
      const { status, lines } = ci(failingOnce(files, "exit 0"));
      expect(status).toBe(3);
      expect(lines.join("\n")).not.toContain("second run");
    }
  });
});
