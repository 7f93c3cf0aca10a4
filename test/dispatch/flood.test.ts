/**
 * A session that takes all it can get, beside one that works.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, reaches, script, typesOf, until } from "../support/hosts.ts";
import { isDone } from "../support/outcomes.ts";
import { commitFiles, gitIn } from "../support/repo.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];

describe("sessions on one machine", () => {
  it("one that floods its disk is stopped at its quota and keeps its work, and the other goes on", async () => {
    using home = new HostHome();
    commitFiles(home.main, { "holdfast.yaml": "quota: { disk_mb: 64 }\n" }, "a quota");
    const dispatcher = await home.dispatcher();
    const flooder = await dispatcher.begin(
      { repo: home.main },
      script("n=0; while true; do n=$((n+1)); head -c 8000000 /dev/zero > big.$n; sleep 0.05; done"),
    );
    const worker = await dispatcher.begin(
      { repo: home.main },
      script("for i in 1 2 3 4 5 6; do echo $i >> steps; sleep 0.5; done"),
    );
    await reaches(dispatcher, flooder.id, "paused");
    const types = await typesOf(dispatcher, flooder.id);
    expect(types).toContain("quota_reached");
    expect(await dispatcher.show(flooder.id)).toMatchObject({
      task: { outcome: "failed", capsule: "there" },
    });
    await reaches(dispatcher, worker.id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(worker.id)}:steps`)).toBe("1\n2\n3\n4\n5\n6");
    expect(home.strays()).toEqual([]);
  });

  it("one that starts too many processes has its turn ended", async () => {
    using home = new HostHome();
    commitFiles(home.main, { "holdfast.yaml": "quota: { processes: 40 }\n" }, "a quota");
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin(
      { repo: home.main },
      script("for i in $(seq 100); do sleep 60 & done; wait"),
    );
    await reaches(dispatcher, id, "paused");
    expect(await typesOf(dispatcher, id)).toContain("quota_reached");
    await until(
      () => home.strays(),
      (left) => left.length === 0,
    );
  });

  it("one that floods its output and its outbox neither holds up the other nor overfills its inbox", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const worker = await dispatcher.begin({ repo: home.main }, script("sleep 5; echo fine > result"));
    const flooder = await dispatcher.begin(
      { repo: home.main },
      script(`yes 'so much to say' & exec node flood-outbox.mjs ${worker.id}`),
    );
    await reaches(dispatcher, flooder.id, "running");
    // Meanwhile the other one still takes in a message.
    await sleep(2000);
    await dispatcher.send(worker.id, "are you there?");
    await until(
      () => typesOf(dispatcher, worker.id),
      (types) => types.includes("message_received"),
    );
    await reaches(dispatcher, worker.id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(worker.id)}:result`)).toBe("fine");
    await dispatcher.pause(flooder.id);
    const shown = await dispatcher.show(worker.id);
    expect(shown.unread).toBeLessThanOrEqual(1000);
    expect(shown.inbox).toBeLessThanOrEqual(1000);
    await home.quiet();
  });

  it("one beyond the limit waits in the line, shows why, and begins when there is room", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const first = await dispatcher.begin(
      { repo: home.main },
      script("while [ ! -e /nonexistent ]; do sleep 0.1; done"),
    );
    await reaches(dispatcher, first.id, "running");
    const run = await home.cli(
      "run",
      "--detach",
      ...wall,
      "--repo",
      home.main,
      "--max-sessions",
      "1",
      "--",
      "sh",
      "-c",
      "echo later > result",
    );
    const second = home.idOf(run.stdout.trim());
    expect(await dispatcher.show(second)).toMatchObject({
      status: "open",
      pid: null,
      waits: "1 session runs, and the limit is 1",
    });
    expect((await home.cli("ls")).stdout).toMatch(/ queued \(1 session runs, and the limit is 1/);
    expect((await home.cli("show", second)).stdout).toMatch(
      /^status +queued \(1 session runs, and the limit is 1\)$/m,
    );
    await dispatcher.pause(first.id);
    await until(
      () => dispatcher.show(second),
      ({ task }) => isDone(task),
    );
    expect(gitIn(home.main, "show", `${home.branchOf(second)}:result`)).toBe("later");
    await dispatcher.pause(second);
  });
});
