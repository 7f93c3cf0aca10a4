/**
 * Reading the files that differ between two trees: each with its contents, and few starts of git for many.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { type ChangedFile, readChangedFiles } from "../../src/capsule/index.ts";
import { GitWrapper } from "../support/git-wrapper.ts";
import { MergeLab } from "../support/merging.ts";

const MB = 1024 * 1024;

it("gives every changed file with what it was and is, for a few starts of git, with 16 MB at once", async () => {
  using lab = new MergeLab();
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`many/${at}`, `file ${at}\n`]));
  const large = Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`z/${at}`, randomBytes(4 * MB)]));
  lab.commitOn("work", { ...many, ...large, "y/too-large": randomBytes(6 * MB), "a.txt": "other\n" });
  const { repo, store } = await lab.open();
  const starts = lab.join("starts");
  const found: ChangedFile[] = [];
  {
    using _ = new GitWrapper(`case "$*" in *'cat-file --batch --buffer') echo >> ${starts} ;; esac`);
    const trees = { from: lab.idOf("main^{tree}"), to: lab.idOf("work^{tree}"), maxBytes: 5 * MB };
    for await (const file of readChangedFiles(repo, store, trees)) found.push(file);
  }
  const after = Object.fromEntries(found.map((file) => [file.path, file.after]));
  expect(found).toHaveLength(307);
  for (const [path, text] of Object.entries(many)) expect(String(after[path]?.content)).toBe(text);
  for (const [path, bytes] of Object.entries(large)) expect(after[path]?.content?.equals(bytes)).toBe(true);
  expect(after["y/too-large"]).toEqual({ kind: "file", bytes: 6 * MB, content: undefined });
  expect(String(found.find(({ path }) => path === "a.txt")?.before?.content)).toBe("1\n2\n3\n4\n5\n");
  expect(existsSync(starts) && readFileSync(starts, "utf8")).toBe("\n\n");
});
