/**
 * Hosts that were refused to a task, and hosts that a person allows it while it runs.
 */
import { describe, expect, it } from "vitest";
import { usualTools } from "../../src/contract/index.ts";
import { readSpool } from "../../src/host/frames.ts";
import { Spool } from "../../src/host/spool.ts";
import { TaskHosts } from "../../src/host/task-hosts.ts";
import { writeEnvironment } from "../../src/session/index.ts";
import { realDisk } from "../../src/util/index.ts";
import { TestHome } from "../support/home.ts";

const by = "user:ani";

async function drivenIn(home: TestHome) {
  const session = await (await home.open()).openSession();
  await session.append("task_queued", { request: "task_1", spec: {}, priority: 0 });
  await session.append("task_started", { task: 1, request: "task_1", lane: "deps", hosts: ["a.org"] });
  const spool = new Spool(home.sessionDir(session.id), "task_1", () => session.secrets);
  let news = 0;
  const hosts = new TaskHosts(session, spool, () => {
    news += 1;
  });
  const told = () =>
    [...readSpool(home.sessionDir(session.id), "task_1")].map(({ stream, chunk }) => `${stream} ${chunk}`);
  const onRecord = async () => {
    const found: unknown[] = [];
    for await (const { type, data } of (await home.open()).readJournal(session.id))
      if (type === "host_allowed") found.push(data);
    return found;
  };
  return { session, hosts, told, onRecord, news: () => news };
}

describe("the hosts of a running task", () => {
  it("are reported once each when they are refused, up to a limit and without the task's values", async () => {
    using home = new TestHome();
    const { session, hosts, told, news } = await drivenIn(home);
    await writeEnvironment(realDisk, home.sessionDir(session.id), "task_1", {
      values: { KEY: "s3cr3t-value" },
    });
    for (const host of ["b.org", "c.org:8080", "b.org", "s3cr3t-value.evil.org"]) hosts.refused(host);
    expect(told().slice(0, 2)).toEqual(["refused b.org", "refused c.org:8080"]);
    expect(told()).toHaveLength(3);
    expect(told()[2]).not.toContain("s3cr3t");
    for (let at = 0; at < 1000; at += 1) hosts.refused(`h${at}.org`);
    expect(told()).toHaveLength(50);
    expect(news()).toBe(50);
    await session.release();
  });

  it("allow-1 are recorded once, before the network gets them, and can't be allowed after the task", async () => {
    using home = new TestHome();
    const { session, hosts, onRecord } = await drivenIn(home);
    await hosts.allow({ host: "early.org", by });
    const heard: string[] = [];
    hosts.connect((host) => {
      expect(session.state.task?.lane?.hosts).toContain(host);
      heard.push(host);
    });
    expect(heard).toEqual(["early.org"]);
    for (const host of ["b.org", "b.org", "a.org"]) await hosts.allow({ host, by });
    expect(heard).toEqual(["early.org", "b.org"]);
    expect(await onRecord()).toEqual([
      { task: 1, host: "early.org", by },
      { task: 1, host: "b.org", by },
    ]);
    expect(session.state.task?.lane).toEqual({
      name: "deps",
      isReadOnly: false,
      isWithoutCommands: false,
      hosts: ["a.org", "early.org", "b.org"],
      tools: usualTools,
    });
    await session.append("task_ended", { task: 1, outcome: "done" });
    await hosts.allow({ host: "late.org", by });
    expect(heard).not.toContain("late.org");
    await expect(session.append("host_allowed", { task: 1, host: "late.org", by })).rejects.toMatchObject({
      code: "invalid_data",
    });
    // Even if it is in a record, only a valid host counts.
    await session.append("task_started", { task: 2, lane: "deps", hosts: ["a.org", "10.0.0.1", "b.org:0"] });
    await session.append("host_allowed", { task: 2, host: "127.1", by });
    expect(session.state.task?.lane?.hosts).toEqual(["a.org"]);
    await session.release();
  });
});
