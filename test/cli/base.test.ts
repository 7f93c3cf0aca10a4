/**
 * The base of a task: how `--base`, and `base` in holdfast.yaml, name the commit.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { runCliIn } from "../support/cli-in.ts";
import { commitFiles, gitIn, makeRepo } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const idIn = (text: string) => /sess_[0-9a-z]+/.exec(text)?.[0] ?? "";

/** A clone, and its remote with a later commit that was not fetched. */
function cloned(home: TaskHome): { origin: string; clone: string } {
  const origin = makeRepo(home.join("origin"), { "a.txt": "first\n" });
  gitIn(origin, "tag", "v1");
  commitFiles(origin, { "a.txt": "main\n" }, "the second");
  gitIn(origin, "checkout", "-q", "-b", "feature/x");
  commitFiles(origin, { "a.txt": "feature\n" }, "a feature");
  gitIn(origin, "checkout", "-q", "main");
  const clone = home.join("clone");
  gitIn(home.path, "clone", "-q", origin, clone);
  for (const [key, value] of Object.entries({ name: "Ani", email: "ani@example.org" }))
    gitIn(clone, "config", `user.${key}`, value);
  commitFiles(clone, { "a.txt": "local\n" }, "a commit of the clone");
  commitFiles(origin, { "a.txt": "moved on\n" }, "not fetched");
  return { origin, clone };
}

describe("the base of a task", () => {
  it("--base accepts remote branches, tags, full ref names and HEAD~N, and never fetches", async () => {
    using home = new TaskHome();
    const { clone } = cloned(home);
    const run = (base: string) =>
      runCliIn(clone, home.dir, ["run", ...wall, "--base", base, "--", "cat", "a.txt"]);
    const linked = home.join("linked");
    gitIn(clone, "worktree", "add", "-q", "--detach", linked, "origin/feature/x");
    const names = { "origin/main": "main", "origin/feature/x": "feature", "HEAD~2": "first", v1: "first" };
    for (const [base, content] of Object.entries({ ...names, "refs/remotes/origin/main": "main" }))
      expect(await run(base), base).toMatchObject({ status: 0, stdout: `${content}\n` });
    // HEAD is that of the worktree that the person is in.
    const there = await runCliIn(linked, home.dir, [
      "run",
      ...wall,
      "--base",
      "HEAD~1",
      "--",
      "cat",
      "a.txt",
    ]);
    expect(there).toMatchObject({ status: 0, stdout: "main\n" });
    const alike = await run("feature/x");
    expect(alike).toMatchObject({
      status: 4,
      stderr: /no commit feature\/x in .*; there is origin\/feature\/x/,
    });
    expect((await run("origin/new")).stderr).toContain("git fetch origin may bring it");
  });

  it("a new session and --fresh begin with the base that the holdfast.yaml of HEAD names", async () => {
    using home = new TaskHome();
    const { clone } = cloned(home);
    commitFiles(clone, { "holdfast.yaml": "base: origin/main\ncapsule: { ports: [OF_HEAD] }\n" }, "config");
    const run = (...args: string[]) => runCliIn(clone, home.dir, ["run", ...wall, ...args]);
    writeFileSync(join(clone, "a.txt"), "uncommitted\n");
    const first = await run("--", "sh", "-c", "cat a.txt; echo work > a.txt");
    expect(first).toMatchObject({ status: 0, stdout: "main\n" });
    // All other settings are those of the base. Uncommitted changes of the checkout are reported all the
    // same.
    expect(first.stderr).not.toContain("OF_HEAD");
    expect(first.stderr).toContain("the checkout has 1 changed file that the task does not see");
    const id = idIn(first.stderr);
    expect((await run("--session", id, "--", "cat", "a.txt")).stdout).toBe("work\n");
    expect((await run("--session", id, "--fresh", "--", "cat", "a.txt")).stdout).toBe("main\n");
    expect((await run("--dirty", "--", "cat", "a.txt")).stdout).toBe("uncommitted\n");
    expect((await run("--base", "HEAD", "--", "cat", "a.txt")).stdout).toBe("local\n");
    commitFiles(clone, { "holdfast.yaml": "base: origin/gone\n" }, "a base that is not there");
    const missing = await run("--", "true");
    expect(missing).toMatchObject({ status: 4, stderr: /base_missing: .* no commit origin\/gone/ });
  });
});
