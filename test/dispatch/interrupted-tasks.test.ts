/**
 * Tasks whose session process ended, and tasks that a fork has from its parent.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { HostHome, reaches, script, shown, until } from "../support/hosts.ts";
import { isDone } from "../support/outcomes.ts";
import { commitFiles } from "../support/repo.ts";

describe("a task", () => {
  it("whose process was killed before it began is shown as interrupted, and begins after resume", async () => {
    using home = new HostHome();
    commitFiles(home.main, { "holdfast.yaml": "capsule: { setup: sleep 3 }\n" }, "a slow set-up");
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("echo done > result"));
    await shown(dispatcher, id, ({ queue }) => queue === 1);
    kill(home.hostPid(id) ?? 0, "SIGKILL");
    await reaches(dispatcher, id, "interrupted");
    await dispatcher.resume(id);
    await shown(dispatcher, id, ({ task }) => isDone(task));
  });

  it("that is submitted just when the session process ends is not lost", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("true"));
    for (let number = 2; number <= 12; number += 1) {
      await shown(dispatcher, id, ({ task, queue }) => queue === 0 && isDone(task));
      await sleep(Math.random() * 40);
      await dispatcher.submit(id, script("true"));
      await shown(dispatcher, id, ({ task }) => task?.number === number);
    }
    await reaches(dispatcher, id, "paused");
  });

  it("whose process was killed keeps its output on record, and blocks nothing after its teardown", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    for (const verb of ["pause", "close", "teardown"]) {
      const { id } = await dispatcher.begin({ repo: home.main }, script("echo said; sleep 60"));
      await until(() => {
        const spools = readdirSync(home.sessionDir(id, "log")).filter((name) => name.endsWith(".out"));
        return spools.some((name) => readFileSync(home.sessionDir(id, "log", name), "utf8").includes("said"));
      });
      kill(home.hostPid(id) ?? 0, "SIGKILL");
      await reaches(dispatcher, id, "interrupted");
      expect((await home.cli(verb, id)).status).toBe(0);
      expect((await home.cli("log", id, "--json")).stdout).toContain("It had written:\\nsaid");
      if (verb !== "teardown") continue;
      await dispatcher.enter(id, { by: "serve" });
      await dispatcher.look();
      await shown(dispatcher, id, ({ task }) => task?.outcome === "interrupted");
      await until(() => dispatcher.placeOf(id) === undefined);
      await reaches(dispatcher, id, "paused");
    }
  });

  it("of a fork's parent is not started again in the fork", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("sleep 60", { restart: true }));
    await reaches(dispatcher, id, "running");
    await dispatcher.pause(id);
    const fork = await dispatcher.holdfast.forkSession(id);
    await fork.release();
    expect(await dispatcher.show(fork.id)).toMatchObject({ status: "open", task: { request: null } });
    expect(await dispatcher.resume(fork.id)).toMatchObject({ process: "none" });
  });
});
