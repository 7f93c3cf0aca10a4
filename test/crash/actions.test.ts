/**
 * An external action from its request to its outcome, through the command line, and with its session process or its
 * worker killed at each of its steps: it is never done twice, never lost, and always explained.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { actionsDir, signalIfThere, spentDir } from "../../src/util/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { HeldServer } from "../support/held-server.ts";
import { reaches, typesOf, until } from "../support/hosts.ts";
import { isParked, PushHome } from "../support/pushing.ts";
import { gitIn } from "../support/repo.ts";

const isLong = process.env["HOLDFAST_LONG"] !== undefined;

/** Kills the session process once the action had its effect, lets it end, and resumes. Returns what is on record. */
async function endedAfterKill(home: PushHome, server: HeldServer, id: string): Promise<string[]> {
  const dispatcher = await home.dispatcher();
  await until(() => home.effects() === 1);
  signalIfThere(home.hostPid(id) ?? 0, "SIGKILL");
  await until(() => home.hostPid(id) === undefined);
  server.letGo();
  await home.cli("resume", id);
  await reaches(dispatcher, id, "paused");
  return typesOf(dispatcher, id);
}

describe.skipIf(!hasSandbox)("an external action", () => {
  it("parks its task, without a process, until a person approves it, and is then done once", async () => {
    using home = new PushHome();
    const { dispatcher, id } = await home.begin();
    await isParked(dispatcher, id);
    await home.quiet();
    expect(home.effects()).toBe(0);
    expect((await home.cli("show", id)).stdout).toContain("waiting for you");
    expect((await home.cli("wait", id)).status).toBe(3);
    expect(await home.approve(id)).toBe(0);
    expect((await home.cli("wait", id)).status).toBe(0);
    expect(home.effects()).toBe(1);
    const types = await typesOf(dispatcher, id);
    for (const type of ["action_begun", "approval_spent", "action_ended"])
      expect(
        types.filter((one) => one === type),
        type,
      ).toHaveLength(1);
    expect(gitIn(home.bare, "show", "from-agent:made.txt")).toBe("made");
    expect(await home.approve(id)).toBeNull();
  });

  it("is not done if a person denies it: the agent ends and nothing is pushed", async () => {
    using home = new PushHome();
    const { dispatcher, id } = await home.begin();
    await isParked(dispatcher, id);
    const { id: approval = "" } = (await home.pending(id)) ?? {};
    expect((await home.cli("deny", approval, "--why", "not on a Friday")).status).toBe(0);
    expect((await home.cli("wait", id)).status).toBe(1);
    expect((await home.cli("output", id)).stdout).toContain("git_push");
    expect(home.effects()).toBe(0);
  });

  it("script-1 is not done again by its script if it ended after the kill of its session process", async () => {
    await using server = await HeldServer.start();
    using home = new PushHome(server);
    const { dispatcher, id } = await home.begin();
    await isParked(dispatcher, id);
    expect(await home.approve(id)).toBe(0);
    const types = await endedAfterKill(home, server, id);
    expect(types, types.join(" ")).toContain("task_ended");
    expect(types.filter((type) => type === "approval_requested")).toHaveLength(1);
    expect(home.effects()).toBe(1);
    const { stdout } = await home.cli("output", id);
    expect(stdout).toContain("http_request: ok, as before");
    // The variable of the step has what the server answered.
    expect(stdout).toContain("200 OK");
  });

  it("script-1 is not done again in a lane without approvals either, if it ended after the kill", async () => {
    await using server = await HeldServer.start();
    using home = new PushHome(server);
    const { id } = await home.begin("free");
    const types = await endedAfterKill(home, server, id);
    for (const type of ["action_begun", "action_ended", "task_ended"])
      expect(
        types.filter((one) => one === type),
        types.join(" "),
      ).toHaveLength(1);
    expect(types).not.toContain("approval_spent");
    expect(home.effects()).toBe(1);
    const { stdout } = await home.cli("output", id);
    expect(stdout).toContain("http_request: ok, as before");
    expect(stdout).toContain("200 OK");
  });

  const steps = ["approval_requested", "approval_granted", "action_begun", "approval_spent", "action_ended"];
  /** Kills at moments that no record marks. */
  const moments = ["worker", "spent, worker", "spent", "worker", "spent, worker"];
  const times = <T>(count: number, of: readonly T[]) => Array.from({ length: count }, () => of).flat();
  const alone = (of: readonly string[]) => of.map((step) => [step]);
  // 30 kills, 200 in the long run: at all steps one after the other, and at each step alone.
  it.each([
    ...times(isLong ? 10 : 4, [steps]).map((at) => ["posts", at] as const),
    ...times(isLong ? 10 : 0, [steps]).map((at) => ["pushes", at] as const),
    ...times(isLong ? 10 : 1, alone(steps)).map((at) => ["pushes", at] as const),
    ...times(isLong ? 10 : 1, alone(moments)).map((at) => ["posts", at] as const),
  ])("gate-7 is done at most once if what %s is killed at each of these: %j", async (kind, at) => {
    await using server = await HeldServer.start();
    server.letGo();
    using home = new PushHome(kind === "posts" ? server : undefined);
    const { dispatcher, id } = await home.begin();
    const todo = [...at];
    // It reads the bytes themselves, synchronously: an asynchronous read could finish after the process has ended.
    const isOnRecord = (type: string) =>
      readdirSync(home.sessionDir(id, "journal")).some((name) =>
        readFileSync(home.sessionDir(id, "journal", name), "utf8").includes(`"type":"${type}"`),
      );
    const namesIn = (dir: string) => (existsSync(dir) ? readdirSync(dir) : []);
    const worker = () => {
      const name = namesIn(actionsDir(home.sessionDir(id), 1)).find((one) => one.endsWith(".worker"));
      return name === undefined ? undefined : Number(name.split(".")[1]);
    };
    const isReached = (step: string) =>
      step === "worker" ||
      (step.startsWith("spent") ? namesIn(spentDir(home.dir)).length > 0 : isOnRecord(step));
    const kill = () => {
      const [step] = todo;
      if (step === undefined || !isReached(step)) return;
      const pid = step.endsWith("worker") ? worker() : home.hostPid(id);
      if (pid === undefined) return;
      todo.shift();
      signalIfThere(pid, "SIGKILL");
    };
    const killing = setInterval(kill, 2);
    try {
      // However often it is asked for, a person approves it, or resumes the session if nothing is asked.
      for (let round = 0; round < 6 + at.length; round += 1) {
        await home.cli("resume", id);
        await until(
          async () => ({ types: await typesOf(dispatcher, id), pid: home.hostPid(id) }),
          ({ types, pid }) => types.includes("task_ended") || pid === undefined,
        );
        if ((await typesOf(dispatcher, id)).includes("task_ended")) break;
        if ((await home.approve(id)) === null) await home.cli("resume", id);
      }
    } finally {
      clearInterval(killing);
    }
    const types = await typesOf(dispatcher, id);
    // A worker may have ended before the kill reached it.
    if (!at.some((step) => step.endsWith("worker"))) expect(todo, types.join(" ")).toEqual([]);
    expect(home.effects(), types.join(" ")).toBeLessThanOrEqual(1);
    const begun = types.filter((one) => one === "action_begun").length;
    const ended = types.filter((one) => one === "action_ended").length;
    expect(ended, types.join(" ")).toBe(begun);
    const isUnknown = types.includes("question_asked");
    // A worker that was ended before it did anything is an outcome that the agent is told.
    const { stdout } = await home.cli("output", id);
    const isNotDone = /worker was ended before anything was done/.test(stdout.replaceAll(/\s+/g, " "));
    expect(home.effects() === 1 || isUnknown || isNotDone, `${types.join(" ")}\n${stdout}`).toBe(true);
    await home.cli("pause", id);
    await home.quiet();
  });
});
