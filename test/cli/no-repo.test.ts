/**
 * Sessions without a repo.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { runCliIn } from "../support/cli-in.ts";
import { TaskHome } from "../support/tasks.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const idIn = (text: string) => /sess_[0-9a-z]+/.exec(text)?.[0] ?? "";

describe("a session without a repo", () => {
  it("has an empty capsule; diff, restore, fork, rewind and hand-off work, and branch is refused", async () => {
    using home = new TaskHome();
    const cli = (...args: string[]) => runCliIn(home.path, home.dir, args);
    const refused = await cli("run", "--", "true");
    expect(refused).toMatchObject({ status: 2, stderr: /not_a_repo: .*holdfast run --no-repo needs none/ });
    const run = await cli("run", ...wall, "--no-repo", "--", "sh", "-c", "ls; mkdir d; echo one > d/f; pwd");
    expect(run).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\/.+\n$/) });
    expect(run.stderr).toContain("the work is kept in the session: it has no repo to publish to");
    expect(run.stderr).not.toContain("[review]");
    const id = idIn(run.stderr);
    expect((await cli("show", id)).stdout).toMatch(/^repo +no repo$/m);
    expect((await cli("diff", id, "--stat")).stdout).toBe("d/f\n");
    expect(await cli("branch", id)).toMatchObject({ status: 5, stderr: /no_repo: .*holdfast handoff/ });
    expect(await cli("branch", id, "--commits")).toMatchObject({ status: 5, stderr: /no_repo/ });

    const next = ["run", ...wall, "--session", id, "--cwd", "d", "--", "sh", "-c", "cat f; echo two > f"];
    expect(await cli(...next)).toMatchObject({ status: 0, stdout: "one\n" });
    expect(await cli("teardown", id)).toMatchObject({ status: 0 });
    expect(await cli("restore", id)).toMatchObject({ status: 0 });
    const fork = await cli("fork", id, "--at", "1");
    expect(fork.status).toBe(0);
    const ofFork = await cli("run", ...wall, "--session", fork.stdout.trim(), "--", "cat", "d/f");
    expect(ofFork).toMatchObject({ status: 0, stdout: "one\n" });
    expect(await cli("rewind", id, "--to", "1")).toMatchObject({ status: 0 });
    // Agents find their conversation by their working directory, so the next task has the same one.
    if (hasSandbox) expect((await cli("run", "--session", id, "--", "pwd")).stdout).toBe(run.stdout);
    expect(await cli("rewind", id, "--to", "1")).toMatchObject({ status: 0 });
    const given = home.join("given");
    expect(await cli("handoff", id, "--to", given)).toMatchObject({ status: 0 });
    expect(readFileSync(join(given, "d/f"), "utf8")).toBe("one\n");
    writeFileSync(join(given, "d/f"), "by hand\n");
    expect(await cli("handoff", id, "--return")).toMatchObject({ status: 0 });
    expect((await cli("run", ...wall, "--session", id, "--", "cat", "d/f")).stdout).toBe("by hand\n");
    expect(await cli("gc")).toMatchObject({ status: 0 });
    expect(await cli("audit", id, "--deep")).toMatchObject({ status: 0 });
  });

  it("can be exported with its files, imported, and used after its home was moved", async () => {
    using home = new TaskHome();
    const cli = (dir: string, ...args: string[]) => runCliIn(home.path, dir, args);
    const id = home.idOf((await cli(home.dir, "new")).stdout.trim());
    const run = await cli(home.dir, "run", ...wall, "--session", id, "--", "sh", "-c", "echo one > f");
    expect(run.status).toBe(0);
    const file = home.join("it.holdfast");
    expect(await cli(home.dir, "export", id, "-o", file)).toMatchObject({ status: 0 });
    const other = home.join("other");
    mkdirSync(other, { mode: 0o700 });
    const imported = await cli(other, "import", file);
    expect(imported).toMatchObject({
      status: 0,
      stdout: `${home.labelOf(id)} imported, paused, with its files\n`,
    });
    expect(existsSync(join(other, "sessions", id, "snapshots.pack"))).toBe(false);
    const moved = home.join("moved");
    renameSync(other, moved);
    const there = await cli(moved, "run", ...wall, "--session", id, "--", "cat", "f");
    expect(there).toMatchObject({ status: 0, stdout: "one\n" });
    expect(await cli(moved, "audit", id)).toMatchObject({ status: 0 });
  });

  it("an imported session whose repo is missing still needs that repo", async () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const cli = (dir: string, ...args: string[]) => runCliIn(home.path, dir, args);
    const run = await cli(home.dir, "run", ...wall, "--repo", home.main, "--", "true");
    const id = idIn(run.stderr);
    const file = home.join("it.holdfast");
    await cli(home.dir, "export", id, "-o", file);
    const other = home.join("other");
    mkdirSync(other, { mode: 0o700 });
    expect((await cli(other, "import", file)).stdout).toContain("set aside");
    expect((await cli(other, "show", id)).stdout).toContain("not on this machine: its files are set aside");
    expect(await cli(other, "run", "--session", id, "--", "true")).toMatchObject({
      status: 5,
      stderr: /no_repo/,
    });
  });
});
