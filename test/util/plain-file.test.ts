import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { readPlainFile } from "../../src/util/index.ts";
import { TempDir } from "../support/home.ts";

it("readPlainFile reads only a plain file of limited length, and follows a link only if asked to", () => {
  using temp = new TempDir();
  writeFileSync(temp.join("plain"), "12345");
  symlinkSync(temp.join("plain"), temp.join("link"));
  symlinkSync("/dev/zero", temp.join("device"));
  mkdirSync(temp.join("dir"));
  execFileSync("mkfifo", [temp.join("pipe")]);
  const read = (name: string, options = {}) =>
    readPlainFile(temp.join(name), { maxBytes: 5, ...options })?.toString();
  expect(read("plain")).toBe("12345");
  expect(read("plain", { maxBytes: 4 })).toBeUndefined();
  expect(read("link")).toBeUndefined();
  expect(read("link", { followLinks: true })).toBe("12345");
  for (const name of ["device", "dir", "pipe", "nothing"])
    expect(read(name, { followLinks: true }), name).toBeUndefined();
});
