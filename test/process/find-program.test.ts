import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { findProgram } from "../../src/process/index.ts";
import { TestHome } from "../support/home.ts";

afterEach(() => vi.unstubAllEnvs());

describe("a program on PATH", () => {
  it("is a file that can be run: a directory is not one, and neither is an empty name", () => {
    using home = new TestHome();
    mkdirSync(join(home.path, "docs"), { recursive: true });
    writeFileSync(join(home.path, "tool"), "", { mode: 0o755 });
    vi.stubEnv("PATH", home.path);
    expect(["tool", "docs", "", "other"].map(findProgram)).toEqual([
      join(home.path, "tool"),
      undefined,
      undefined,
      undefined,
    ]);
  });
});
