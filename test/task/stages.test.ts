/**
 * A task goes through its stages, and continues after a kill at the stage that the fold names.
 */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseTaskSpec } from "../../src/contract/index.ts";
import { TestChild } from "../support/children.ts";
import { TaskHome } from "../support/tasks.ts";

/** The process is killed just before the record `fatal`; the task has this outcome after it continued. */
const CUTS = [
  // Nothing of the task is on record: it begins anew.
  { fatal: "task_started", outcome: "unverified", runs: 1 },
  // No record shows that its agent ended.
  { fatal: "turn_started", outcome: "interrupted", runs: 0 },
  { fatal: "turn_ended", outcome: "interrupted", runs: 1 },
  // The agent had ended, and its work is kept.
  { fatal: "publishing_started", outcome: "unverified", runs: 1 },
  { fatal: "work_published", outcome: "unverified", runs: 1 },
  { fatal: "summary_written", outcome: "unverified", runs: 1 },
  { fatal: "task_ended", outcome: "unverified", runs: 1 },
] as const;

const REPORTS = ["result.json", "summary.md", "trace.json"];
const textOr = (path: string) => (existsSync(path) ? readFileSync(path, "utf8") : "");

describe("the stages of a task", () => {
  it("stages-1 continue where the task was cut off, without running an agent again that had ended", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    await Promise.all(
      CUTS.map(async ({ fatal, outcome, runs }) => {
        const session = await hf.openSession({ repo: home.main, title: fatal.replaceAll("_", " ") });
        const { id } = session;
        await session.release();
        const run = async (...args: string[]) => {
          await using child = new TestChild("run-stages.ts", [home.dir, id, ...args]);
          await child.ended();
          expect(child.stderr, fatal).toBe("");
        };
        await run(fatal);
        expect((await hf.showSession(id)).task?.outcome ?? null, fatal).toBeNull();
        const reports = () => REPORTS.map((name) => textOr(home.sessionDir(id, "tasks/1/artifacts", name)));
        const before = reports();
        expect(
          before.every((text) => text !== ""),
          fatal,
        ).toBe(fatal === "task_ended");
        await run();
        // The artifacts are written again, with the same content.
        if (fatal === "task_ended") expect(reports()).toEqual(before);
        expect(JSON.parse(reports()[0] ?? "")).toMatchObject({ session_id: id, result: outcome });
        const { task } = await hf.showSession(id);
        expect(task, fatal).toMatchObject({ number: 1, outcome, stage: null, acted: null });
        expect((await hf.diffSession(id)).stat.insertions, fatal).toBe(runs);
        expect((await hf.auditSession(id)).findings, fatal).toEqual([]);
      }),
    );
  });

  it("are recorded in order", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const session = await hf.openSession({ repo: home.main, title: "stages" });
    await session.release();
    await using child = new TestChild("run-stages.ts", [home.dir, session.id]);
    await child.ended();
    const said: string[] = [];
    for await (const { type, data } of hf.readJournal(session.id))
      if (type.startsWith("stage_") || type.startsWith("task_"))
        said.push([type, data["stage"], data["outcome"]].filter(Boolean).join(" "));
    expect(said).toEqual([
      "task_queued",
      "task_started",
      "stage_ended route",
      "stage_ended capsule",
      "stage_started act",
      "stage_ended act done",
      "stage_started persist",
      "task_ended unverified",
    ]);
  });
});

describe("the spec of a task", () => {
  it("can be read from journals that were written before there were adapters", () => {
    const before = {
      command: ["make"],
      definition: "exec:make",
      sandbox: true,
      input: "messages",
      restart: true,
    };
    expect(parseTaskSpec(before)).toEqual({
      agent: { adapter: "exec", command: ["make"], input: "messages", restart: true },
      definition: "exec:make",
      sandbox: true,
    });
    expect(() => parseTaskSpec({ ...before, command: [] })).toThrow("agent.command");
  });
});
