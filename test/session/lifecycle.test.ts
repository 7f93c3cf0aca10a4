import { describe, expect, it } from "vitest";
import { type EventType, eventForms } from "../../src/contract/index.ts";
import { emptyState, fold, type SessionState } from "../../src/session/index.ts";
import { nextStatus, type StoredStatus, storedStatuses } from "../../src/session/lifecycle.ts";
import { refusal } from "../../src/session/machine.ts";

/** Written by hand from the design, not from the code: where each event is legal, and where it leads. */
const working = ["open", "active"] as const;
const legal: Partial<Record<EventType, Partial<Record<StoredStatus, StoredStatus>>>> = {
  session_resumed: {
    open: "open",
    active: "open",
    paused: "open",
    closed: "open",
    archived: "open",
  },
  session_paused: { open: "paused", active: "paused" },
  session_closed: {
    open: "closed",
    active: "closed",
    paused: "closed",
  },
  session_archived: { closed: "archived", paused: "archived" },
  session_handed_off: {
    open: "handed_off",
    active: "handed_off",
    paused: "handed_off",
  },
  session_returned: { handed_off: "open" },
  turn_started: { open: "active", active: "active" },
  message_received: {
    open: "open",
    active: "active",
    paused: "paused",
    handed_off: "handed_off",
  },
  budget_raised: {
    open: "open",
    active: "active",
    paused: "paused",
    closed: "closed",
    archived: "archived",
  },
};
for (const type of [
  "approval_granted",
  "approval_denied",
  "approval_expired",
  "question_answered",
] as const) {
  legal[type] = { open: "open", active: "active", paused: "paused" };
}
const wherever = (...statuses: StoredStatus[]) =>
  Object.fromEntries(statuses.map((status) => [status, status]));
legal.snapshot_taken = wherever("open", "active", "paused", "closed", "handed_off");
legal.checkpoint_taken = legal.snapshot_taken;
legal.capsule_restored = legal.snapshot_taken;
legal.capsule_torn_down = legal.snapshot_taken;
legal.network_used = legal.snapshot_taken;
for (const type of [
  "message_handed",
  "message_entered_context",
  "message_set_aside",
  "process_ended",
  "task_halted",
  "task_refused",
  "usage_metered",
  "task_parked",
  "session_rewound",
] as const)
  legal[type] = wherever("open", "active", "paused");
legal.session_kept = wherever("open", "active", "handed_off", "paused", "closed", "archived");
legal.capsule_created = wherever("open", "active", "paused");
legal.artifact_written = wherever("open", "active", "paused", "closed");
for (const type of [
  "publishing_started",
  "work_published",
  "commits_published",
  "summary_written",
  "check_started",
  "check_ended",
  "verification_ended",
  "policy_applied",
  "merge_started",
  "work_merged",
  "merge_given_up",
  "merge_conflicted",
  "stage_started",
  "stage_ended",
] as const)
  legal[type] = legal.artifact_written;
legal.task_ended = legal.artifact_written;
const everywhere: Partial<Record<EventType, StoredStatus>> = {
  session_forked: "open",
  session_imported: "paused",
};

describe("the lifecycle table", () => {
  for (const type of Object.keys(eventForms) as EventType[]) {
    it(`allows ${type} exactly where the design does, and leads to the same status`, () => {
      for (const status of storedStatuses) {
        const isWorking = working.some((one) => one === status);
        const expected =
          everywhere[type] ?? (legal[type] ? legal[type][status] : isWorking ? status : undefined);
        expect(nextStatus(status, type), `${status} + ${type}`).toBe(expected);
      }
    });
  }

  it("an event that is illegal in a status is refused, and folding its record changes only the count of oddities", () => {
    const closed: SessionState = { ...emptyState, id: "s", seq: 4, status: "closed" };
    expect(refusal(closed, "turn_started", { turn: 1, input: "x" }, "")).toMatchObject({
      code: "illegal_transition",
    });
    const record = {
      seq: 5,
      at: "2026-01-01T00:00:00.000Z",
      epoch: 1,
      durable: 4,
      type: "turn_started",
      data: { turn: 1, input: "x" },
      hash: "h",
    };
    expect(fold(closed, record)).toEqual({ ...closed, seq: 5, hash: "h", updatedAt: record.at, oddities: 1 });
  });
});
