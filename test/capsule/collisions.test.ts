/**
 * Finding out which works would collide before any of them is merged.
 */
import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { collisions } from "../../src/capsule/index.ts";
import { MergeLab } from "../support/merging.ts";
import { fingerprint, gitIn, listTree } from "../support/repo.ts";

it("tells which works would collide with each other or the branch, and changes nothing in repo or store", async () => {
  using lab = new MergeLab({ "a.txt": "1\n2\n3\n4\n5\n", "b.txt": "b\n", "old/x.txt": "x\n" });
  const first = lab.idOf("main");
  const works = {
    top: { "a.txt": "one\n2\n3\n4\n5\n" },
    bottom: { "a.txt": "1\n2\n3\n4\nfive\n" },
    both: { "a.txt": "uno\n2\n3\n4\ncinco\n" },
    apart: { "n.txt": "n\n" },
    file: { place: "a file\n" },
    dir: { "place/inside": "a directory\n" },
    beside: { "old/new.txt": "beside one that moves away\n" },
  };
  for (const [name, files] of Object.entries(works)) lab.commitOn(name, files, name, first);
  gitIn(lab.main, "checkout", "-q", "-b", "moved", first);
  gitIn(lab.main, "mv", "old", "new");
  lab.commitOn("moved", {}, "moved");
  lab.commitOn("main", { "b.txt": "main\n", "a.txt": "1\n2\nthree\n4\n5\n" });
  lab.commitOn("late", { "b.txt": "late\n" }, "late", first);
  // Work that is in no commit yet.
  const loose = { session: "loose", commit: first, tree: lab.idOf("late^{tree}") };
  const { repo, store } = await lab.open();
  const before = fingerprint(lab.main);
  const kept = listTree(store.gitDir);
  const names = [...Object.keys(works), "moved", "late"];
  const found = await collisions(repo, store, {
    works: [...names.map((session) => ({ session, commit: lab.idOf(session) })), loose],
    target: lab.idOf("main"),
  });
  const told = found.map(
    ({ session, other, paths }) => `${session} ${other} ${paths.join(",").replace(/~.*/, "")}`,
  );
  expect(told.sort()).toEqual([
    "bottom both a.txt",
    "file dir place",
    "late null b.txt",
    "loose null b.txt",
    "top both a.txt",
  ]);
  expect(fingerprint(lab.main)).toBe(before);
  expect(listTree(store.gitDir)).toEqual(kept);
  expect(readdirSync(store.gitDir).filter((name) => name.startsWith("incoming"))).toEqual([]);
  expect(await collisions(repo, store, { works: [], target: first })).toEqual([]);
});
