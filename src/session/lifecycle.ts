/**
 * Owns the table of a session's life: which event moves it from which stored status to which. A move that is
 * not in the table is illegal: it is refused before the append, and a fold ignores it.
 *
 *   open ──turn──▶ active                           open: ready, nothing under way since it was opened or resumed
 *    ▲ ╲            │  ╲                            active: turns have been run
 *    │  ╲           ▼   ▼
 *    │   ╰──────▶ paused  handed_off ─return─▶ open
 *    ╰─resume─ paused, closed, archived, and what a crash left
 *
 * A session that waits for a person has no status of its own; its pending requests show it.
 *
 * `damaged` is never written, because a damaged journal can't be written to. Readers detect the damage.
 */
import type { EventType } from "../contract/index.ts";

export const storedStatuses = [
  "open",
  "active",
  "handed_off",
  "paused",
  "closed",
  "archived",
  "damaged",
] as const;
/** The status of a session, as its journal has it. */
export type StoredStatus = (typeof storedStatuses)[number];

type Moves = Partial<Record<StoredStatus, StoredStatus>>;

/** The statuses of a session that has an owner, or had one until a crash. */
export const working: readonly StoredStatus[] = ["open", "active"];
const from = (statuses: readonly StoredStatus[], to: StoredStatus): Moves =>
  Object.fromEntries(statuses.map((status) => [status, to]));
const staying = (statuses: readonly StoredStatus[]): Moves =>
  Object.fromEntries(statuses.map((status) => [status, status]));

/** Events that need a certain status. All others may be recorded whenever the session is `working`. */
export const lifecycle: Partial<Record<EventType, Moves>> = {
  session_resumed: from([...working, "paused", "closed", "archived"], "open"),
  session_paused: from(working, "paused"),
  session_closed: from([...working, "paused"], "closed"),
  session_archived: from(["closed", "paused"], "archived"),
  session_handed_off: from([...working, "paused"], "handed_off"),
  session_returned: from(["handed_off"], "open"),
  // A fork is a new session and an import starts paused, whatever status the earlier history ended with.
  session_forked: from(storedStatuses, "open"),
  session_imported: from(storedStatuses, "paused"),
  turn_started: from(working, "active"),
  // A person may answer while no process runs.
  approval_granted: staying([...working, "paused"]),
  approval_denied: staying([...working, "paused"]),
  approval_expired: staying([...working, "paused"]),
  question_answered: staying([...working, "paused"]),
  // The files of a session that is over can be torn down or restored without resuming it.
  snapshot_taken: staying([...working, "paused", "closed", "handed_off"]),
  checkpoint_taken: staying([...working, "paused", "closed", "handed_off"]),
  capsule_created: staying([...working, "paused"]),
  capsule_restored: staying([...working, "paused", "closed", "handed_off"]),
  capsule_torn_down: staying([...working, "paused", "closed", "handed_off"]),
  artifact_written: staying([...working, "paused", "closed"]),
  publishing_started: staying([...working, "paused", "closed"]),
  work_published: staying([...working, "paused", "closed"]),
  commits_published: staying([...working, "paused", "closed"]),
  summary_written: staying([...working, "paused", "closed"]),
  check_started: staying([...working, "paused", "closed"]),
  check_ended: staying([...working, "paused", "closed"]),
  verification_ended: staying([...working, "paused", "closed"]),
  policy_applied: staying([...working, "paused", "closed"]),
  merge_started: staying([...working, "paused", "closed"]),
  work_merged: staying([...working, "paused", "closed"]),
  merge_given_up: staying([...working, "paused", "closed"]),
  merge_conflicted: staying([...working, "paused", "closed"]),
  // The budget may pause the session before its task has reached its last stage.
  stage_started: staying([...working, "paused", "closed"]),
  stage_ended: staying([...working, "paused", "closed"]),
  task_ended: staying([...working, "paused", "closed"]),
  // The hosts that a turn reached are recorded after it, when its budget may be used up.
  // Set-up may also run for the files of a session that is over.
  network_used: staying([...working, "paused", "closed", "handed_off"]),
  // A turn may use the budget up before the process of its agent has ended.
  process_ended: staying([...working, "paused"]),
  usage_metered: staying([...working, "paused"]),
  task_parked: staying([...working, "paused"]),
  session_rewound: staying([...working, "paused"]),
  session_kept: staying([...working, "handed_off", "paused", "closed", "archived"]),
  // A budget may be raised and a message may arrive while no process owns the session.
  budget_raised: staying([...working, "paused", "closed", "archived"]),
  message_received: staying([...working, "paused", "handed_off"]),
  // The budget may run out while the session process is still about to record how a message was delivered.
  message_handed: staying([...working, "paused"]),
  message_entered_context: staying([...working, "paused"]),
  message_set_aside: staying([...working, "paused"]),
  task_halted: staying([...working, "paused"]),
  task_refused: staying([...working, "paused"]),
};

/** The status after the event, or undefined when the event is illegal in this status. */
export function nextStatus(status: StoredStatus, type: EventType): StoredStatus | undefined {
  const moves = lifecycle[type];
  if (moves) return moves[status];
  return working.includes(status) ? status : undefined;
}
