/**
 * The verbs for tasks, as a user calls them.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { cliPath, runCli } from "../support/cli.ts";
import { commitFiles, fingerprint, gitIn } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const idIn = (text: string) => /sess_[0-9a-z]+/.exec(text)?.[0] ?? "";

describe("holdfast new", () => {
  it("opens a session of the repo that it is called in, and elsewhere a session without a repo", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "sub/b.txt": "two\n" });
    const open = (cwd: string, ...args: string[]) =>
      execFileSync(process.execPath, [cliPath, "new", ...args], {
        cwd,
        encoding: "utf8",
        env: { ...process.env, HOLDFAST_HOME: home.dir },
      }).trim();
    const id = open(join(home.main, "sub"));
    const run = await runCli(home.dir, ["run", "--session", id, ...wall, "--", "cat", "a.txt"]);
    expect(run).toMatchObject({ status: 0, stdout: "one\n" });
    const show = async (one: string) => JSON.parse((await runCli(home.dir, ["show", one, "--json"])).stdout);
    expect((await show(open(home.path))).repo).toBeNull();
    const named = await runCli(home.dir, ["new", "--repo", home.path]);
    expect(named).toMatchObject({ status: 2, stderr: expect.stringContaining("not_a_repo") });
  });
});

describe("holdfast run", () => {
  it("runs a command in a capsule, reports each stage, and publishes the work as a branch", async () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const before = fingerprint(home.main);
    const run = await runCli(home.dir, [
      "run",
      ...wall,
      "--repo",
      home.main,
      "--",
      "sh",
      "-c",
      "echo said; echo two >> a.txt",
    ]);
    expect(run).toMatchObject({ status: 0, stdout: "said\n" });
    const id = idIn(run.stderr);
    expect(run.stderr).toMatch(
      /^\[session\] echo-said sess_\w+\n(?:\w.*\n)*\[router\] {2}session=echo-said task=1 scope=user:\w+ lane=repo-fix\n\[capsule\] \w+ base=[0-9a-f]{12} ready in \d+ ms\n/,
    );
    expect(run.stderr).toContain(`branch ${home.branchOf(id)}`);
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:a.txt`)).toBe("one\ntwo");
    expect(fingerprint(home.main)).toBe(before);

    expect((await runCli(home.dir, ["diff", id, "--stat"])).stdout).toBe("a.txt\n");
    const { stdout: patch } = await runCli(home.dir, ["diff", id]);
    execFileSync("git", ["apply", "--check"], { cwd: home.main, input: patch });
    expect(JSON.parse((await runCli(home.dir, ["diff", id, "--json"])).stdout)).toMatchObject({
      session: id,
      files: 1,
      patch,
    });
    expect((await runCli(home.dir, ["show", id])).stdout).toContain(
      `task      1, unverified, exit 0, capsule there, checkpoint of turn 1, published as ${home.branchOf(id)}`,
    );

    const torn = await runCli(home.dir, ["teardown", id]);
    expect(torn.stdout).toContain(`undo       holdfast restore ${home.labelOf(id)}`);
    expect((await runCli(home.dir, ["teardown", id])).stderr).toContain("holdfast: no_capsule:");
    expect((await runCli(home.dir, ["restore", id])).stdout).toContain("restored the files");
    expect(await runCli(home.dir, ["restore", id])).toMatchObject({
      status: 5,
      stderr: expect.stringContaining("capsule_exists"),
    });

    const again = await runCli(home.dir, ["run", ...wall, "--session", id, "--json", "--", "cat", "a.txt"]);
    const lines = again.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ stage }) => stage).filter((stage) => stage !== "progress")).toEqual([
      "session",
      "router",
      "capsule",
      ...(hasSandbox ? [] : ["sandbox"]),
      "output",
      "agent",
      "persist",
    ]);
    expect(lines.find(({ stage }) => stage === "output").text).toBe("one\ntwo\n");
    expect((await runCli(home.dir, ["audit", id])).status).toBe(0);
  });

  it("exits with 1 if the command fails, and keeps its work unpublished; teardown --failed finds it", async () => {
    using home = new TaskHome();
    const run = await runCli(home.dir, [
      "run",
      ...wall,
      "--repo",
      home.main,
      "--",
      "sh",
      "-c",
      "echo half > half; exit 7",
    ]);
    expect(run).toMatchObject({ status: 1 });
    expect(run.stderr).toContain("exit 7, 1 file changed");
    expect(gitIn(home.main, "branch", "--list", "holdfast/*")).toBe("");
    const id = idIn(run.stderr);
    expect((await runCli(home.dir, ["diff", id, "--stat"])).stdout).toBe("half\n");
    await runCli(home.dir, ["close", id]);
    // A closed session is left as it is.
    expect((await runCli(home.dir, ["teardown", "--failed"])).stdout).toContain(
      "no failed task has a capsule",
    );
    await runCli(home.dir, ["resume", id]);
    expect((await runCli(home.dir, ["teardown", "--failed"])).stdout).toContain(
      `${home.labelOf(id)} task 1: capsule torn down`,
    );
    expect((await runCli(home.dir, ["teardown", "--failed"])).stdout).toContain(
      "no failed task has a capsule",
    );
    expect((await runCli(home.dir, ["teardown"])).status).toBe(2);
    const missing = await runCli(home.dir, [
      "run",
      "--no-sandbox",
      "--repo",
      home.main,
      "--",
      "no-such-program",
    ]);
    expect(missing.status).toBe(1);
  });

  it("refuses what can't be run with a code and a way out, and leaves nothing behind", async () => {
    using home = new TaskHome();
    mkdirSync(home.join("plain"));
    const refused = await runCli(home.dir, ["run", "--repo", home.join("plain"), "--", "true"]);
    expect(refused).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/^holdfast: not_a_repo: .* \(run it in a git repo/),
    });
    mkdirSync(home.join("bin"));
    for (const name of ["git", "sh"]) {
      const path = execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
      symlinkSync(path, home.join("bin", name));
    }
    const bare = await runCli(home.dir, ["run", "--repo", home.main, "--", "true"], {
      PATH: home.join("bin"),
    });
    expect(bare).toMatchObject({
      status: 5,
      stderr: expect.stringMatching(/sandbox_missing: .*apt install bubblewrap/),
    });
    commitFiles(
      home.main,
      { "holdfast.yaml": "capsule:\n  setup: echo why; exit 4\n" },
      "a set-up that fails",
    );
    const setup = await runCli(home.dir, ["run", ...wall, "--repo", home.main, "--", "true"]);
    expect(setup).toMatchObject({ status: 1, stderr: expect.stringContaining("setup_failed") });
    expect(setup.stderr).toContain("why");
    expect(existsSync(join(home.dir, "leases")) ? readdirSync(join(home.dir, "leases")) : []).toEqual([]);
    expect((await runCli(home.dir, ["doctor"])).stdout).not.toContain("left over");
  });

  it("ends the command at Ctrl-C, keeps what it did, and exits with 130", async () => {
    using home = new TaskHome();
    const child = spawn(
      process.execPath,
      [
        cliPath,
        "run",
        ...wall,
        "--repo",
        home.main,
        "--",
        "sh",
        "-c",
        "echo half > half; echo ready; sleep 60",
      ],
      {
        env: { ...process.env, HOLDFAST_HOME: home.dir, NO_COLOR: "1" },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    let said = "";
    child.stderr.on("data", (chunk) => {
      said += chunk;
    });
    await new Promise<void>((resolve) =>
      child.stdout.on("data", (chunk) => String(chunk).includes("ready") && resolve()),
    );
    child.kill("SIGINT");
    const status = await new Promise((resolve) => child.on("close", resolve));
    expect(status).toBe(130);
    const id = idIn(said);
    expect((await runCli(home.dir, ["diff", id, "--stat"])).stdout).toBe("half\n");
    expect((await runCli(home.dir, ["log", id])).stdout).toContain("interrupted");
    expect(home.strays()).toEqual([]);
  });

  it("runs ten tasks at once in one repo, and diff escapes control characters in file names", async () => {
    using home = new TaskHome();
    const runs = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        runCli(home.dir, [
          "run",
          ...wall,
          "--repo",
          home.main,
          "--",
          "sh",
          "-c",
          `echo ${index} > "n\u001b[31m"; echo ${index}`,
        ]),
      ),
    );
    expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 0));
    expect(new Set(runs.map(({ stderr }) => idIn(stderr))).size).toBe(10);
    const diff = await runCli(home.dir, ["diff", idIn(runs[0]?.stderr ?? ""), "--stat"]);
    expect(diff.stdout).not.toContain("\u001b");
    expect(gitIn(home.main, "branch", "--list", "holdfast/*").split("\n")).toHaveLength(10);
  });
});

describe("holdfast handoff and import", () => {
  it("take a session's files to a person and back, and to another home", async () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const id = idIn(
      (await runCli(home.dir, ["run", ...wall, "--repo", home.main, "--", "sh", "-c", "echo two >> a.txt"]))
        .stderr,
    );
    const handed = await runCli(home.dir, ["handoff", id, "--to", home.join("mine"), "--person", "ani"]);
    expect(handed.stdout).toContain(
      `the files of ${home.labelOf(id)} are handed to ani: ${home.join("mine")}`,
    );
    expect(await runCli(home.dir, ["handoff", id])).toMatchObject({
      status: 5,
      stderr: expect.stringContaining("handoff_open"),
    });
    writeFileSync(home.join("mine/a.txt"), "one\ntwo\nthree\n");
    const back = await runCli(home.dir, ["handoff", id, "--return"]);
    expect(back.stdout).toBe(
      `${home.labelOf(id)} is back: turn 2, with changes\npublished on ${home.branchOf(id)}\n`,
    );
    expect((await runCli(home.dir, ["diff", id])).stdout).toContain("+three");
    expect((await runCli(home.dir, ["ls"])).stdout).toMatch(
      /^echo-two +done +main +holdfast\/echo-two +repo-fix +1 /m,
    );

    const file = home.join("moved.holdfast");
    await runCli(home.dir, ["export", id, "-o", file]);
    const other = home.join("other");
    const imported = await runCli(other, ["import", file, "--repo", home.main]);
    expect(imported).toMatchObject({
      status: 0,
      stdout: `${home.labelOf(id)} imported, paused, with its files\n`,
    });
    expect((await runCli(other, ["diff", id])).stdout).toContain("+three");
    const fork = (await runCli(other, ["fork", id, "--at", "1"])).stdout.trim();
    expect((await runCli(other, ["diff", fork])).stdout).not.toContain("+three");
    expect(readFileSync(join(home.main, "a.txt"), "utf8")).toBe("one\n");
  });
});
