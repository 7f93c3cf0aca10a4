import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { findProgram } from "../../src/process/index.ts";
import { TestHome } from "../support/home.ts";

afterEach(() => vi.unstubAllEnvs());

describe("findProgram", () => {
  it("finds an executable file on PATH, but no directory, and nothing for an empty name", () => {
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
