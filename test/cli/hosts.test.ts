/**
 * Hosts that a running task was refused: the message, the question at a terminal, and `allow`.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { encodeFrame, spoolPath, streams } from "../../src/host/frames.ts";
import { hasSandbox } from "../support/capsules.ts";
import { type Dispatcher, HostHome, reaches, script, until } from "../support/hosts.ts";
import { hasScript, Terminal } from "../support/terminal.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
/** Runs until a test makes $TMPDIR/end. */
const LOOP = "echo ready; until [ -e $TMPDIR/end ]; do sleep 0.05; done; echo over";

async function running(dispatcher: Dispatcher): Promise<{ id: string; request: string }> {
  const [id = ""] = await until(
    () => dispatcher.sessionIds(),
    (ids) => ids.length > 0,
  );
  await reaches(dispatcher, id, "running");
  const { task } = await dispatcher.show(id);
  return { id, request: task?.request ?? "" };
}

/** Reports a refused host, as the network of the task does. */
function refuse(home: HostHome, { id, request }: { id: string; request: string }, host: string): void {
  appendFileSync(spoolPath(home.sessionDir(id), request), encodeFrame(streams.refused, Buffer.from(host)));
}

const end = (home: HostHome, id: string) => appendFileSync(home.sessionDir(id, "tasks/1/tmp/end"), "");

const hostsOf = async (dispatcher: Dispatcher, id: string) => (await dispatcher.show(id)).task?.lane?.hosts;

describe("a host that was refused", () => {
  it("is named with the ways to allow it, and allow lets the task reach it until the task ends", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const run = home.spawnCli(["run", ...wall, "--name", "one", "--restart", "--", "sh", "-c", LOOP]);
    let said = "";
    run.stderr.on("data", (chunk) => {
      said += chunk;
    });
    const task = await running(dispatcher);
    const { id } = task;
    refuse(home, task, "registry.example.org");
    refuse(home, task, "\u001b[2J10.0.0.1");
    await until(() => said.includes("10.0.0.1"));
    expect(said).toMatch(
      /^\[network\] registry\.example\.org was refused: holdfast allow one registry\.example\.org allows it for this task, run --host registry\.example\.org for another one$/m,
    );
    expect(said).toMatch(/^\[network\] \\u\{1b\}\[2J10\.0\.0\.1 was refused$/m);
    expect(await home.cli("allow", "one", "Registry.example.org")).toMatchObject({
      status: 0,
      stdout: "task 1 of one may reach registry.example.org until it ends\n",
    });
    expect(JSON.parse((await home.cli("allow", "one", "b.org:8080", "--json")).stdout)).toEqual({
      session: id,
      task: 1,
      host: "b.org:8080",
    });
    expect((await home.cli("allow", "one", "10.0.0.1")).status).toBe(2);
    await until(() => said.includes("b.org:8080 is allowed until the task ends"));
    const log = (await home.cli("log", "one")).stdout;
    expect(log).toMatch(/network registry\.example\.org allowed by user:/);
    // It is on record, so the next session process knows it, too.
    process.kill(home.hostPid(id) ?? 0, "SIGKILL");
    await reaches(dispatcher, id, "interrupted");
    await home.cli("resume", "one");
    await until(
      () => dispatcher.show(id),
      ({ status, turns }) => status === "running" && turns === 2,
    );
    expect(await hostsOf(dispatcher, id)).toEqual(["registry.example.org", "b.org:8080"]);
    end(home, id);
    await reaches(dispatcher, id, "paused");
    expect(await home.cli("allow", "one", "late.org")).toMatchObject({
      status: 5,
      stderr: expect.stringMatching(/^holdfast: not_running: /),
    });
    await dispatcher.submit(id, script("true"));
    await reaches(dispatcher, id, "paused");
    expect(await hostsOf(dispatcher, id)).toEqual([]);
  });

  it.skipIf(!hasScript)(
    "is asked about at a terminal: earlier typing is no answer, and output of the task waits",
    async () => {
      using home = new HostHome();
      const dispatcher = await home.dispatcher();
      const loop = `echo "go on? [y/N]"; until [ -e $TMPDIR/end ]; do [ -e $TMPDIR/say ] && cat $TMPDIR/say; sleep 0.05; done`;
      await using terminal = new Terminal(home, ["run", ...wall, "--", "sh", "-c", loop]);
      await terminal.shows("go on? [y/N]");
      const task = await running(dispatcher);
      const { id } = task;
      terminal.type("y\n");
      // The terminal has echoed the line, and holdfast has not read it yet.
      await terminal.shows("y\r\n");
      refuse(home, task, "evil.example.org");
      await terminal.shows("let this task reach evil.example.org until it ends? [y/N]");
      appendFileSync(home.sessionDir(id, "tasks/1/tmp/say"), "reach good.example.org? [y/N]\n");
      // Time for an answer or output of the task to show up, which must not happen.
      await sleep(700);
      expect(await hostsOf(dispatcher, id)).toEqual([]);
      expect(terminal.screen).toMatch(/until it ends\? \[y\/N\] $/);
      terminal.type("n\n");
      await terminal.shows("good.example.org?");
      expect(await hostsOf(dispatcher, id)).toEqual([]);
      refuse(home, task, "registry.example.org");
      await terminal.shows("let this task reach registry.example.org");
      terminal.type("y\n");
      await terminal.shows("registry.example.org is allowed until the task ends");
      expect(await hostsOf(dispatcher, id)).toEqual(["registry.example.org"]);
      // When the task ends, the command does not wait for the answer.
      refuse(home, task, "last.example.org");
      await terminal.shows("let this task reach last.example.org");
      end(home, id);
      await terminal.ended;
      expect(terminal.screen).toMatch(/\[persist\] /);
      expect(await hostsOf(dispatcher, id)).toEqual(["registry.example.org"]);
    },
  );
});
