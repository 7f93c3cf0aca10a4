/**
 * What a fork and an import inherit: the list covers every part of the state, and the fold follows the list.
 */
import { describe, expect, it } from "vitest";
import { type JsonObject, usualTools } from "../../src/contract/index.ts";
import { inheritance, taskInheritance } from "../../src/session/fold/inheritance.ts";
import { emptyState, fold, type SessionState, type TaskState } from "../../src/session/index.ts";
import { newTask } from "../../src/session/task-state.ts";

const task: TaskState = {
  number: 3,
  request: "task_3",
  asked: "tidy up",
  base: "b".repeat(40),
  lane: { name: "online", isReadOnly: false, isWithoutCommands: true, hosts: ["*"], tools: usualTools },
  isSandboxed: false,
  outcome: "done",
  stage: "persist",
  acted: "done",
  verified: { tree: "t", verdict: "passed" },
  parked: { reason: "budget", until: null, detail: "usd" },
  changed: { files: 1, insertions: 2, deletions: 3 },
  exitCode: 0,
  signal: "SIGTERM",
  capsule: "there",
  snapshot: { commit: "c", tree: "t", manifest: "m", turn: 4, unanswered: 0 },
  branch: "holdfast/a",
  published: "p".repeat(40),
  hasUnpublished: true,
  isHeld: true,
  hadValuesBefore: true,
  headBefore: "h",
};

/** Every part differs from that of a new session, except that no turn is open. */
const before: SessionState = {
  id: "sess_a",
  user: "ani",
  name: "tidy",
  agent: "claude",
  definition: { name: "fix-bot", adapter: "claude", env: [] },
  repo: "/repo",
  lacksRepo: true,
  title: "a title",
  tags: ["nightly"],
  metadata: { ticket: "17" },
  status: "closed",
  pausedFor: "quota",
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-02T00:00:00.000Z",
  seq: 40,
  hash: "hash",
  turns: 4,
  openTurn: null,
  history: [[1, 4]],
  pending: { q: { kind: "question", task: 3, fingerprint: null, expiresAt: null } },
  grants: {
    a: {
      task: 3,
      fingerprint: "f",
      expiresAt: "2026-01-03T00:00:00.000Z",
      hasBegun: false,
      isSpent: false,
    },
  },
  budget: { turns: 9 },
  spent: {
    inputTokens: 1,
    outputTokens: 2,
    cacheReadTokens: 6,
    cacheWriteTokens: 7,
    usd: 3,
    durationMs: 4,
    turns: 5,
  },
  task,
  branch: { name: "tidy", tip: "p", intended: null },
  merged: { into: "main", commit: "m", from: "p" },
  merging: { into: "main", commit: "n", from: "q" },
  head: "h",
  waivedTask: 3,
  hadValues: true,
  conversation: { agent: "claude", id: "c-1", task: 1, hasAnswered: true },
  home: { commit: "c", manifest: "m" },
  queue: [{ request: "task_4", priority: 1 }],
  unread: [{ message: "msg_1", isHanded: false, about: null }],
  arrived: ["msg_1"],
  lastSent: "msg_0",
  crashes: 2,
  isKept: true,
  handoff: { to: "bo", directory: "/d" },
  parent: { id: "sess_0", seq: 7, turn: 1 },
  unknown: 1,
  oddities: 2,
};

const records = {
  fork: ["session_forked", { session: "sess_b", user: "bo", parent: "sess_a", parentSeq: 40, atTurn: 4 }],
  import: ["session_imported", { user: "bo", name: "neat" }],
} as const;

/** The parts that the records above set, written out by hand. */
const said: Record<keyof typeof records, Partial<SessionState>> = {
  fork: {
    id: "sess_b",
    user: "bo",
    name: null,
    agent: null,
    definition: null,
    title: null,
    createdAt: "2026-01-03T00:00:00.000Z",
    parent: { id: "sess_a", seq: 40, turn: 4 },
    budget: {},
    status: "open",
    pausedFor: null,
  },
  import: { user: "bo", name: "neat", status: "paused", pausedFor: "import", unread: [], home: null },
};
const inBoth: Partial<SessionState> = {
  repo: null,
  lacksRepo: true,
  updatedAt: "2026-01-03T00:00:00.000Z",
  seq: 41,
  hash: "next",
};

describe("inheritance", () => {
  it("lists every part of the session's state and of its task, and nothing else", () => {
    expect(["task", ...Object.keys(inheritance)].sort()).toEqual(Object.keys(emptyState).sort());
    expect(Object.keys(taskInheritance).sort()).toEqual(Object.keys(newTask).sort());
    for (const name of Object.keys(emptyState) as (keyof SessionState)[])
      if (name !== "openTurn") expect(before[name], name).not.toEqual(emptyState[name]);
    for (const name of Object.keys(newTask) as (keyof TaskState)[])
      expect(task[name], name).not.toEqual(newTask[name]);
  });

  for (const newcomer of ["fork", "import"] as const) {
    it(`by ${newcomer} keeps, drops or sets each part of the state as the list says`, () => {
      const [type, data] = records[newcomer];
      const at = "2026-01-03T00:00:00.000Z";
      const record = { seq: 41, at, epoch: 1, durable: 40, type, data: data as JsonObject, hash: "next" };
      const after = fold(before, record);
      for (const name of Object.keys(inheritance) as (keyof typeof inheritance)[]) {
        const expected = { kept: before, dropped: emptyState, recorded: { ...inBoth, ...said[newcomer] } };
        const way = inheritance[name][newcomer];
        expect(expected[way], name).toHaveProperty(name);
        expect(after[name], `${name} is ${way}`).toEqual(expected[way][name]);
      }
      for (const name of Object.keys(taskInheritance) as (keyof TaskState)[]) {
        const way = taskInheritance[name][newcomer];
        expect(way, name).not.toBe("recorded");
        expect(after.task?.[name], `task.${name} is ${way}`).toEqual((way === "kept" ? task : newTask)[name]);
      }
    });
  }
});
