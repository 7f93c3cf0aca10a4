/**
 * What a person looks at while agents work: `ls`, `show`, `diff`, `open` and `shell`.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { runCliIn } from "../support/cli-in.ts";
import { HostHome, script, until } from "../support/hosts.ts";
import { isDone } from "../support/outcomes.ts";
import { commitFiles, gitIn, makeRepo } from "../support/repo.ts";
import { hasScript, Terminal } from "../support/terminal.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];

/** A command that writes, and then waits for a file of its capsule. */
const WAITING =
  "echo begun >> a.txt; echo new > b.txt; until [ -e stop ]; do sleep 0.05; done; echo over >> a.txt";

async function written(home: HostHome, id: string): Promise<void> {
  await until(
    async () => (await home.cli("diff", id, "--stat")).stdout,
    (paths) => paths.includes("b.txt"),
  );
}

describe("holdfast diff", () => {
  it("of a running task shows its changes so far, and records nothing", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin(
      { repo: home.main, title: "look on" },
      script(`${WAITING}; rm stop`),
    );
    await until(
      () => dispatcher.show(id),
      ({ status }) => status === "running",
    );
    await written(home, id);
    const { records } = await dispatcher.show(id);
    const soFar = await home.cli("diff", id);
    expect(soFar).toMatchObject({
      status: 0,
      stderr: "look-on is still working: this is what it has changed so far\n",
    });
    expect(soFar.stdout).toContain("+begun");
    expect(soFar.stdout).not.toContain("+over");
    expect((await dispatcher.show(id)).records).toBe(records);
    // The task still runs, so it can be interrupted.
    await dispatcher.interrupt(id);
    await until(
      () => dispatcher.show(id),
      ({ task }) => task?.outcome === "cancelled",
    );
    expect((await home.cli("diff", id)).stderr).toBe("");
  });

  it("takes SESSION/1 for an earlier task, --all for the whole session, or two sessions of one repo", async () => {
    using home = new HostHome();
    const run = (...args: string[]) => home.cli("run", ...wall, "--repo", home.main, ...args);
    await run("--name", "first", "--", "sh", "-c", "echo two >> a.txt");
    await home.cli("run", ...wall, "--session", "first", "--", "sh", "-c", "echo three > c.txt");
    await run("--name", "second", "--", "sh", "-c", "echo other > c.txt");
    const stat = async (...args: string[]) => (await home.cli("diff", ...args, "--stat")).stdout;
    expect(await stat("first")).toBe("c.txt\n");
    expect(await stat("first/1")).toBe("a.txt\n");
    expect(await stat("first", "--all")).toBe("a.txt\nc.txt\n");
    const between = (await home.cli("diff", "first", "second")).stdout;
    expect(between).toContain("-three\n+other");
    expect(between).toContain("-two");
    const all = (await home.cli("diff", "first", "--all")).stdout;
    execFileSync("git", ["apply", "--check"], { cwd: home.main, input: all });
    expect(await home.cli("diff", "first/3")).toMatchObject({ status: 4 });
    expect(await home.cli("diff", "first", "second", "--all")).toMatchObject({ status: 2 });
    const other = makeRepo(home.join("other"));
    await home.cli("run", ...wall, "--repo", other, "--name", "elsewhere", "--", "sh", "-c", "echo x > x");
    expect(await home.cli("diff", "first", "elsewhere")).toMatchObject({ status: 2 });
  });
});

describe("holdfast ls and show", () => {
  it("show standing, repo, branch, lane and files; ls filters by repo and standing, --watch updates", async () => {
    using home = new HostHome();
    const other = makeRepo(home.join("other"));
    await home.cli("run", ...wall, "--repo", home.main, "--name", "good", "--", "sh", "-c", "echo x > x");
    await home.cli("run", ...wall, "--repo", other, "--name", "bad", "--", "sh", "-c", "exit 3");
    await home.cli("new", "--repo", home.main, "--name", "idle");
    const rows = async (...args: string[]) =>
      (await home.cli("ls", ...args)).stdout
        .trim()
        .split("\n")
        .slice(1)
        .map((row) => row.split(/ {2,}/).slice(0, 6));
    expect(await rows()).toEqual([
      ["good", "done", "main", "holdfast/good", "repo-fix", "1"],
      ["bad", "failed", "other", "-", "repo-fix", "0"],
      ["idle", "new", "main", "-", "-", "-"],
    ]);
    expect((await rows("--repo", other)).map(([name]) => name)).toEqual(["bad"]);
    expect((await rows("--standing", "done,new")).map(([name]) => name)).toEqual(["good", "idle"]);
    expect(await home.cli("ls", "--standing", "nonsense")).toMatchObject({ status: 2 });
    const bad = (await home.cli("show", "bad")).stdout;
    expect(bad).toMatch(/^name {6}bad\nsession {3}sess_\w+\nstatus {4}failed$/m);
    expect(bad).toMatch(/^command {3}sh -c 'exit 3'\ntask {6}1, failed, exit 3, /m);
    expect(bad).toMatch(
      /^files {5}0 files changed, \+0 -0\nartifacts .*trace\.json in .*\ndisk .*\nnext {6}holdfast output bad\n {10}holdfast retry bad$/m,
    );
    expect((await home.cli("show", "good")).stdout).toMatch(
      /^next +holdfast diff good\n +holdfast merge good$/m,
    );
    expect(JSON.parse((await runCliIn(home.main, home.dir, ["show", "@", "--json"])).stdout)).toMatchObject({
      standing: "new",
    });

    const watching = home.spawnCli(["ls", "--watch", "--json"]);
    const seen: string[] = [];
    watching.stdout.on("data", (chunk) => seen.push(...String(chunk).split("\n").filter(Boolean)));
    await until(
      () => seen,
      (lines) => lines.length > 0,
    );
    await home.cli("close", "idle");
    await until(
      () => seen.at(-1) ?? "",
      (line) => !line.includes('"name":"idle"'),
    );
    watching.kill("SIGINT");
  });
});

describe("holdfast open", () => {
  it("prints the path of the live files, or of a hand-off if the live files have no path", async () => {
    using home = new HostHome({ "a.txt": "one\n", "holdfast.yaml": "capsule:\n  strategy: worktree\n" });
    await home.cli("run", ...wall, "--repo", home.main, "--name", "plain", "--", "sh", "-c", "echo x > x");
    const live = (await home.cli("open", "plain")).stdout.trim();
    expect(readFileSync(join(live, "x"), "utf8")).toBe("x\n");
    // What a person changes there is seen by the next task, and becomes part of its commit.
    writeFileSync(join(live, "by-hand"), "mine\n");
    await home.cli("run", ...wall, "--session", "plain", "--", "true");
    expect(gitIn(home.main, "show", "holdfast/plain:by-hand")).toBe("mine");
    if (!hasSandbox) return;
    const other = makeRepo(home.join("other"), { "a.txt": "one\n" });
    commitFiles(other, { "holdfast.yaml": "capsule:\n  strategy: overlay\n" }, "overlay");
    await home.cli("run", "--repo", other, "--name", "mounted", "--", "sh", "-c", "echo x > x");
    const opened = await home.cli("open", "mounted");
    if (opened.status !== 0) return console.log("left out: no overlay here");
    expect(opened.stderr).toContain("holdfast handoff mounted --return");
    expect(existsSync(join(opened.stdout.trim(), "x"))).toBe(true);
    expect((await home.cli("open", "mounted")).stdout).toBe(opened.stdout);
    await home.cli("handoff", "mounted", "--return");
  });
});

describe.skipIf(!hasScript)("holdfast shell", () => {
  it("shell-1 runs in the capsule of the running command, and ends before the checkpoint keeps its changes", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main, title: "beside" }, script(WAITING));
    await written(home, id);
    expect(await home.cli("shell", id)).toMatchObject({
      status: 5,
      stderr: expect.stringContaining("terminal_missing"),
    });
    await using terminal = new Terminal(home, ["shell", "beside", "--", "sh"]);
    terminal.type("cat b.txt; pwd; ls ~/.. | head -3; echo $HOLDFAST_SESSION | tail -c 5\r");
    await terminal.shows(id.slice(-4));
    expect(terminal.screen).toContain("new");
    if (hasSandbox) expect(terminal.screen).toContain(home.main);
    terminal.type(
      "echo by-shell > shell.txt; (trap '' HUP TERM; while :; do date > late.txt; done) & touch stop\r",
    );
    await terminal.shows("the shell in beside has ended");
    await until(
      () => dispatcher.show(id),
      ({ task }) => isDone(task),
    );
    expect(gitIn(home.main, "show", "holdfast/beside:shell.txt")).toBe("by-shell");
    const committed = gitIn(home.main, "show", "holdfast/beside:late.txt");
    await until(
      () => dispatcher.show(id),
      ({ status }) => status === "paused",
    );
    // The files are those of the checkpoint: nothing was written after it.
    await dispatcher.submit(id, script("cat late.txt > seen.txt"));
    await until(
      () => dispatcher.show(id),
      ({ task }) => task?.number === 2 && isDone(task),
    );
    expect(gitIn(home.main, "show", "holdfast/beside:seen.txt")).toBe(committed);
    expect((await home.cli("log", id)).stdout).toContain("shell opened by user:");
    await using late = new Terminal(home, ["shell", "beside"]);
    await late.shows("not_running");
  });
});
