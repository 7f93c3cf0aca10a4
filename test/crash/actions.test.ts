/**
 * An external action from its request to its outcome, through the command line, and with its session process killed at
 * each of its steps: it is never done twice, never lost, and always explained.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { signalIfThere } from "../../src/util/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { typesOf, until } from "../support/hosts.ts";
import { isParked, PushHome } from "../support/pushing.ts";
import { gitIn } from "../support/repo.ts";

const isLong = process.env["HOLDFAST_LONG"] !== undefined;
describe.skipIf(!hasSandbox)("an external action", () => {
  it("parks its task, without a process, until a person approves it, and is then done once", async () => {
    using home = new PushHome();
    const { dispatcher, id } = await home.begin();
    await isParked(dispatcher, id);
    await home.quiet();
    expect(home.pushes()).toBe(0);
    expect((await home.cli("show", id)).stdout).toContain("waiting for you");
    expect((await home.cli("wait", id)).status).toBe(3);
    expect(await home.approve(id)).toBe(0);
    expect((await home.cli("wait", id)).status).toBe(0);
    expect(home.pushes()).toBe(1);
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
    const { stdout } = await home.cli("approvals", "--json");
    const [{ id: approval }] = JSON.parse(stdout);
    expect((await home.cli("deny", approval, "--why", "not on a Friday")).status).toBe(0);
    expect((await home.cli("wait", id)).status).toBe(1);
    expect((await home.cli("output", id)).stdout).toContain("git_push");
    expect(home.pushes()).toBe(0);
  });

  const steps = ["approval_requested", "approval_granted", "action_begun", "approval_spent", "action_ended"];
  const times = (count: number, of: readonly string[]) => Array.from({ length: count }, () => [of] as const);
  const apart = steps.map((step) => [[step]] as const);
  // 30 kills, 200 in the long run: at all steps one after the other, and at each step alone.
  it.each(
    isLong
      ? [...times(20, steps), ...Array.from({ length: 20 }, () => apart).flat()]
      : [...times(5, steps), ...apart],
  )("gate-7 is done at most once if its session process is killed at each of these: %j", async (at) => {
    using home = new PushHome();
    const { dispatcher, id } = await home.begin();
    const todo = [...at];
    // It reads the bytes themselves, synchronously: an asynchronous read could finish after the process has ended.
    const isOnRecord = (type: string) =>
      readdirSync(home.sessionDir(id, "journal")).some((name) =>
        readFileSync(home.sessionDir(id, "journal", name), "utf8").includes(`"type":"${type}"`),
      );
    const kill = () => {
      const pid = home.hostPid(id);
      if (todo[0] === undefined || pid === undefined || !isOnRecord(todo[0])) return;
      todo.shift();
      signalIfThere(pid, "SIGKILL");
    };
    const killing = setInterval(kill, 5);
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
    expect(todo, types.join(" ")).toEqual([]);
    expect(home.pushes(), types.join(" ")).toBeLessThanOrEqual(1);
    const begun = types.filter((one) => one === "action_begun").length;
    const ended = types.filter((one) => one === "action_ended").length;
    expect(ended, types.join(" ")).toBe(begun);
    const isUnknown = types.includes("question_asked");
    expect(home.pushes() === 1 || isUnknown, types.join(" ")).toBe(true);
    await home.cli("pause", id);
    await home.quiet();
  });
});
