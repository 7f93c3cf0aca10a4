/**
 * The tasks that wait in a session, and waiting for sessions: `queue`, `cancel` and `wait`.
 */
import { describe, expect, it } from "vitest";
import { encodeEnvelope, Maildir } from "../../src/mail/index.ts";
import { realDisk } from "../../src/util/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, reaches, script, until } from "../support/hosts.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const shell = (text: string) => ["--", "sh", "-c", text];

async function waitingIn(home: HostHome, id: string) {
  const { waiting } = JSON.parse((await home.cli("queue", id, "--json")).stdout);
  return waiting as { request: string; short: string; priority: number; asked: string; why: string }[];
}

/** Puts a task into the inbox as a dispatcher does that is killed right after. */
async function putTask(home: HostHome, id: string, name: string, priority: number): Promise<void> {
  const request = `task_${name}`;
  const envelope = { id: request, from: "user:test", at: new Date().toISOString(), kind: "task" as const };
  const spec = script(`echo ${name}`);
  await new Maildir(realDisk, home.sessionDir(id, "inbox")).put(
    request,
    encodeEnvelope({ ...envelope, spec, priority }),
  );
}

describe("holdfast queue and cancel", () => {
  it("tasks begin by priority, then in the order of arrival; cancel takes back one that waits or runs", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const id = home.idOf(
      (await home.cli("run", "-d", ...wall, "--repo", home.main, ...shell("sleep 60"))).stdout.trim(),
    );
    await reaches(dispatcher, id, "running");
    const submit = (...args: string[]) => home.cli("run", "-d", ...wall, "--session", id, ...args);
    const plain = await submit(...shell("echo plain"));
    const [, short = ""] =
      /^\[queue\] {3}1 task waits; this one is (\w{6}), after task 1$/m.exec(plain.stderr) ?? [];
    expect(short).not.toBe("");
    await submit("--priority", "5", "--title", "urgent", ...shell("echo urgent"));
    const queue = await home.cli("queue", id);
    expect(queue.stdout).toMatch(
      /^REQUEST .*\n(\w{6}) +5 .* urgent +task 1 runs\n(\w{6}) +0 .* sh -c echo plain +after \1\n$/,
    );
    expect(queue.stdout).toContain(`\n${short} `);
    expect(await home.cli("cancel", id, "zzzzzz")).toMatchObject({ status: 4 });
    expect(await home.cli("cancel", id, "")).toMatchObject({ status: 2 });
    expect(await home.cli("cancel", id, short)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/is cancelled/),
    });
    expect((await waitingIn(home, id)).map(({ asked }) => asked)).toEqual(["urgent"]);

    // A task can be cancelled while its session is paused, too.
    await submit(...shell("echo other"));
    await home.cli("pause", id);
    const [first, other] = await waitingIn(home, id);
    expect(first).toMatchObject({ asked: "urgent", why: expect.stringContaining("paused") });
    expect(await home.cli("cancel", id, other?.short ?? "")).toMatchObject({ status: 0 });
    await putTask(home, id, "low", 1);
    await putTask(home, id, "high", 9);
    await putTask(home, id, "also_low", 1);
    const order = (await waitingIn(home, id)).map(({ asked }) => asked.replace("sh -c echo ", ""));
    expect(order).toEqual(["high", "urgent", "low", "also_low"]);
    await home.cli("resume", id);
    expect(await home.cli("wait", id)).toMatchObject({
      status: 0,
      stdout: `${home.labelOf(id)} task 5 done, exit 0\n`,
    });
    const said = await Promise.all([2, 3, 4, 5].map((task) => home.cli("output", `${id}/${task}`)));
    expect(said.map(({ stdout }) => stdout.trim())).toEqual(order);
    expect(await home.cli("queue", id)).toMatchObject({
      stdout: "",
      stderr: `no task waits in ${home.labelOf(id)}\n`,
    });

    // No task is before this one.
    const alone = await home.cli("run", ...wall, "--session", id, ...shell("true"));
    expect(alone).toMatchObject({ status: 0, stderr: expect.not.stringContaining("[queue]") });
    await submit(...shell("sleep 60"));
    const { current } = await until(
      () => dispatcher.queue(id),
      ({ current }) => current !== null,
    );
    expect(await home.cli("cancel", id, current?.short ?? "")).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/asked to end/),
    });
    expect(await home.cli("wait", id)).toMatchObject({
      status: 130,
      stdout: expect.stringMatching(/task 7 cancelled/),
    });
  });
});

describe("holdfast wait", () => {
  it("waits for each session, says how its task ended, and exits with 1 if one of them failed", async () => {
    using home = new HostHome();
    const begin = async (text: string) =>
      (await home.cli("run", "-d", ...wall, "--repo", home.main, ...shell(text))).stdout.trim();
    const rested = (await home.cli("new", "--repo", home.main)).stdout.trim();
    const good = await begin("true");
    const slow = await begin("sleep 6; exit 4");
    const bad = await begin("exit 3");
    expect((await home.cli("wait", slow, "--timeout", "1")).status).toBe(130);
    const all = await home.cli("wait", slow, good, rested, bad);
    expect(all.status).toBe(1);
    const lines = all.stdout.trim().split("\n");
    expect(lines.toSorted()).toEqual(
      [
        `${good} task 1 done, exit 0`,
        `${rested} has had no task`,
        `${bad} task 1 failed, exit 3`,
        `${slow} task 1 failed, exit 4`,
      ].toSorted(),
    );
    expect(lines.at(-1)).toContain(slow);
    const json = JSON.parse((await home.cli("wait", `${bad}/1`, "--json")).stdout);
    expect(json).toEqual({
      session: home.idOf(bad),
      task: 1,
      outcome: "failed",
      status: 1,
      exitCode: 3,
      signal: null,
    });
    expect((await home.cli("wait", good, rested)).status).toBe(0);
    expect((await home.cli("wait", `${good}/2`)).status).toBe(4);
  });

  it("does not wait for a session without a process: one that is paused, crashed or halted", async () => {
    using home = new HostHome({ "holdfast.yaml": "capsule:\n  max_snapshot_mb: 0.2\n" });
    const dispatcher = await home.dispatcher();
    const begin = async (text: string) => (await dispatcher.begin({ repo: home.main }, script(text))).id;
    const large = await begin("head -c 1000000 /dev/urandom > large");
    const crashed = await begin("sleep 60");
    await reaches(dispatcher, crashed, "running");
    process.kill(home.hostPid(crashed) ?? 0, "SIGKILL");
    expect(await home.cli("wait", large)).toMatchObject({
      status: 5,
      stdout: expect.stringMatching(/task 1 halted, exit 0/),
    });
    expect(await home.cli("wait", crashed)).toMatchObject({
      status: 130,
      stdout: expect.stringMatching(/task 1 interrupted/),
    });
    const paused = await begin("sleep 60");
    await reaches(dispatcher, paused, "running");
    await dispatcher.submit(paused, script("true"));
    await dispatcher.pause(paused);
    expect(await home.cli("wait", paused)).toMatchObject({
      status: 130,
      stdout: expect.stringMatching(/tasks wait in it/),
    });
  });
});
