/**
 * A rule: only one file starts git. Every source is searched for two ways around it: `git` as a string of its
 * own, and a command line that begins with it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".ts"),
);
const PROGRAM = /(["'`])git\1|(runProgram|startDetached|startHolder)\(\s*\[?\s*["'`]git\b/;

test("only the git port starts git (git-1)", () => {
  const naming = sources.filter((name) => PROGRAM.test(readFileSync(`src/${name}`, "utf8")));
  expect(naming).toEqual(["capsule/git/git.ts"]);
});
