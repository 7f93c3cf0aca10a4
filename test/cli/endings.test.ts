/**
 * Verbs that end a running agent: they ask at a terminal, and are refused elsewhere. And `rm`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { findProgram } from "../../src/process/index.ts";
import { cliPath } from "../support/cli.ts";
import { HostHome, reaches, script, until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";

const hasScript = findProgram("script") !== undefined;
if (!hasScript) console.log("left out: the questions in a terminal: util-linux's script is not installed");

const SLEEP = script("echo begun > begun.txt; sleep 60");

/** Calls a verb in a terminal, and types the answer when it asks. */
async function inTerminal(home: HostHome, args: readonly string[], typed: string) {
  const words = [process.execPath, cliPath, ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qefc", `exec ${words}`, "/dev/null"], {
    cwd: home.main,
    env: { ...process.env, SHELL: "/bin/sh", TERM: "xterm", HOLDFAST_HOME: home.dir, NO_COLOR: "1" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  let screen = "";
  child.stdout.on("data", (chunk) => {
    screen += chunk;
    if (screen.endsWith("[y/N] ")) child.stdin.write(typed);
  });
  const [status] = await closed;
  return { status, screen: screen.replaceAll("\r", "") };
}

describe("a verb that ends a running agent", () => {
  it("is refused without a terminal and changes nothing; --force carries it out", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, SLEEP);
    await reaches(dispatcher, id, "running");
    const pid = home.hostPid(id);
    for (const verb of ["close", "teardown", "handoff", "archive", "rm"]) {
      const { status, stdout, stderr } = await home.cli(verb, id);
      expect([verb, status, stdout]).toEqual([verb, 5, ""]);
      expect(stderr).toMatch(/^holdfast: agent_running: the agent of [\w-]+ is running \(.*--force.*\)\n$/);
    }
    expect(await dispatcher.show(id)).toMatchObject({ status: "running" });
    expect(home.hostPid(id)).toBe(pid);
    expect(await home.cli("close", id, "--force")).toMatchObject({
      status: 0,
      stdout: `${home.labelOf(id)} closed\n`,
    });
    expect((await dispatcher.show(id)).status).toBe("closed");
    // A session at rest needs no --force.
    expect((await home.cli("teardown", id)).status).toBe(0);
  });

  it("close is refused while tasks are queued that would then never begin", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const first = await dispatcher.begin({ repo: home.main }, SLEEP);
    await reaches(dispatcher, first.id, "running");
    const { id } = await dispatcher.begin({ repo: home.main }, script("true"), { maxSessions: 1 });
    expect(await dispatcher.underWay(id)).toEqual({ isRunning: false, queued: 1 });
    const { status, stderr } = await home.cli("close", id);
    expect([status, stderr]).toEqual([
      5,
      expect.stringMatching(/agent_running: 1 task of [\w-]+ would never begin/),
    ]);
    expect((await home.cli("close", id, "--force")).status).toBe(0);
    await dispatcher.close(first.id);
  });

  it.skipIf(!hasScript)("asks at a terminal: no and Ctrl-C change nothing, yes ends the agent", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, SLEEP);
    await reaches(dispatcher, id, "running");
    for (const typed of ["n\n", "\n", "\u0004", "\u0003"]) {
      const { status, screen } = await inTerminal(home, ["close", id], typed);
      expect([JSON.stringify(typed), status]).toEqual([JSON.stringify(typed), 130]);
      expect(screen).toContain(`the agent of ${home.labelOf(id)} is running; close it anyway? [y/N] `);
      expect(screen).toContain("holdfast: interrupted: nothing was changed");
    }
    expect((await dispatcher.show(id)).status).toBe("running");
    const { status, screen } = await inTerminal(home, ["close", id], "yes\n");
    expect([status, screen]).toEqual([0, expect.stringContaining(`${home.labelOf(id)} closed`)]);
    expect((await dispatcher.show(id)).status).toBe("closed");
    // rm refuses unpublished work at a terminal too; without unpublished work it asks.
    const refused = await inTerminal(home, ["rm", id], "yes\n");
    expect([refused.status, refused.screen]).toEqual([5, expect.stringContaining("unpublished_work")]);
    await home.cli("branch", id);
    const kept = await inTerminal(home, ["rm", id], "n\n");
    expect(kept.status).toBe(130);
    expect(kept.screen).toMatch(/1 turn, 1 task, [\d.]+ kB of disk space\n {2}branch holdfast\/\w+ stays/);
    expect((await inTerminal(home, ["rm", id], "y\n")).status).toBe(0);
    expect(existsSync(home.sessionDir(id))).toBe(false);
  });
});

describe("rm", () => {
  it("removes the other sessions if one is refused, and with --force also running and unpublished ones", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const running = await dispatcher.begin({ repo: home.main }, SLEEP);
    const failed = await dispatcher.begin({ repo: home.main }, script("echo x > a.txt; exit 3"));
    const done = await dispatcher.begin({ repo: home.main }, script("echo two > a.txt"));
    await reaches(dispatcher, running.id, "running");
    for (const { id } of [failed, done]) {
      await until(
        () => dispatcher.show(id),
        ({ task, pid }) => task?.outcome !== null && task !== null && pid === null,
      );
    }
    await home.cli("send", done.id, "unread");
    const [label, branch] = [home.labelOf(done.id), home.branchOf(done.id)];
    const several = await home.cli("rm", failed.id, "sess_00000000000000000000000000", done.id);
    expect(several.status).toBe(5);
    expect(several.stdout).toMatch(
      new RegExp(
        `^${label} removed: 1 turn, 1 task, [\\d.]+ kB of disk space\n {2}1 unread message\n {2}branch`,
      ),
    );
    expect(several.stderr).toMatch(
      /^sess_\w+: unpublished_work: .*the work of turn 1.*\nsess_0+: session_not_found: .*\n$/,
    );
    expect(gitIn(home.main, "branch", "--list", branch)).toContain(branch);
    const forced = await home.cli("rm", "--json", "--force", "--branches", running.id, failed.id);
    expect([forced.status, forced.stderr]).toEqual([0, ""]);
    const receipts = forced.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(receipts).toMatchObject([
      { session: running.id, unpublished: expect.any(Array), bytes: expect.any(Number) },
      { session: failed.id, unpublished: ["the work of turn 1"], branches: [] },
    ]);
    expect((await home.cli("ls", "--all", "--json")).stdout.trim()).toBe("[]");
    expect(readdirSync(`${home.dir}/sessions`)).toEqual([]);
    expect(home.strays()).toEqual([]);
    await home.quiet();
  });
});
