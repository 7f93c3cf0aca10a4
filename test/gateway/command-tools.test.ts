/**
 * The built-in tools that run commands in the sandbox of a real task, and those that send text to someone.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sha256Hex } from "../../src/util/index.ts";
import { markedCommands } from "../support/marked.ts";
import { ToolHome } from "../support/tools.ts";

const files = {
  "a.txt": "needle one\ntwo\n",
  "src/b.ts": "const needle = /n.edle/;\n",
  ".gitignore": "ignored\n",
};

describe("the tools that run commands", () => {
  let home: ToolHome;
  let root: string;

  beforeEach(async () => {
    home = new ToolHome(files);
    await home.begin({ answer: "yes" });
    root = await home.root();
  });

  afterEach(async () => {
    await home.rest();
    home[Symbol.dispose]();
  });

  const run = (command: string, more = {}) => home.call("run_command", { command, ...more });

  it("run_command returns both output streams and the exit status, and reports a failed command as an error", async () => {
    expect(await run("echo out; echo err >&2")).toEqual({
      outcome: "ok",
      text: "out\nerr\n",
      facts: { exit_code: 0, signal: null, timed_out: false },
    });
    expect(await run("printf x; exit 3")).toEqual({
      outcome: "error",
      text: "x\n[exit status 3]\n",
      facts: { exit_code: 3, signal: null, timed_out: false },
    });
    expect(await run("cat")).toMatchObject({ outcome: "ok", text: "" });
    expect(await run("true", { cwd: "none" })).toMatchObject({ text: "none: there is no such directory" });
    expect(await run("true", { cwd: "/etc" })).toMatchObject({ outcome: "error" });
    expect(await run("a\0b")).toMatchObject({ outcome: "error" });
  });

  it("run_command ends every process of a command that times out or whose call is cancelled", async () => {
    const slow = await run("echo begun; (sleep 1000 & sleep 1000); echo never", { timeout_seconds: 0.5 });
    expect(slow).toMatchObject({ outcome: "error", facts: { timed_out: true } });
    expect(slow.text).toBe("begun\n[it was ended after 0.5 s]\n");
    const back = new AbortController();
    const call = home.call("run_command", { command: "echo begun; sleep 1001" }, back.signal);
    await sleep(300);
    back.abort();
    expect(await call).toMatchObject({ outcome: "error", text: expect.stringMatching(/cancelled\]\n$/) });
    expect(await home.call("run_command", { command: "touch began" }, back.signal)).toMatchObject({
      outcome: "refused",
    });
    expect(markedCommands(home).filter((line) => /sleep 1\d{3}/.test(line))).toEqual([]);
  });

  it("run_command keeps the beginning and the end of very long output", async () => {
    const { text } = await run("echo first; yes | head -c 6000000; echo last");
    expect(text.startsWith("first\ny\n")).toBe(true);
    expect(text).toMatch(/\[… \d+ bytes were not kept …\]/);
    expect(text.endsWith("last\n")).toBe(true);
    expect(text.length).toBeLessThan(2.2 * 1024 * 1024);
  });

  it("commands-1 a background command is read and ended by its handle, and ends with its task", async () => {
    const script = "echo begun; while [ ! -e stop ]; do sleep 0.05; done; echo over; exit 4";
    const { facts } = await run(script, { background: true });
    expect(facts).toEqual({ handle: "command-1" });
    const read = (handle: string, more = {}) => home.call("read_blob", { handle, ...more });
    await expect.poll(async () => (await read("command-1")).text).toBe("begun\n");
    expect((await read("command-1")).facts).toMatchObject({
      is_running: true,
      exit_code: null,
      next_offset: 6,
    });
    await run("touch stop");
    await expect.poll(async () => (await read("command-1")).facts).toMatchObject({ is_running: false });
    expect(await read("command-1", { offset: 6 })).toMatchObject({
      text: "over\n",
      facts: { exit_code: 4, total_bytes: 11, offset: 6, next_offset: 11 },
    });
    await run("sleep 1002", { background: true });
    expect(await home.call("end_command", { handle: "command-2" })).toMatchObject({
      outcome: "ok",
      facts: { is_running: false },
    });
    expect(await home.call("end_command", { handle: "command-9" })).toMatchObject({ outcome: "error" });
    await run("sleep 1003", { background: true });
    expect(markedCommands(home).some((line) => line.includes("sleep 1003"))).toBe(true);
    await home.endTools();
    expect(markedCommands(home).filter((line) => /sleep 1\d{3}/.test(line))).toEqual([]);
  });

  it("checkpoint-2 no checkpoint is current while a background command runs", async () => {
    await run("sleep 1004", { background: true });
    await home.task.checkpoint();
    expect(home.task.last.current).toBeUndefined();
    await home.call("end_command", { handle: "command-1" });
    await home.task.checkpoint();
    expect(home.task.last.current).toBeDefined();
  });

  it("search_code finds text and regular expressions below a path, up to max_results", async () => {
    writeFileSync(join(root, "new.txt"), "a new needle\n");
    writeFileSync(join(root, "ignored"), "needle\n");
    mkdirSync(join(root, ".hidden"));
    writeFileSync(join(root, ".hidden", "file"), "a hidden needle\n");
    writeFileSync(join(root, ".git", "needle"), "needle\n");
    const search = (pattern: string, more = {}) => home.call("search_code", { pattern, ...more });
    expect((await search("needle")).text.trimEnd().split("\n").sort()).toEqual([
      ".hidden/file:1:a hidden needle",
      "a.txt:1:needle one",
      "new.txt:1:a new needle",
      "src/b.ts:1:const needle = /n.edle/;",
    ]);
    expect((await search("n.edle")).text).toBe("src/b.ts:1:const needle = /n.edle/;\n");
    expect((await search("^t.o$", { is_regex: true })).text).toBe("a.txt:2:two\n");
    expect((await search("needle", { path: "src" })).text).toBe("src/b.ts:1:const needle = /n.edle/;\n");
    expect(await search("needle", { max_results: 1 })).toMatchObject({
      outcome: "ok",
      facts: { results: 1, is_cut: true },
    });
    expect((await search("--version")).text).toBe("[nothing was found]\n");
    expect((await search("$(touch x)")).text).toBe("[nothing was found]\n");
    expect(await search("(", { is_regex: true })).toMatchObject({ outcome: "error" });
    expect(await search("needle", { path: "../.." })).toMatchObject({ outcome: "error" });
    expect(await search("needle", { path: "--help" })).toMatchObject({ outcome: "error" });
    expect(await search("x\ny")).toMatchObject({ outcome: "error" });
  });

  it("git_diff, git_commit and git_log work on the capsule's own repository", async () => {
    expect((await home.call("git_diff")).text).toBe("[nothing differs]\n");
    await home.call("edit_file", { path: "a.txt", old_text: "two", new_text: "2" });
    await home.call("write_file", { path: "src/new.ts", content: "" });
    const { text } = await home.call("git_diff");
    expect(text).toContain("-two\n+2\n");
    expect(text).toMatch(/Not in git yet, so not in this diff:\nsrc\/new.ts\n$/);
    expect((await home.call("git_diff", { path: "src" })).text).not.toContain("+2");
    const message = 'Say "2" $(touch x)\n\nBecause.';
    expect(await home.call("git_commit", { message })).toMatchObject({
      outcome: "ok",
      text: expect.stringMatching(/^[0-9a-f]+ Say "2" \$\(touch x\)\n$/),
    });
    expect((await home.call("git_diff", { against: "head" })).text).toBe("[nothing differs]\n");
    expect((await home.call("git_diff", { against: "base" })).text).toContain("+2\n");
    const log = (await home.call("git_log", { max: 1 })).text;
    expect(log).toMatch(/^[0-9a-f]+ \d{4}-\d\d-\d\d .*: Say "2"/);
    expect((await home.call("git_log")).text.trimEnd().split("\n")).toHaveLength(2);
    expect(await home.call("git_commit", { message: "again" })).toMatchObject({ outcome: "error" });
    // The tools that only read must not start programs that the agent's git config names.
    await run(
      "git config diff.external 'touch ran #'; git config core.fsmonitor 'touch ran #'; echo 3 >> a.txt",
    );
    await home.call("git_diff");
    await home.call("git_log");
    expect((await run("ls ran")).outcome).toBe("error");
  });

  it("read_blob reads a session's blob in parts of whole characters, and fails if the blob is damaged or unknown", async () => {
    const content = `${"é".repeat(5000)}end`;
    const sha256 = sha256Hex(content);
    writeFileSync(home.sessionDir(home.session.id, "blobs", sha256), content);
    const read = (more = {}) => home.call("read_blob", { handle: sha256, ...more });
    const part = await read({ length: 5 });
    expect(part).toMatchObject({ text: "éé", facts: { next_offset: 4, total_bytes: 10_003 } });
    expect((await read({ offset: 10_000 })).text).toBe("end");
    expect((await read({ offset: 99_999 })).text).toBe("");
    let whole = "";
    for (let offset = 0; offset < 10_003; ) {
      const { text, facts } = await read({ offset, length: 999 });
      whole += text;
      offset = Number(facts?.["next_offset"]);
    }
    expect(whole).toBe(content);
    writeFileSync(home.sessionDir(home.session.id, "blobs", sha256), "other bytes");
    for (const handle of [sha256, "0".repeat(64), "../../token", "x"])
      expect(await home.call("read_blob", { handle })).toMatchObject({ outcome: "error" });
  });

  it("send_message, ask_person and note pass text to a session, a person and the task's notes", async () => {
    expect(await home.call("send_message", { to: "other", text: "hello" })).toMatchObject({
      outcome: "ok",
      facts: { message: "msg_1" },
    });
    expect(home.sent).toEqual([["other", "hello"]]);
    expect(await home.call("ask_person", { question: "May I?", take_over: true })).toMatchObject({
      outcome: "ok",
      text: "yes",
    });
    expect(home.asked).toEqual([{ text: "May I?", isTakeOver: true }]);
    await home.call("note", { text: "first\n" });
    expect(await home.call("note", { text: "## second" })).toMatchObject({ outcome: "ok" });
    const notes = home.sessionDir(home.session.id, "tasks", "1", "scratch.md");
    expect(readFileSync(notes, "utf8")).toBe("first\n\n## second\n\n");
    await home.call("note", { text: "token ghp_16C7e42F292c6912E7710c838347Ae178B4a" });
    expect(readFileSync(notes, "utf8")).not.toContain("ghp_16C7");
    writeFileSync(notes, "x".repeat(1024 * 1024));
    expect(await home.call("note", { text: "more" })).toMatchObject({ outcome: "error" });
    expect((await run("git status --porcelain")).text, "notes are none of the task's files").toBe("");
  });
});

describe("a task that may only read", () => {
  it("can still search its files and read its git history", async () => {
    using home = new ToolHome(files);
    await home.begin({ lane: "read-only" });
    expect((await home.call("search_code", { pattern: "two" })).text).toBe("a.txt:2:two\n");
    expect((await home.call("git_diff")).text).toBe("[nothing differs]\n");
    expect((await home.call("git_log")).outcome).toBe("ok");
    expect(await home.call("ask_person", { question: "x" })).toMatchObject({
      outcome: "error",
      facts: { is_answered: false },
    });
    await home.rest();
  });
});
