/**
 * Each invariant that a source file states is in the title of a test, and each that a title names is stated once.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const project = resolve(import.meta.dirname, "..", "..");
const STATED = /^ \*\s+((?:[a-z]+-)+\d{1,2}) +(?=\S)/gm;
const BESIDE_ANOTHER = /\. ((?:[a-z]+-)+\d{1,2}) [A-Z]/g;
const IN_A_TITLE = /(?:\b(?:it|test|describe)\b[^"`\n]*|^\s*|\]\)\()["`]((?:(?:[a-z]+-)+\d{1,2} )+)/gm;
const NAME = /(?:[a-z]+-)+\d{1,2}/g;

const textsIn = (dir: string, end: string) =>
  readdirSync(join(project, dir), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(end))
    .map((name) => readFileSync(join(project, dir, name), "utf8"));

const namesIn = (texts: readonly string[], pattern: RegExp) =>
  texts.flatMap((text) => [...text.matchAll(pattern)].flatMap(([, said = ""]) => said.match(NAME) ?? []));

describe("invariants", () => {
  const heads = textsIn("src", ".ts").map((text) => text.slice(0, text.indexOf("*/")));
  const stated = [...namesIn(heads, STATED), ...namesIn(heads, BESIDE_ANOTHER)];
  const tested = new Set(namesIn(textsIn("test", ".test.ts"), IN_A_TITLE));

  it("are each named in the title of a test", () => {
    expect(stated.filter((name) => !tested.has(name)).sort()).toEqual([]);
  });

  it("that a title names are each stated in exactly one place", () => {
    const twice = stated.filter((name, at) => stated.indexOf(name) !== at);
    expect(twice).toEqual([]);
    expect([...tested].filter((name) => !stated.includes(name)).sort()).toEqual([]);
  });
});
