/**
 * Owns every expected failure: its code, its exit status, and what a person can do about it.
 * A failure that is not a HoldfastError is a bug of ours.
 */

/** Exit statuses of the command line. One place, so that docs, tests and code can't disagree. */
export const exitStatus = {
  done: 0,
  failed: 1,
  usage: 2,
  held: 3,
  notFound: 4,
  refused: 5,
  damaged: 6,
  budget: 7,
  conflict: 8,
  bug: 70,
  interrupted: 130,
} as const;

/** code → [exit status, what to do]. docs/errors.md lists the same codes; a test compares the two. */
export const errorCodes = {
  usage: [exitStatus.usage, "see holdfast --help"],
  invalid_id: [exitStatus.usage, "ids look like sess_01k…; holdfast ls lists them"],
  invalid_data: [exitStatus.usage, "correct the fields that the message names"],
  unknown_event: [exitStatus.usage, "events of your own are of type custom, with a name"],
  record_too_large: [exitStatus.usage, "put long content into one field: a long field becomes a blob"],
  session_not_found: [exitStatus.notFound, "holdfast ls --all lists the sessions of this user"],
  turn_not_found: [exitStatus.notFound, "holdfast log shows the turns"],
  ambiguous_id: [exitStatus.usage, "give more characters of the id"],
  duplicate_session: [exitStatus.conflict, "go on with the one that is here, or import into another home"],
  session_owned: [
    exitStatus.refused,
    "end that process or wait for it; holdfast resume --take-over ends it for you",
  ],
  session_taken_over: [exitStatus.refused, "another process owns the session now: open it again"],
  illegal_transition: [exitStatus.refused, "holdfast show tells what state the session is in"],
  turn_open: [exitStatus.refused, "end the turn first"],
  turn_closed: [exitStatus.refused, "begin a turn first"],
  session_released: [exitStatus.refused, "this handle was closed: resume the session to get a new one"],
  session_damaged: [
    exitStatus.damaged,
    "holdfast audit says where; holdfast doctor --repair keeps the good part",
  ],
  newer_format: [exitStatus.refused, "install a newer holdfast"],
  budget_reached: [exitStatus.budget, "raise it: holdfast resume --budget-…, or raiseBudget"],
  disk_full: [exitStatus.refused, "free some space; nothing was lost, and the session goes on then"],
  append_failed: [exitStatus.refused, "the disk failed: resume the session, which checks what was written"],
  node_too_old: [exitStatus.refused, "install Node 24 or newer"],
  home_not_found: [exitStatus.notFound, "check --home and HOLDFAST_HOME; holdfast open makes a home"],
  home_unreadable: [exitStatus.refused, "check the path and its owner, or set HOLDFAST_HOME"],
  unsafe_permissions: [exitStatus.refused, "chmod 700 the directory, or 600 the file"],
  export_invalid: [exitStatus.usage, "give the path of a file that holdfast export wrote"],
  export_refused: [exitStatus.refused, "the file goes beyond the limits of an import"],
  file_unwritable: [exitStatus.refused, "choose a directory that is there and yours"],
  file_exists: [exitStatus.refused, "choose another name"],
} as const satisfies Record<string, readonly [number, string]>;

export type ErrorCode = keyof typeof errorCodes;

export class HoldfastError extends Error {
  override readonly name = "HoldfastError";
  readonly code: ErrorCode;
  /** Facts for programs: a pid, a seq, a path. Never a secret. */
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, facts: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.facts = facts;
  }

  get exitStatus(): number {
    return errorCodes[this.code][0];
  }

  get wayOut(): string {
    return errorCodes[this.code][1];
  }
}

export function isHoldfastError(error: unknown, code?: ErrorCode): error is HoldfastError {
  return error instanceof HoldfastError && (code === undefined || error.code === code);
}
