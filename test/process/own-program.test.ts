/**
 * Where our own programs are, and who may start which.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { ownProgram } from "../../src/process/index.ts";

const src = join(import.meta.dirname, "../../src");

it("a folder asks only for its own program, and finds it only through ownProgram", () => {
  const asked: [folder: string, program: string][] = [];
  for (const name of readdirSync(src, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".ts") || name === "process/own-program.ts") continue;
    const text = readFileSync(join(src, name), "utf8");
    for (const [, program = ""] of text.matchAll(/ownProgram\(([^)]*)\)/g))
      asked.push([dirname(name), program]);
    expect(text, name).not.toMatch(/import\.meta|__dirname|__filename|process\.argv\[1\]/);
  }
  expect(asked.length).toBeGreaterThan(1);
  for (const [folder, program] of asked) expect(program).toBe(JSON.stringify(folder));
});

it("ownProgram finds our programs beside the running code, and throws for one that is missing", () => {
  for (const folder of ["host", "dispatch", "process/network"])
    expect(existsSync(ownProgram(folder)), folder).toBe(true);
  expect(() => ownProgram("nowhere")).toThrow("not part of this installation");
});
