/**
 * The last line of `.ci/run` says whether a real agent was tried, because the tests report what they left out
 * in the middle of their output. Here, a stand-in for npm prints what the tests would print.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { TempDir } from "../support/home.ts";

const run = join(import.meta.dirname, "..", "..", ".ci", "run");

function lastLineOf(script: string): { readonly status: number | null; readonly last: string } {
  using dir = new TempDir();
  writeFileSync(dir.join("npm"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const env = { ...process.env, PATH: [dir.path, process.env["PATH"]].join(delimiter) };
  const { status, stdout } = spawnSync(run, { encoding: "utf8", env });
  return { status, last: stdout.trim().split("\n").at(-1) ?? "" };
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
});
