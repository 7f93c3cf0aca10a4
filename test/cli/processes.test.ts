/**
 * The verbs that talk to session processes, as a user types them; and a task's own terminal in a real
 * terminal.
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";
import { hasScript, Terminal } from "../support/terminal.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const SLEEP = ["sh", "-c", "echo begun; sleep 60"];

async function detached(home: HostHome, ...command: string[]): Promise<string> {
  const { stdout } = await home.cli("run", "--detach", ...wall, "--repo", home.main, "--", ...command);
  return home.idOf(stdout.trim());
}

describe("the verbs of session processes", () => {
  it("attach shows the task, sends typed lines and ends with it; send, interrupt, retry and pause work", async () => {
    using home = new HostHome();
    const id = await detached(home, ...SLEEP);
    const attach = home.spawnCli(["attach", id]);
    const attachEnded = once(attach, "exit");
    let seen = "";
    for (const stream of [attach.stdout, attach.stderr])
      stream.on("data", (chunk) => {
        seen += chunk;
      });
    await until(
      () => seen,
      (text) => text.includes("begun"),
    );
    attach.stdin.write("typed by hand\n");
    await until(
      () => seen,
      (text) => /\[message\] from user:\S+: typed by hand/.test(text),
    );
    const sent = await home.cli("send", id, "by the verb");
    expect(sent).toMatchObject({ status: 0, stdout: expect.stringMatching(/^msg_\w+\n$/), stderr: "" });
    expect((await home.cli("token", "rotate", id)).stdout).toContain("the token was replaced");
    expect((await home.cli("interrupt", id)).stdout).toMatch(/^asked \S+ to end its turn\n/);
    const [status] = await attachEnded;
    expect(status).toBe(130);
    expect(seen).toContain("[agent]   interrupted, 0 files changed");
    expect((await home.cli("retry", id, "--detach")).status).toBe(0);
    await until(
      async () => (await home.cli("show", id)).stdout,
      (text) => /^status +working/m.test(text),
    );
    expect((await home.cli("pause", id)).stdout).toBe(`${home.labelOf(id)} paused\n`);
    await home.quiet();
    const waiting = await home.cli("send", id, "for later");
    expect(waiting.stderr).toContain("is at rest: the message is on disk, and its next task takes it in");
    // At rest there is nothing to watch, so attach says how the session stands.
    const rest = await home.cli("attach", id);
    expect(rest).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(`^${home.labelOf(id)} is paused: task 2 \\w+`),
    });
    expect(rest.stderr).toMatch(/^\d+ messages? unread: its next task takes them in\n/);
    for (const [args, code] of [
      [["interrupt", id], "not_running"],
      [["send", id, "x", "--id", "NOT AN ID"], "invalid_data"],
      [["send", id, "x", "--id", "task_mine"], "invalid_data"],
      [["send", id, ""], "invalid_data"],
      [["run", "--session", id, "--repo", home.main, "--", "true"], "usage"],
      [["run", "--max-sessions", "0", "--", "true"], "usage"],
      [["token", "steal", id], "usage"],
      [["run", "-i", "--", "true"], "terminal_missing"],
      [["run", "-i", "--detach", "--messages", "--", "true"], "usage"],
    ] as const)
      expect((await home.cli(...args)).stderr, args.join(" ")).toMatch(
        new RegExp(`^holdfast: ${code}: .+ \\(.+\\)\\n$`),
      );
    await home.cli("send", id, "once", "--id", "msg_mine");
    const again = await home.cli("send", id, "another text", "--id", "msg_mine");
    expect(again).toMatchObject({ status: 0, stderr: expect.stringContaining("was sent before") });
    // Pausing a paused session is no failure.
    expect(await home.cli("pause", id)).toMatchObject({ status: 0, stdout: `${home.labelOf(id)} paused\n` });
    const ls = (await home.cli("ls")).stdout;
    expect(ls).toMatch(new RegExp(`^${home.labelOf(id)} +(cancelled|interrupted)`, "m"));
    const opened = (await home.cli("new")).stdout.trim();
    expect((await home.cli("retry", opened)).stderr).toContain("no_task");
  });

  it("a verb that waits for a session process names it and how to end it; --json stays one document", async () => {
    using home = new HostHome();
    const verbs = [
      ["pause", "--json"],
      ["teardown", "--force"],
      ["close", "--force", "--json"],
      ["archive", "--force"],
      ["handoff", "--force", "--json", "--to", home.join("handed")],
    ];
    const waiting = await Promise.all(
      verbs.map(async ([verb = "", ...options]) => {
        const id = await detached(home, ...SLEEP);
        await until(
          async () => (await home.cli("show", id)).stdout,
          (text) => /^status +working/m.test(text),
        );
        const pid = home.hostPid(id) ?? 0;
        kill(pid, "SIGSTOP");
        const child = home.spawnCli([verb, id, ...options]);
        const closed = once(child, "close");
        const heard = { stdout: "", stderr: "" };
        for (const name of ["stdout", "stderr"] as const)
          child[name].on("data", (chunk) => {
            heard[name] += chunk;
          });
        return { id, pid, closed, heard, isJson: options.includes("--json") };
      }),
    );
    const each = waiting.map(async ({ id, pid, closed, heard, isJson }) => {
      await until(
        () => heard.stderr,
        (text) => text.endsWith("\n"),
        30_000,
      );
      expect(heard).toEqual({
        stdout: "",
        stderr: `waiting for process ${pid} of ${home.labelOf(id)}; if it never ends, holdfast resume ${home.labelOf(id)} --take-over ends it\n`,
      });
      kill(pid, "SIGCONT");
      const [status] = await closed;
      expect(status, heard.stderr).toBe(0);
      if (isJson) expect(JSON.parse(heard.stdout)).toBeTypeOf("object");
      expect(heard.stdout).toContain(isJson ? id : home.labelOf(id));
      // On a busy machine, progress is reported as well.
      expect(heard.stderr.match(/^waiting for process/gm)).toHaveLength(1);
    });
    await Promise.all(each);
  });

  it("run on a busy session queues; a first Ctrl-C interrupts the turn, a second one detaches", async () => {
    using home = new HostHome();
    const first = home.spawnCli([
      "run",
      ...wall,
      "--",
      "sh",
      "-c",
      "trap '' TERM; echo begun; sleep 60 & wait; sleep 60",
    ]);
    let seen = "";
    for (const stream of [first.stdout, first.stderr])
      stream.on("data", (chunk) => {
        seen += chunk;
      });
    await until(
      () => seen,
      (text) => text.includes("begun"),
    );
    const id = /sess_\w+/.exec(seen)?.[0] ?? "";
    const second = home.cli("run", ...wall, "--session", id, "--", "sh", "-c", "echo after > after");
    await until(
      async () => (await home.cli("show", id)).stdout,
      (text) => /^queue +1 task$/m.test(text),
    );
    kill(first.pid ?? 0, "SIGINT");
    await until(
      () => seen,
      (text) => text.includes("interrupting the turn"),
    );
    kill(first.pid ?? 0, "SIGINT");
    const [status] = await once(first, "exit");
    expect([status, seen]).toEqual([
      130,
      expect.stringContaining(`still running. Watch it: holdfast attach ${home.labelOf(id)}.`),
    ]);
    expect(await second).toMatchObject({ status: 0, stderr: expect.stringContaining("task=2") });
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:after`)).toBe("after");
  });

  it("teardown and close of a running session end all of its processes; teardown keeps the work", async () => {
    using home = new HostHome();
    const id = await detached(
      home,
      "sh",
      "-c",
      "echo kept > kept; (sleep 60 &); (setsid sleep 60 &); sleep 60",
    );
    await until(
      async () => (await home.cli("log", id, "--raw")).stdout,
      (text) => text.includes("process_started"),
    );
    await until(
      () => home.strays().length,
      (count) => count > 3,
    );
    const torn = await home.cli("teardown", id, "--force");
    expect(torn.stdout).toContain("processes  none left");
    expect(home.strays()).toEqual([]);
    await home.quiet();
    expect((await home.cli("diff", id)).stdout).toContain("+kept");
    const other = await detached(home, ...SLEEP);
    expect((await home.cli("close", other, "--force")).stdout).toBe(`${home.labelOf(other)} closed\n`);
    expect(home.strays()).toEqual([]);
  });

  it("doctor reports what a crash left over without a sandbox, and gc ends those processes", async () => {
    using home = new HostHome();
    const { stdout } = await home.cli(
      "run",
      "--detach",
      "--no-sandbox",
      "--repo",
      home.main,
      "--",
      "sh",
      "-c",
      "(setsid sleep 60 &); sleep 60",
    );
    const id = home.idOf(stdout.trim());
    await until(
      async () => (await home.cli("log", id, "--raw")).stdout,
      (text) => text.includes("process_started"),
    );
    await until(
      () => home.strays().length,
      (count) => count > 2,
    );
    kill(home.hostPid(id) ?? 0, "SIGKILL");
    await until(
      async () => (await home.cli("show", id)).stdout,
      (text) => /^status +interrupted/m.test(text),
    );
    expect((await home.cli("doctor")).stdout).toMatch(/left over.*capsule/);
    await home.cli("gc");
    await until(
      () => home.strays(),
      (left) => left.length === 0,
    );
  });
});

describe.skipIf(!hasScript)("a task's terminal", () => {
  it("follows the size of its window, outlives it, shows its screen again, and is recorded", async () => {
    using home = new HostHome();
    let id = "";
    {
      await using terminal = new Terminal(home, ["run", "-i", ...wall, "--", "sh"]);
      terminal.type("echo hello-$((40+2))\r");
      await terminal.shows("hello-42");
      terminal.type("[ -t 0 ] && [ -t 1 ] && echo is-a-$((1))-tty; stty size\r");
      await terminal.shows("is-a-1-tty");
      await until(
        async () => {
          terminal.type("stty size\r");
          await sleep(100);
          return terminal.screen;
        },
        (screen) => screen.includes("30 100"),
      );
      terminal.resize(41, 123);
      await until(
        async () => {
          terminal.type("stty size\r");
          await sleep(100);
          return terminal.screen;
        },
        (screen) => screen.includes("41 123"),
      );
      // Ctrl-C goes to the program, not to holdfast.
      terminal.type("echo asleep-$((1)); sleep 60\r");
      await terminal.shows("asleep-1");
      await sleep(300);
      terminal.type("\u0003");
      await terminal.shows("^C");
      terminal.type("echo still-$((6*7))\r");
      await terminal.shows("still-42");
      terminal.type("\u001d");
      await terminal.shows("Detached; the program is still running");
      id = home.idOf(/holdfast attach ([\w-]+)/.exec(terminal.screen)?.[1] ?? "");
      await terminal.ended;
    }
    expect((await home.cli("show", id)).stdout).toMatch(/^status +working/m);
    {
      // This window is killed, and the task goes on all the same.
      await using terminal = new Terminal(home, ["attach", id]);
      await terminal.shows("still-42");
    }
    await using terminal = new Terminal(home, ["attach", id]);
    await terminal.shows("hello-42");
    terminal.type("echo made-by-hand > made; exit 0\r");
    await terminal.shows(`branch ${home.branchOf(id)}`);
    await until(
      async () => (await home.cli("show", id)).stdout,
      (text) => /^status +done/m.test(text),
    );
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:made`)).toBe("made-by-hand");
    const log = (await home.cli("log", id, "--json")).stdout;
    expect(log).toContain("hello-42");
    expect(log).toContain("still-42");
    expect(home.strays()).toEqual([]);
  });
});
