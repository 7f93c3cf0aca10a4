/**
 * The agent port, used as a user's own harness would use it.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Adapter } from "../../src/agent/adapter.ts";
import type { ExecSpec } from "../../src/contract/task-spec.ts";
import { HostHome } from "../support/hosts.ts";
import { sandbox, TaskHome } from "../support/tasks.ts";

const signal = new AbortController().signal;

describe("a user's own loop", () => {
  it("runs commands in the capsule inside its own turn, and each turn ends with a checkpoint", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const loop: Adapter<ExecSpec> = {
      name: "exec",
      goesOn: () => true,
      async drive(work, { command }) {
        await using turn = await work.beginTurn("please");
        await turn.addMessage("assistant", "I run it twice");
        for (const number of [1, 2]) {
          const call = await turn.callTool("shell", { number });
          const { exitCode, excerpt } = await (await work.start(command)).ended;
          await call.returned({ exitCode, excerpt });
        }
        await turn.end({ outputTokens: 7 });
        return { outcome: "done", exitCode: 0, signal: null };
      },
    };
    let shown = "";
    const work = task.workplace({
      onOutput: (chunk) => {
        shown += chunk;
      },
    });
    work.show("it begins\n");
    await loop.drive(work, {
      adapter: "exec",
      command: ["sh", "-c", "echo more >> a-file; wc -l < a-file"],
      input: "nothing",
      restart: false,
    });
    expect(shown).toBe("it begins\n1\n2\n");
    expect(session.state).toMatchObject({ turns: 1, spent: { outputTokens: 7 }, openTurn: null });
    expect(session.state.task?.snapshot?.turn).toBe(1);
    const { stat, branch } = await task.end("done");
    expect(stat.insertions).toBe(2);
    expect(branch).not.toBeNull();
    await session.close();
  });

  it("can be stopped in the middle of a turn, and can still end that turn", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const gone = new AbortController();
    const work = task.workplace({ signal: gone.signal });
    const turn = await work.beginTurn("x");
    const process = await work.start(["sh", "-c", "sleep 60"]);
    gone.abort();
    expect(await process.ended).toMatchObject({ isStopped: true });
    await turn.interrupt();
    expect(session.state.openTurn).toBeNull();
    await task.end("cancelled");
    await session.close();
  });

  it("freezes a process with all of its children, and thaws it", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const session = await hf.openSession({ repo: home.main });
    const task = await hf.startTask(session, sandbox);
    let ticks = 0;
    const stop = new AbortController();
    const work = task.workplace({
      signal: stop.signal,
      onOutput: () => {
        ticks += 1;
      },
    });
    const process = await work.start(["sh", "-c", "(while true; do echo tick; sleep 0.02; done) & wait"]);
    while (ticks < 3) await sleep(20);
    process.freeze();
    // What was already in the pipe still arrives.
    await sleep(200);
    const frozenAt = ticks;
    await sleep(500);
    expect(ticks).toBe(frozenAt);
    process.thaw();
    while (ticks < frozenAt + 3) await sleep(20);
    stop.abort();
    await process.ended;
    await task.end("cancelled");
    await session.close();
  });

  it("checkpoint-2 a checkpoint counts only if its command was frozen, and only until the command is thawed", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const work = task.workplace();
    const turn = await work.beginTurn("x");
    const process = await work.start(["sh", "-c", "echo 1 > one; read go; echo 2 > two"], { hasInput: true });
    await task.checkpoint();
    expect(task.last.current).toBeUndefined();
    process.freeze();
    await turn.end();
    const first = task.last.current;
    expect(first).toBeDefined();
    process.thaw();
    expect(task.last.current).toBeUndefined();
    process.input?.end("go\n");
    await process.ended;
    expect((await task.end("cancelled", { at: first })).stat.files).toBe(2);
    await session.close();
  });

  it("checkpoint-2 without a sandbox, a checkpoint does not count if a child may have outlived its command", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const session = await hf.openSession({ repo: home.main });
    const task = await hf.startTask(session, { sandbox: false });
    const { root } = await task.capsule.attach();
    // The child needs a process group of its own: what is in the command's group is ended with the command.
    const stray = "touch up; while [ ! -e go ]; do sleep 0.01; done; echo late > late";
    const command = 'setsid -f sh -c "$1"; while [ ! -e up ]; do sleep 0.01; done';
    await task.runTurn(["sh", "-c", command, "sh", stray]);
    const { snapshot } = session.state.task ?? {};
    expect(snapshot).toBeDefined();
    expect(task.last.current).toBeUndefined();
    writeFileSync(join(root, "go"), "");
    await expect.poll(() => existsSync(join(root, "late")), { timeout: 60_000 }).toBe(true);
    await task.rest();
    // Otherwise forks would use a layer that has the name of a snapshot with other files.
    const { settled, stack } = task.capsule.spec;
    expect([settled, ...stack]).not.toContain(snapshot?.commit);
    expect((await task.end("cancelled")).stat.files).toBe(3);
    await session.close();
  });

  it("gets the same message from the inbox until it confirms it", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await dispatcher.send(session.id, "one");
    const { messages } = task.workplace();
    const first = await messages.next(10_000, signal);
    expect(first?.text).toBe("one");
    expect((await messages.next(10_000, signal))?.message).toBe(first?.message);
    await messages.entered(first?.message ?? "");
    const [second] = await Promise.all([messages.next(10_000, signal), dispatcher.send(session.id, "two")]);
    expect(second?.text).toBe("two");
    await messages.entered(second?.message ?? "");
    expect(await messages.next(0, signal)).toBeUndefined();
    await task.end("cancelled");
    await session.close();
  });
});
