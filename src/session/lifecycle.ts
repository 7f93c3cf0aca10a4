/**
 * Owns the table of a session's life: which event moves which stored status where. What is not in the table
 * is illegal: refused before the append, and without effect on a fold.
 *
 *   open ──turn──▶ active                           open: ready, nothing under way since it was opened or resumed
 *    ▲ ╲            │  ╲                            active: turns have been run
 *    │  ╲           ▼   ▼
 *    │   ╰──────▶ paused  handed_off ─return─▶ open
 *    ╰─resume─ paused, closed, archived, and what a crash left
 *
 * That a session waits for a person is no status: its pending requests tell it.
 *
 * `damaged` is never written: a journal that is damaged can't be written. Readers find it out.
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
export type StoredStatus = (typeof storedStatuses)[number];

type Moves = Partial<Record<StoredStatus, StoredStatus>>;

/** The statuses of a session that somebody owns, or did until a crash. */
export const working: readonly StoredStatus[] = ["open", "active"];
const from = (statuses: readonly StoredStatus[], to: StoredStatus): Moves =>
  Object.fromEntries(statuses.map((status) => [status, to]));
const staying = (statuses: readonly StoredStatus[]): Moves =>
  Object.fromEntries(statuses.map((status) => [status, status]));

/** Events that need a certain status. Every other event may be recorded whenever the session is `working`. */
export const lifecycle: Partial<Record<EventType, Moves>> = {
  session_resumed: from([...working, "paused", "closed", "archived"], "open"),
  session_paused: from(working, "paused"),
  session_closed: from([...working, "paused"], "closed"),
  session_archived: from(["closed", "paused"], "archived"),
  session_handed_off: from([...working, "paused"], "handed_off"),
  session_returned: from(["handed_off"], "open"),
  // A fork is a new session and an import lands paused, whatever the history before them ended with.
  session_forked: from(storedStatuses, "open"),
  session_imported: from(storedStatuses, "paused"),
  turn_started: from(working, "active"),
  // A person may answer while nothing runs.
  approval_granted: staying([...working, "paused"]),
  approval_denied: staying([...working, "paused"]),
  approval_expired: staying([...working, "paused"]),
  question_answered: staying([...working, "paused"]),
  // The files of a session that is over are taken away, or brought back, without waking it.
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
  merge_conflicted: staying([...working, "paused", "closed"]),
  // A budget may pause the session before its task has come to its last stage.
  stage_started: staying([...working, "paused", "closed"]),
  stage_ended: staying([...working, "paused", "closed"]),
  task_ended: staying([...working, "paused", "closed"]),
  // What was reached is written down when a turn is over, and its budget may be, too.
  // Set-up may run for the files of a session that is over.
  network_used: staying([...working, "paused", "closed", "handed_off"]),
  usage_metered: staying([...working, "paused"]),
  task_parked: staying([...working, "paused"]),
  session_rewound: staying([...working, "paused"]),
  session_kept: staying([...working, "handed_off", "paused", "closed", "archived"]),
  // A budget is raised, and a message arrives, also while nobody works on the session.
  budget_raised: staying([...working, "paused", "closed", "archived"]),
  message_received: staying([...working, "paused", "handed_off"]),
  // A budget may be reached while the session process is still about to write down how it ended.
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
