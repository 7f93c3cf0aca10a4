/**
 * What a task sees of a checkout with uncommitted changes.
 */
import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { runCliIn } from "../support/cli-in.ts";
import { fingerprint, gitIn } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const idIn = (text: string) => /sess_[0-9a-z]+/.exec(text)?.[0] ?? "";

describe("a checkout with uncommitted changes", () => {
  it("is reported in one line, as is an uncommitted holdfast.yaml; a clean one is not mentioned", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "b.txt": "two\n", ".gitignore": "ignored\n" });
    const run = (...args: string[]) => runCliIn(home.main, home.dir, ["run", ...wall, ...args, "--", "true"]);
    const saysNothing = { status: 0, stderr: expect.not.stringContaining("the checkout has") };
    writeFileSync(join(home.main, "ignored"), "x");
    expect(await run()).toMatchObject(saysNothing);
    writeFileSync(join(home.main, "a.txt"), "changed\n");
    rmSync(join(home.main, "b.txt"));
    writeFileSync(join(home.main, "holdfast.yaml"), "capsule: {}\n");
    const before = fingerprint(home.main);
    const said = await run();
    expect(said.stderr).toContain(
      "[base]    the checkout has 2 changed and 1 untracked files that the task does not see; --dirty includes them\n" +
        "[base]    holdfast.yaml is not committed: the task uses the one of its base\n",
    );
    const id = idIn(said.stderr);
    const json = await run("--json", "--session", id, "--fresh");
    const stages = json.stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(stages).toContainEqual({
      stage: "base",
      unseen: { changed: 2, untracked: 1, named: ["holdfast.yaml"] },
    });
    const detached = await run("--json", "--detach");
    expect(JSON.parse(detached.stdout)).toMatchObject({ unseen: { changed: 2 } });
    await runCliIn(home.main, home.dir, ["pause", JSON.parse(detached.stdout).session]);
    // These do not begin with the checkout: one goes on with the session's files, the other was told its
    // base.
    expect(await run("--session", id)).toMatchObject(saysNothing);
    expect(await run("--base", "HEAD")).toMatchObject(saysNothing);
    expect(fingerprint(home.main)).toBe(before);
  });

  it("git-1 is examined without running filters or writing the index, and with the user's ignore rules", async () => {
    using home = new TaskHome({ "a.x": "one\n", ".gitattributes": "*.x filter=x\n" });
    const canary = home.join("canary");
    const user = home.join("user");
    mkdirSync(join(user, ".config/git"), { recursive: true });
    writeFileSync(join(user, ".config/git/ignore"), "*.swp\n");
    writeFileSync(join(home.main, "a.swp"), "x");
    gitIn(home.main, "config", "filter.x.clean", `touch ${canary}; cat`);
    gitIn(home.main, "config", "filter.x.required", "true");
    // Its times are new and its bytes are not, so git has to read it, and would run the filter.
    utimesSync(join(home.main, "a.x"), 1, 1);
    const before = fingerprint(home.main);
    const run = await runCliIn(home.main, home.dir, ["run", ...wall, "--", "true"], { HOME: user });
    expect(run.status).toBe(0);
    expect(run.stderr).not.toContain("the checkout has");
    expect(existsSync(canary)).toBe(false);
    expect(fingerprint(home.main)).toBe(before);
  });

  it("--dirty begins a task with the uncommitted files and their holdfast.yaml; diff leaves them out", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "b.txt": "two\n", ".gitignore": "ignored\n" });
    const run = (...args: string[]) => runCliIn(home.main, home.dir, ["run", ...wall, ...args]);
    const head = gitIn(home.main, "rev-parse", "HEAD");
    writeFileSync(join(home.main, "a.txt"), "changed\n");
    rmSync(join(home.main, "b.txt"));
    writeFileSync(join(home.main, "ignored"), "x");
    mkdirSync(join(home.main, "new"));
    writeFileSync(join(home.main, "new/untracked"), "new\n");
    writeFileSync(join(home.main, "holdfast.yaml"), "capsule: { ports: [MY_PORT] }\n");
    const before = fingerprint(home.main);
    const script = "cat a.txt new/untracked; ls b.txt ignored; git status --porcelain; echo work > w";
    const done = await run("--dirty", "--", "sh", "-c", script);
    expect(done).toMatchObject({ status: 0, stdout: "changed\nnew\n" });
    expect(done.stderr).toContain("MY_PORT=");
    expect(done.stderr).not.toContain("the checkout has");
    const id = idIn(done.stderr);
    expect((await runCliIn(home.main, home.dir, ["diff", id, "--stat"])).stdout).toBe("w\n");
    const branch = home.branchOf(id);
    expect(gitIn(home.main, "log", "--format=%s", `${head}..${branch}`)).toMatch(
      /^sh -c .*\nCheckout as it was, with uncommitted changes$/,
    );
    expect(gitIn(home.main, "diff", "--name-status", head, `${branch}~1`)).toBe(
      "M\ta.txt\nD\tb.txt\nA\tholdfast.yaml\nA\tnew/untracked",
    );
    expect(fingerprint(home.main)).toBe(before);

    // The session goes on with its own files, until it is told to begin with the checkout again.
    expect((await run("--session", id, "--", "cat", "a.txt", "w")).stdout).toBe("changed\nwork\n");
    writeFileSync(join(home.main, "a.txt"), "again\n");
    const anew = await run(
      "--session",
      id,
      "--dirty",
      "--cwd",
      "new",
      "--",
      "sh",
      "-c",
      "cat ../a.txt; ls ../w",
    );
    expect(anew).toMatchObject({ status: 1, stdout: "again\n" });
    expect(await run("--dirty", "--base", "HEAD", "--", "true")).toMatchObject({ status: 2 });
  });

  it("import of a --dirty session says which commit is missing, and works once the branch was pushed", async () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const clone = home.join("clone");
    gitIn(home.path, "clone", "-q", home.main, clone);
    writeFileSync(join(home.main, "a.txt"), "changed\n");
    const cli = (dir: string, ...args: string[]) => runCliIn(home.main, dir, args);
    const run = await cli(home.dir, "run", ...wall, "--dirty", "--", "sh", "-c", "echo work > w");
    const id = idIn(run.stderr);
    const file = home.join("it.holdfast");
    expect(await cli(home.dir, "export", id, "-o", file)).toMatchObject({ status: 0 });
    const other = home.join("other");
    const taken = () => cli(other, "import", file, "--repo", clone);
    expect(await taken()).toMatchObject({
      status: 4,
      stderr: /base_missing: .*push that commit, or the session's branch/,
    });
    gitIn(home.main, "push", "-q", clone, home.branchOf(id));
    expect(await taken()).toMatchObject({ status: 0 });
    const there = await cli(other, "run", ...wall, "--session", id, "--", "cat", "a.txt", "w");
    expect(there).toMatchObject({ status: 0, stdout: "changed\nwork\n" });
  });
});
