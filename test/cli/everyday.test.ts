/**
 * What the first users stumbled over.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { cliPath, runCli } from "../support/cli.ts";
import { runCliIn } from "../support/cli-in.ts";
import { TaskHome } from "../support/tasks.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];

describe("holdfast", () => {
  it("keeps --env-file from Node, which would obey NODE_OPTIONS in it outside of every sandbox", () => {
    using home = new TaskHome();
    writeFileSync(
      home.join("evil.cjs"),
      `require("node:fs").writeFileSync(${JSON.stringify(home.join("ran"))}, "")`,
    );
    writeFileSync(home.join("file"), `NODE_OPTIONS=--require=${home.join("evil.cjs")}\n`);
    chmodSync(cliPath, 0o755);
    const env = {
      ...process.env,
      PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
      HOLDFAST_HOME: home.dir,
    };
    execFileSync(cliPath, ["run", "--env-file", home.join("file"), "--help"], { env });
    expect(existsSync(home.join("ran"))).toBe(false);
    const missing = spawnSync(cliPath, ["run", "--env-file", home.join("none"), "--", "true"], {
      cwd: home.main,
      env,
      encoding: "utf8",
    });
    expect(missing.stderr).toMatch(/^holdfast: /m);
  });

  it("works in a removed directory if it needs none, and otherwise says that the directory is gone", async () => {
    using home = new TaskHome();
    const id = (await runCli(home.dir, ["new", "--name", "there"])).stdout.trim();
    mkdirSync(home.join("gone"));
    const script = `cd '${home.join("gone")}'; rmdir '${home.join("gone")}'; exec '${process.execPath}' '${cliPath}' "$@"`;
    const run = (...args: string[]) =>
      spawnSync("sh", ["-c", script, "sh", ...args], {
        env: { ...process.env, HOLDFAST_HOME: home.dir },
        encoding: "utf8",
      });
    expect(run("show", id)).toMatchObject({ status: 0, stdout: expect.stringContaining("there") });
    mkdirSync(home.join("gone"));
    expect(run("run", "--", "true")).toMatchObject({
      status: 5,
      stderr: expect.stringMatching(/^holdfast: directory_gone: /),
    });
    expect(existsSync(home.join("gone")) && rmdirSync(home.join("gone"))).toBe(false);
  });

  it("names a session after its command if the title gives no name; refuses --repo with --no-repo", async () => {
    using home = new TaskHome();
    const run = await runCliIn(home.main, home.dir, ["run", ...wall, "--title", "日本", "--", "true"]);
    expect(run.stderr).toMatch(/^\[session\] true sess_/);
    const both = await runCliIn(home.main, home.dir, ["run", "--no-repo", "--repo", ".", "--", "true"]);
    expect(both).toMatchObject({ status: 2, stderr: expect.stringContaining("choose one") });
  });

  it("takes SESSION/1 for an earlier task in show, log and diff", async () => {
    using home = new TaskHome();
    const cli = (...args: string[]) => runCliIn(home.main, home.dir, args);
    await cli("run", ...wall, "--name", "two", "--", "sh", "-c", "echo one > one; exit 3");
    await cli("run", ...wall, "--session", "two", "--", "sh", "-c", "echo two > two");
    expect((await cli("show", "two/1")).stdout).toMatch(
      /^command {3}sh -c 'echo one.*'\ntask {6}1, failed, exit 3/m,
    );
    expect((await cli("show", "two")).stdout).toMatch(
      /^command {3}sh -c 'echo two.*'\ntask {6}2, unverified, exit 0/m,
    );
    const log = (await cli("log", "two/1")).stdout;
    expect(log).toContain("task 1 failed");
    expect(log).not.toContain("task 2");
    expect((await cli("diff", "two/1", "two/2", "--stat")).stdout).toBe("two\n");
    expect(await cli("show", "two/3")).toMatchObject({ status: 4 });
    const usage = (await cli("usage")).stdout;
    expect(usage).toMatch(/^two +1 +2 /m);
    expect((await cli("search", "one")).stdout).toMatch(/^two +#/m);
  });
});
