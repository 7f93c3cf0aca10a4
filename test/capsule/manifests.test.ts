/**
 * A manifest from another home can do nothing outside a capsule, whatever it names.
 */
import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodePath, encodePath, isGitLike, storedPath } from "../../src/capsule/files/path.ts";
import { applySnapshot, type SnapshotManifest } from "../../src/capsule/index.ts";
import { decodeManifest, encodeManifest } from "../../src/capsule/store/manifest.ts";
import { CapsuleLab, inside, limits } from "../support/capsules.ts";

describe("a manifest from another home", () => {
  const hostile = (entries: SnapshotManifest["entries"], gone: string[] = []): SnapshotManifest => {
    return {
      base: null,
      lower: null,
      setupKey: "none",
      branch: "b",
      entries,
      gone,
      converted: [],
      omitted: [],
    };
  };
  const file = (path: string, mode = 0o644) => ({
    path,
    kind: "file" as const,
    mode,
    mtimeMs: 0,
    size: 5,
    role: "work" as const,
  });

  it("snapshot-2 writes nothing outside the root through links, and sets no set-user-id bit", async () => {
    await using lab = new CapsuleLab("worktree");
    const outside = lab.temp.join("outside");
    const root = lab.temp.join("root");
    mkdirSync(outside);
    mkdirSync(root);
    writeFileSync(join(outside, "kept"), "kept");
    symlinkSync(outside, join(root, "link"));
    const capsule = await lab.create();
    await inside(capsule, "printf evil! > e");
    const { contents } = await capsule.snapshot("1", limits);
    const id = contents.get("e") ?? "";
    const manifest = hostile(
      [{ ...file("out"), kind: "symlink" }, file("link/evil"), file("out/evil"), file("suid", 0o6755)],
      ["link/kept"],
    );
    const named = new Map(manifest.entries.map(({ path }) => [path, id]));
    await applySnapshot(root, await capsule.store(), manifest, named);
    expect(readdirSync(outside)).toEqual(["kept"]);
    expect(statSync(join(root, "suid")).mode & 0o7777).toBe(0o755);
  });

  it("fails to be applied if it names a FIFO that can't be made, instead of leaving it out silently", async () => {
    await using lab = new CapsuleLab("worktree");
    const store = await (await lab.create()).store();
    const root = lab.temp.join("root");
    const bin = lab.temp.join("bin");
    mkdirSync(root);
    mkdirSync(bin);
    const manifest = hostile([{ ...file("pipe"), kind: "fifo" }]);
    const path = process.env["PATH"];
    process.env["PATH"] = bin;
    try {
      const applied = () => applySnapshot(root, store, manifest, new Map());
      await expect(applied()).rejects.toMatchObject({ code: "program_missing" });
      writeFileSync(join(bin, "mkfifo"), "#!/bin/sh\necho 'not on this disk' >&2\nexit 1\n", { mode: 0o755 });
      await expect(applied()).rejects.toMatchObject({
        code: "file_unwritable",
        message: expect.stringContaining("not on this disk"),
      });
    } finally {
      process.env["PATH"] = path;
    }
    await applySnapshot(root, store, manifest, new Map());
    expect(readdirSync(root)).toEqual(["pipe"]);
  });

  it("snapshot-2 is refused with a duplicate path or one below a file, and never has git's paths as work", () => {
    const decoded = (...entries: SnapshotManifest["entries"]) =>
      decodeManifest(encodeManifest(hostile(entries))).entries.map(({ role }) => role);
    for (const kind of ["file", "symlink", "fifo"] as const)
      expect(() => decoded({ ...file("x"), kind }, file("x/y")), kind).toThrow(
        expect.objectContaining({ code: "snapshot_invalid" }),
      );
    expect(() => decoded(file("x"), file("x"))).toThrow(
      expect.objectContaining({ code: "snapshot_invalid" }),
    );
    expect(decoded({ ...file("x"), kind: "dir" }, file("x/y"))).toEqual(["work", "work"]);
    expect(decoded(file(".git/config"), file("sub/.GIT/config"), file("a/git~1"))).toEqual([
      "gitdir",
      "aside",
      "aside",
    ]);
  });

  it("is refused with a path that leads out, and keeps any other path unchanged through JSON", () => {
    for (const path of ["../x", "/etc/passwd", "a//b", "a/./b", "a/../b", "", "a\0b"]) {
      expect(() => decodePath(path), path).toThrow(expect.objectContaining({ code: "snapshot_invalid" }));
      const row = [path, "file", 0o644, 0, 0, "work"];
      const text = JSON.stringify({ ...JSON.parse(encodeManifest(hostile([])).toString()), entries: [row] });
      expect(() => decodeManifest(Buffer.from(text))).toThrow();
    }
    const name = fc
      .uint8Array({ minLength: 1, maxLength: 20 })
      .map((bytes) => Buffer.from(bytes).toString("latin1").replace(/[\0/]/g, "_"));
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (parts) => {
        fc.pre(parts.every((part) => part !== "." && part !== ".."));
        const path = parts.join("/");
        expect(decodePath(JSON.parse(JSON.stringify(encodePath(path))))).toBe(path);
        expect(storedPath(path).split("/").some(isGitLike)).toBe(false);
      }),
    );
    for (const name of [
      ".git",
      ".GIT",
      "git~1",
      ".git ",
      ".git.",
      ".g\u200cit",
      ".git::$INDEX_ALLOCATION",
      "a\\.git",
    ])
      expect(isGitLike(Buffer.from(name).toString("latin1")), name).toBe(true);
    for (const name of [".gitignore", "git", "x.git", ".github"]) expect(isGitLike(name), name).toBe(false);
  });
});
