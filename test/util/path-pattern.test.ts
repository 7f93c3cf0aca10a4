/**
 * Patterns of paths: what they cover, and that no pattern takes long.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isCovered } from "../../src/util/path-pattern.ts";

const covered: readonly (readonly [pattern: string, yes: string[], no: string[]])[] = [
  ["*.ts", ["a.ts", "src/deep/b.ts"], ["a.tsx", "ts", "src/a.js"]],
  [".github/**", [".github/workflows/ci.yml", ".github/x"], [".github", "a/.github/x", ".githubx/y"]],
  ["src", ["src/a", "src/b/c", "lib/src/x", "src"], ["srcs/a", "asrc"]],
  ["src/", ["src/a", "lib/src/x"], ["srcs/a"]],
  ["src/*.ts", ["src/a.ts"], ["src/b/a.ts", "a.ts", "lib/src/a.ts"]],
  ["src/**/*.test.ts", ["src/a.test.ts", "src/b/c/a.test.ts"], ["src/a.ts", "test/a.test.ts"]],
  ["**/lock?.json", ["lock1.json", "a/b/lockx.json"], ["lock.json", "a/lock12.json"]],
  ["a/**/b/**", ["a/b/c", "a/x/y/b/z"], ["a/b", "a/x/c", "b/a/b/c"]],
  ["**", ["a", "a/b/c"], []],
  ["[a].ts", ["[a].ts", "x/[a].ts"], ["a.ts"]],
];

describe("patterns of paths", () => {
  it.each(covered)("%s covers the paths that it should, and no others", (pattern, yes, no) => {
    for (const path of yes) expect(isCovered(path, ["nothing-else", pattern]), path).toBe(true);
    for (const path of no) expect(isCovered(path, [pattern]), path).toBe(false);
  });

  it("a path covers itself and everything below it, and many stars do not make matching slow", () => {
    const name = fc.stringMatching(/^[a-c.]{1,4}$/);
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
    fc.assert(
      fc.property(path, path, (above, below) => {
        expect(isCovered(above, [above])).toBe(true);
        expect(isCovered(`${above}/${below}`, [above])).toBe(true);
        expect(isCovered(above, ["**"])).toBe(true);
      }),
    );
    // A matcher that backtracks at every star would not finish these.
    expect(isCovered("a".repeat(255), [`${"*a".repeat(120)}b`])).toBe(false);
    expect(isCovered(Array(60).fill("a").join("/"), [`${"**/a/".repeat(60)}b`])).toBe(false);
  });
});
