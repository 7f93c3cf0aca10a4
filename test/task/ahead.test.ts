/**
 * Namespaces and a network are begun before a task's files are there. Either the task uses them, or nothing
 * of them is left.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { usualTools } from "../../src/contract/index.ts";
import { openHome } from "../../src/home/index.ts";
import { Ahead } from "../../src/task/room/ahead.ts";
import { RoomNetwork } from "../../src/task/room/network.ts";
import { roomOf } from "../../src/task/session/tasks.ts";
import { makeCapsule } from "../../src/task/stages/capsule.ts";
import { findRoute } from "../../src/task/stages/route.ts";
import { hasSandbox } from "../support/capsules.ts";
import { TaskHome, turn } from "../support/tasks.ts";

async function begun(home: TaskHome) {
  const hf = await home.open();
  const session = await hf.openSession({ repo: home.main, title: "begun ahead" });
  const room = await roomOf(await openHome({ home: home.dir, create: false }), session);
  const dir = home.capsuleDir(session.id);
  const ahead = Ahead.begin(home.dir, dir);
  if (!ahead) throw new Error("nothing could be begun");
  return { room, dir, ahead };
}

describe.skipIf(!hasSandbox)("namespaces and network begun ahead of a task's files", () => {
  it("are used by the task's processes", async () => {
    using home = new TaskHome();
    const { room, dir, ahead } = await begun(home);
    const words = await ahead.holder.network();
    const route = await findRoute(room, { ahead });
    const task = await makeCapsule(room, route, {});
    expect((await task.capsule.attach()).network).toEqual(words);
    expect(RoomNetwork.find(dir)).toBe(task.network);
    expect(await turn(task, "echo $HTTPS_PROXY")).toContain("http://127.0.0.1:");
    await task.end("done");
    expect(home.strays()).toEqual([]);
  });

  it("are replaced if they ended before the task began", async () => {
    using home = new TaskHome();
    const { room, ahead } = await begun(home);
    const words = await ahead.holder.network();
    const route = await findRoute(room, { ahead });
    for (const pid of home.strays()) process.kill(pid, "SIGKILL");
    while (home.strays().length > 0) await sleep(5);
    const task = await makeCapsule(room, route, {});
    expect((await task.capsule.attach()).network).not.toEqual(words);
    expect(await turn(task, "curl -s --max-time 5 http://example.org/ || echo none")).toContain(
      "example.org",
    );
    await task.end("done");
  });

  it("are ended when the task can't begin", async () => {
    using home = new TaskHome();
    const { room, dir, ahead } = await begun(home);
    const lane = {
      name: "repo-fix",
      isReadOnly: false,
      isWithoutCommands: false,
      hosts: [],
      tools: usualTools,
    };
    await ahead.openNetwork(lane);
    expect(RoomNetwork.find(dir)).toBeDefined();
    await expect(findRoute(room, { ahead, base: "no-such-commit" })).rejects.toThrow();
    await ahead.end();
    while (home.strays().length > 0) await sleep(5);
    expect(RoomNetwork.find(dir)).toBeUndefined();
  });
});
