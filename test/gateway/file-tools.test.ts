/**
 * The built-in tools that read and write files, on a real capsule whose files an agent may change at any moment.
 */
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { putText } from "../../src/gateway/builtin/contents.ts";
import { reach } from "../../src/gateway/builtin/reach.ts";
import { hasSandbox } from "../support/capsules.ts";
import { ToolHome } from "../support/tools.ts";

const files = {
  "a.txt": "one\ntwo\nthree\n",
  "src/deep/b.ts": "const b = 1;\n",
  "run.sh": "#!/bin/sh\n",
};

const isRoot = process.getuid?.() === 0;

describe("the file tools", () => {
  let home: ToolHome;
  let root: string;
  let secret: string;

  beforeEach(async () => {
    home = new ToolHome(files);
    await home.begin();
    root = await home.root();
    secret = home.join("secret");
    writeFileSync(secret, "not for agents");
  });

  afterEach(async () => {
    await home.rest();
    home[Symbol.dispose]();
  });

  const inTask = (script: string) => home.call("run_command", { command: script });

  it("edit_file refuses a text whose occurrences overlap, and replaces them one after the other if it may", async () => {
    writeFileSync(join(root, "a.txt"), "}\n}\n}\n}\n");
    const edit = { path: "a.txt", old_text: "}\n}\n", new_text: "x\n" };
    expect(await home.call("edit_file", edit)).toMatchObject({
      outcome: "error",
      text: expect.stringContaining("occurs 3 times, in the lines 1, 2, 3"),
    });
    expect(await home.call("edit_file", { ...edit, replace_all: true })).toMatchObject({
      outcome: "ok",
      facts: { replacements: 2, lines: [1, 3] },
    });
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("x\nx\n");
  });

  it("read_file returns lines unchanged and says how to continue after a part", async () => {
    expect(await home.call("read_file", { path: "a.txt" })).toEqual({
      outcome: "ok",
      text: "one\ntwo\nthree\n",
      facts: { lines: 3, first_line: 1, last_line: 3, bytes: 14 },
    });
    const part = await home.call("read_file", { path: "a.txt", offset_lines: 1, max_lines: 1 });
    expect(part.text).toBe("two\n[lines 2 to 2 of 3; continue with offset_lines 2]\n");
    expect(await home.call("read_file", { path: "a.txt", offset_lines: 3 })).toMatchObject({
      outcome: "error",
      text: "a.txt: it has 3 lines, so none is left after offset_lines 3",
    });
    const directory = await home.task.workplace().directory();
    expect((await home.call("read_file", { path: join(directory, "a.txt") })).text).toBe("one\ntwo\nthree\n");
    writeFileSync(join(root, "empty"), "");
    expect(await home.call("read_file", { path: "empty" })).toMatchObject({ outcome: "ok", text: "" });
    writeFileSync(join(root, "no-end"), "x\r\ny");
    expect((await home.call("read_file", { path: "no-end" })).text).toBe("x\r\ny");
  });

  it("read_file names the reason when a path is not a readable text file", async () => {
    writeFileSync(join(root, "binary"), Buffer.from([1, 0, 2]));
    writeFileSync(join(root, "latin1"), Buffer.from([0x61, 0xe9]));
    writeFileSync(join(root, "huge"), Buffer.alloc(9 * 1024 * 1024, "a"));
    await inTask("mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'");
    const said = async (path: string) => {
      const { outcome, text } = await home.call("read_file", { path });
      expect(outcome).toBe("error");
      return text;
    };
    expect(await said("binary")).toBe("binary: it is a binary file of 3 bytes");
    expect(await said("latin1")).toBe("latin1: it is not UTF-8 text");
    expect(await said("huge")).toMatch(/^huge: it has 9437184 bytes, more than the 8388608 that can be read/);
    expect(await said("pipe")).toBe("pipe: it is a pipe, not a file with contents");
    if (existsSync(join(root, "sock"))) expect(await said("sock")).toMatch(/it is a socket/);
    expect(await said("src")).toBe("src: it is a directory, not a file with contents");
    expect(await said("none")).toBe("none: there is no such file");
    expect(await said("none/below")).toBe("none/below: there is no such file");
    expect(await said("a.txt/below")).toBe("a.txt/below: a.txt is not a directory");
    expect(await said("a\0b")).toMatch(/not a valid name of a file/);
    expect(await said("x".repeat(300))).toMatch(/the name is too long/);
    expect(await said("d/".repeat(300))).toMatch(/too deep/);
  });

  it("have closed input schemas, and read_file refuses arguments that break its schema", async () => {
    for (const [args, reason] of [
      [{}, /path/],
      [{ path: "a.txt", more: 1 }, /it has no more/],
      [{ path: "a.txt", max_lines: 0 }, /max_lines/],
      [{ path: "a.txt", max_lines: "3" }, /max_lines/],
      [{ path: 3 }, /path/],
    ] as const)
      expect(await home.call("read_file", args)).toMatchObject({
        outcome: "refused",
        text: expect.stringMatching(reason),
      });
    for (const { name, description, input } of home.tools) {
      expect(input, name).toMatchObject({ type: "object", additionalProperties: false });
      expect(description.length, name).toBeGreaterThan(30);
    }
  });

  it("reach-1 follow links inside the capsule and refuse links that lead out of it", async () => {
    const top = await home.task.workplace().directory();
    const link = (target: string, name: string) => symlinkSync(target, join(root, name));
    link("a.txt", "near");
    link("../../a.txt", "src/deep/up");
    link(join(top, "a.txt"), "absolute");
    link("src/deep", "dir");
    link(secret, "out");
    link("/", "top");
    link("../../../../../../../../etc", "etc");
    link("loop-b", "loop-a");
    link("loop-a", "loop-b");
    link("src/../../..", "sly");
    link("gone", "dangling");
    const read = (path: string) => home.call("read_file", { path });
    for (const path of ["near", "src/deep/up", "absolute", "dir/../../a.txt", "dir/up", "./src//../a.txt"])
      expect(await read(path), path).toMatchObject({ outcome: "ok", text: "one\ntwo\nthree\n" });
    expect((await read("dir/b.ts")).text).toBe("const b = 1;\n");
    for (const path of [
      "out",
      `top${secret}`,
      "etc/passwd",
      "sly/secret",
      "../secret",
      "/etc/passwd",
      secret,
    ])
      expect(await read(path), path).toMatchObject({
        outcome: "error",
        text: expect.stringContaining("leads out of the task's files"),
      });
    expect(await read("loop-a")).toMatchObject({
      outcome: "error",
      text: "loop-a: its links lead in a circle",
    });
    expect(await read("dangling")).toMatchObject({ outcome: "error" });
    for (const path of ["out", "etc/new", "sly/new", "../new"]) {
      expect(await home.call("write_file", { path, content: "x" }), path).toMatchObject({ outcome: "error" });
      expect(await home.call("edit_file", { path, old_text: "n", new_text: "m" })).toMatchObject({
        outcome: "error",
      });
    }
    expect(readFileSync(secret, "utf8")).toBe("not for agents");
    // A write through an inner link changes the link's target, and the link stays a link.
    expect(await home.call("write_file", { path: "near", content: "by link\n" })).toMatchObject({
      outcome: "ok",
    });
    expect(lstatSync(join(root, "near")).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("by link\n");
    expect(await home.call("write_file", { path: "dangling", content: "now" })).toMatchObject({
      outcome: "ok",
    });
    expect(readFileSync(join(root, "gone"), "utf8")).toBe("now");
  });

  it("reach-1 stay inside while a process keeps swapping a directory for a link that leads out", async () => {
    const outside = home.join("outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "file"), "not for agents");
    chmodSync(outside, 0o777);
    mkdirSync(join(root, "real"));
    writeFileSync(join(root, "real", "file"), "inside");
    symlinkSync(outside, join(root, "link"));
    execFileSync("chmod", ["-R", "a+rwX", join(root, "real")]);
    // It runs outside the sandbox, so that the link's target exists for whoever follows it.
    const swap = `const { renameSync } = require("node:fs"); process.chdir(process.argv[1]);
      process.stdout.write("r"); for (;;) { try { renameSync("real", "r"); renameSync("link", "real");
      renameSync("real", "link"); renameSync("r", "real"); } catch {} }`;
    const child = spawn(process.execPath, ["-e", swap, root], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      await new Promise((resolve) => child.stdout.once("data", resolve));
      const seen = new Set<string>();
      // If the other process gets no CPU for a while, it takes more rounds to meet both sides.
      for (let round = 0; round < 700 || (seen.size < 2 && round < 20_000); round += 1) {
        const read = await home.call("read_file", { path: "real/file" });
        seen.add(read.outcome === "ok" ? read.text : "refused");
        await home.call("write_file", { path: "real/file", content: "inside" });
        await home.call("edit_file", { path: "real/file", old_text: "inside", new_text: "inside " });
      }
      expect(
        [...seen].every((text) => /^(inside *|refused)$/.test(text)),
        [...seen].join("|"),
      ).toBe(true);
      expect(seen.size, "both sides of the swap were met").toBeGreaterThan(1);
    } finally {
      child.kill("SIGKILL");
    }
    expect(readdirSync(outside)).toEqual(["file"]);
    expect(readFileSync(join(outside, "file"), "utf8")).toBe("not for agents");
  });

  it("list_files lists to the requested depth, shows where links lead and stops at 2000 entries", async () => {
    symlinkSync("/etc", join(root, "etc"));
    writeFileSync(join(root, "two\nlines"), "");
    writeFileSync(join(root, ".hidden"), "");
    expect((await home.call("list_files")).text).toBe("a.txt\netc -> /etc\nrun.sh\nsrc/\ntwo\\nlines\n");
    expect((await home.call("list_files", { path: "src", depth: 2 })).text).toBe("deep/\ndeep/b.ts\n");
    const all = await home.call("list_files", { hidden: true, depth: 3 });
    expect(all.text.split("\n")).toEqual(expect.arrayContaining([".git/", ".hidden", "src/deep/b.ts"]));
    expect(all.text).not.toContain("HEAD");
    expect(await home.call("list_files", { path: "etc" })).toMatchObject({ outcome: "error" });
    expect(await home.call("list_files", { path: "a.txt" })).toMatchObject({ outcome: "error" });
    mkdirSync(join(root, "many"));
    for (let at = 0; at < 2100; at += 1) writeFileSync(join(root, "many", `${at}`), "");
    const many = await home.call("list_files", { path: "many" });
    expect(many.facts).toEqual({ entries: 2000, is_cut: true });
    expect(many.text).toMatch(/more entries than these 2000\]\n$/);
  });

  it("edit_file replaces exactly the given text, and changes nothing if the text is ambiguous", async () => {
    const edit = (old_text: string, new_text: string, more = {}) =>
      home.call("edit_file", { path: "a.txt", old_text, new_text, ...more });
    expect(await edit("two", "2")).toMatchObject({ outcome: "ok", facts: { replacements: 1, lines: [2] } });
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("one\n2\nthree\n");
    expect(await edit("e", "E")).toMatchObject({
      outcome: "error",
      text: expect.stringMatching(/3 times, in the lines 1, 3, 3; make it unique/),
    });
    expect(await edit("  three", "x")).toMatchObject({
      text: expect.stringMatching(/white space.*in line 3$/),
    });
    expect(await edit("none", "x")).toMatchObject({
      outcome: "error",
      text: "a.txt: old_text was not found",
    });
    expect(await edit("2", "2")).toMatchObject({ outcome: "error" });
    expect(await edit("2", "\ud800")).toMatchObject({ outcome: "error" });
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("one\n2\nthree\n");
    expect(await edit("e", "$&", { replace_all: true })).toMatchObject({ facts: { replacements: 3 } });
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("on$&\n2\nthr$&$&\n");
    writeFileSync(join(root, "wide"), "x".repeat(100_000));
    const blown = { path: "wide", old_text: "x", new_text: "y".repeat(100_000), replace_all: true };
    expect(await home.call("edit_file", blown)).toMatchObject({ outcome: "error" });
  });

  it("write_file creates directories, keeps permissions and gives its files to the task's user", async () => {
    chmodSync(join(root, "run.sh"), 0o750);
    expect(await home.call("write_file", { path: "run.sh", content: "#!/bin/sh\necho hi\n" })).toMatchObject({
      outcome: "ok",
      facts: { is_new: false },
    });
    expect(statSync(join(root, "run.sh")).mode & 0o777).toBe(0o750);
    const made = await home.call("write_file", { path: "new/way/down.txt", content: "é\n" });
    expect(made).toMatchObject({ outcome: "ok", facts: { is_new: true, bytes: 3 } });
    expect(statSync(join(root, "new/way/down.txt")).mode & 0o777).toBe(0o644);
    // The agent's own processes can work with all of these files.
    const { outcome } = await inTask(
      "./run.sh && echo more >> new/way/down.txt && rm -r new && touch run.sh",
    );
    expect(outcome).toBe("ok");
    if (isRoot && hasSandbox) {
      await home.call("write_file", { path: "owned/by/user", content: "" });
      for (const path of ["owned", "owned/by", "owned/by/user", "run.sh"])
        expect(statSync(join(root, path)).uid, path).not.toBe(0);
    }
    expect(readdirSync(root).filter((name) => name.startsWith(".holdfast"))).toEqual([]);
    chmodSync(join(root, "run.sh"), 0o444);
    expect(await home.call("write_file", { path: "run.sh", content: "" })).toMatchObject({
      text: "run.sh: its permissions make it read-only",
    });
    for (const path of ["src", "a.txt/b", "."])
      expect(await home.call("write_file", { path, content: "" }), path).toMatchObject({ outcome: "error" });
  });

  it("refuse to write git's own files", async () => {
    symlinkSync(".git", join(root, "g"));
    const before = readFileSync(join(root, ".git/config"), "utf8");
    for (const path of [
      ".git/config",
      "g/config",
      ".GIT/hooks/x",
      "src/.git/config",
      ".git/new/dir/x",
      "src/../.git/x",
    ])
      expect(await home.call("write_file", { path, content: "x" }), path).toMatchObject({
        outcome: "refused",
      });
    expect(await home.call("edit_file", { path: ".git/config", old_text: "[", new_text: "(" })).toMatchObject(
      {
        outcome: "refused",
      },
    );
    expect(readFileSync(join(root, ".git/config"), "utf8")).toBe(before);
    expect(existsSync(join(root, ".git/new"))).toBe(false);
    expect(await home.call("write_file", { path: ".gitignore", content: "x\n" })).toMatchObject({
      outcome: "ok",
    });
  });

  it("checkpoint-2 a tool's write makes the last checkpoint no longer current; a read does not", async () => {
    await home.task.checkpoint();
    await home.call("read_file", { path: "a.txt" });
    await home.call("list_files");
    expect(home.task.last.current).toBeDefined();
    await home.call("write_file", { path: "a.txt", content: "other\n" });
    expect(home.task.last.current).toBeUndefined();
    const { snapshot } = await home.task.checkpoint();
    expect(home.task.last.current?.snapshot.commit).toBe(snapshot.commit);
  });

  it("an edit fails rather than overwrite a change made since it read the file", async () => {
    const place = { root, top: root, start: "" };
    for (const change of [
      () => writeFileSync(join(root, "a.txt"), "theirs"),
      () => renameSync(join(root, "run.sh"), join(root, "a.txt")),
      () => rmSync(join(root, "a.txt")),
    ])
      reach(place, "a.txt", (found) => {
        change();
        expect(() => putText(found, "ours", undefined)).toThrow(
          "a.txt: it was changed meanwhile; read it again",
        );
      });
    expect(existsSync(join(root, "a.txt"))).toBe(false);
    expect(readdirSync(root).filter((name) => name.startsWith(".holdfast"))).toEqual([]);
  });
});

describe("a task that may only read", () => {
  it("is refused by write_file and edit_file themselves, and its files stay unchanged", async () => {
    using home = new ToolHome(files);
    await home.begin({ lane: "read-only" });
    const root = await home.root();
    expect(await home.call("read_file", { path: "a.txt" })).toMatchObject({ outcome: "ok" });
    for (const [name, args] of [
      ["write_file", { path: "a.txt", content: "x" }],
      ["write_file", { path: "new/x", content: "x" }],
      ["edit_file", { path: "a.txt", old_text: "one", new_text: "1" }],
    ] as const)
      expect(await home.call(name, args)).toMatchObject({
        outcome: "refused",
        text: "this task may only read its files",
      });
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe(files["a.txt"]);
    expect(existsSync(join(root, "new"))).toBe(false);
    await home.rest();
  });
});

describe("a task that starts in a subdirectory", () => {
  it("resolves relative paths from there and reaches all of its files", async () => {
    using home = new ToolHome(files);
    await home.begin({ cwd: "src" });
    expect((await home.call("read_file", { path: "deep/b.ts" })).text).toBe("const b = 1;\n");
    expect((await home.call("read_file", { path: "../a.txt" })).outcome).toBe("ok");
    expect((await home.call("list_files")).text).toBe("deep/\n");
    expect((await home.call("run_command", { command: "basename $PWD" })).text).toBe("src\n");
    expect((await home.call("run_command", { command: "basename $PWD", cwd: "deep" })).text).toBe("deep\n");
    await home.rest();
  });
});
