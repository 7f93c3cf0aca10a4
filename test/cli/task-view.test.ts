/**
 * The lines that a person who watches a task sees, made from its records.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { TaskView } from "../../src/cli/task-view.ts";
import type { JournalRecord } from "../../src/contract/index.ts";

const ID = "0123456789abcdef0123456789abcdef01234567";

type Said = [type: string, data: JournalRecord["data"]];

const task = (number: number, request: string): Said[] => [
  ["sandbox_waived", { task: number, reason: "asked" }],
  ["task_started", { task: number, request, carried: { task: 9, outcome: "failed", tree: ID } }],
  ["stage_ended", { task: number, stage: "route" }],
  ["capsule_created", { task: number, strategy: "overlay", base: ID, durationMs: 7, missing: [".env"] }],
  ["stage_ended", { task: number, stage: "capsule" }],
  ["stage_started", { task: number, stage: "act" }],
  ["turn_started", { turn: number, input: {} }],
  ["process_ended", { pid: 5, exitCode: 3, signal: null }],
  ["turn_ended", { turn: number, outcome: "error", durationMs: 1 }],
  ["snapshot_taken", { task: number, snapshot: ID, tree: ID, manifest: "", turn: number, omitted: 2 }],
  ["stage_ended", { task: number, stage: "act", outcome: "failed" }],
  ["stage_started", { task: number, stage: "persist" }],
  ["task_ended", { task: number, outcome: "failed", files: 1, insertions: 2, deletions: 3 }],
];

const withoutStages = (said: readonly Said[]) => said.filter(([type]) => !type.startsWith("stage_"));

const LINES = [
  "[router]  session=fix task=1 scope=user:ani sandbox=none",
  "[router]  begins with what task 9 left, which failed",
  "[capsule] overlay base=0123456789ab ready in 7 ms",
  "[capsule] capsule.include: .env does not exist in the checkout",
  "[sandbox] waived: the command can do everything that you can do",
  "[agent]   exit 3, 1 file changed, +2 -3",
  "[snapshot]2 ignored files beyond max_ignored_mb left out",
  "[persist] tree=0123456789ab not published; holdfast diff fix shows it",
];

/** The lines that each record adds to the terminal. */
function shown(said: readonly Said[], request?: string) {
  const lines: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => lines.push(String(text).trimEnd()) > 0);
  const session = { id: "sess_1", label: "fix" };
  const view = new TaskView({ session, user: "ani", json: false, ...(request && { request }) });
  let status: number | undefined;
  const byRecord = said.map(([type, data], index): [string, string[]] => {
    const record = { seq: index + 1, at: "", epoch: 1, durable: index, hash: "", type, data };
    status = view.show({ kind: "record", record })?.status ?? status;
    return [type, lines.splice(0)];
  });
  vi.restoreAllMocks();
  return { byRecord, lines: byRecord.flatMap(([, added]) => added), status, view };
}

describe("the lines of a task", () => {
  afterEach(() => vi.restoreAllMocks());

  it("end with the reason and a status of its own if the task is parked, but not if another one is", () => {
    const parked = (data: JournalRecord["data"]): Said[] => [
      ...task(1, "task_a").slice(0, -4),
      ["task_parked", { task: 1, ...data }],
    ];
    const limit = shown(parked({ reason: "usage_limit", until: "2026-11-16T20:00:00.000Z" }), "task_a");
    expect(limit.status).toBe(7);
    expect(limit.lines.at(-1)).toMatch(
      /^\[parked\] {2}the provider's usage limit is reached until 2026-11-1\d .*: holdfast show fix/,
    );
    expect(shown(parked({ reason: "budget" }), "task_a").status).toBe(7);
    expect(shown(parked({ reason: "key", detail: "for anthropic" }), "task_a").status).toBe(3);
    expect(shown(parked({ reason: "budget" }), "task_b").status).toBeUndefined();
  });

  it("appear at the end of each stage", () => {
    const { byRecord, lines, status } = shown(task(1, "one"), "one");
    expect(lines).toEqual(LINES);
    expect(status).toBe(1);
    expect(byRecord.filter(([, added]) => added.length > 0)).toEqual([
      ["stage_ended", LINES.slice(0, 2)],
      ["stage_ended", LINES.slice(2, 5)],
      ["task_ended", LINES.slice(5)],
    ]);
  });

  it("are the same for a journal from before there were stages", () => {
    expect(shown(withoutStages(task(1, "one")), "one").lines).toEqual(LINES);
    expect(shown(withoutStages(task(1, "one"))).lines).toEqual(LINES);
  });

  it("are those of the task that is named, or of every task if none is named", () => {
    const both = [...task(1, "one"), ["work_published", { task: 1, branch: "b", commit: ID }] as Said];
    const next = task(2, "two").slice(1);
    expect(shown([...both, ...next], "one").lines).toEqual(LINES);
    const second = LINES.filter((line) => !line.startsWith("[sandbox]"));
    second[0] = "[router]  session=fix task=2 scope=user:ani";
    expect(shown([...both, ...next], "two").lines).toEqual(second);
    expect(shown([...both, ...next]).lines).toEqual([...LINES, ...second]);
  });

  it("the exit code stays that of the watched task when the next one begins", () => {
    const { view } = shown([...task(1, "one"), ...task(2, "two").slice(0, 2)], "one");
    expect(view.statusWithin(1)).toBe(3);
  });

  it("leave out stages that ended before the person began to watch", () => {
    const late = task(1, "one").slice(5);
    expect(shown(late).lines).toEqual(LINES.slice(5));
    expect(shown(withoutStages(late)).lines).toEqual(LINES.slice(5));
  });
});
