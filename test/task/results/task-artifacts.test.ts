/**
 * The artifacts of a task are made from its own part of the journal: a session with a long history costs no more.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { TaskHome, turn } from "../../support/tasks.ts";

it("the artifacts of a task are made without the records of earlier tasks, so damage in those does not matter", async () => {
  using home = new TaskHome();
  const hf = await home.open();
  const { session, task } = await home.start(hf);
  await turn(task, "echo 1 > one");
  await task.end("done");
  await session.pause();
  const again = await hf.resumeSession(session.id);
  const second = await hf.startTask(again, { sandbox: task.sandbox !== undefined });
  await turn(second, "echo 2 > two");
  const first = join(home.sessionDir(session.id), "journal", "000001.jsonl");
  const whole = readFileSync(first);
  writeFileSync(
    first,
    Buffer.from(whole.toString("latin1").replace("task_started", "task_stirred"), "latin1"),
  );
  const end = await second.end("done");
  writeFileSync(first, whole);
  await again.pause();
  expect(end.outcome).toBe("unverified");
  const trace = readFileSync(home.sessionDir(session.id, "tasks", "2", "artifacts", "trace.json"), "utf8");
  const { hash } = await (async () => {
    for await (const record of hf.readJournal(session.id))
      if (record.type === "task_started" && record.data["task"] === 2) return record;
    throw new Error("the task has no start");
  })();
  expect(trace).toContain(`"spanId":"${hash.slice(0, 16)}"`);
  expect((await hf.auditSession(session.id)).findings).toEqual([]);
});
