/**
 * Owns every expected failure: its code, its exit status, and what a person can do about it. A failure that
 * is not a HoldfastError is a bug of ours.
 */

/** Exit statuses of the command line, in one place, so that docs, tests and code can't disagree. */
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
  usage: [exitStatus.usage, "holdfast --help lists the verbs, and holdfast VERB --help describes one"],
  invalid_id: [exitStatus.usage, "give a session by its name or its id; holdfast ls lists them"],
  invalid_name: [
    exitStatus.usage,
    "use small letters, digits and hyphens, with a letter first, 40 characters at most",
  ],
  name_taken: [exitStatus.conflict, "choose another name, or omit it and Holdfast picks one"],
  invalid_data: [exitStatus.usage, "correct the fields that the message names"],
  unknown_event: [exitStatus.usage, "for events of your own, use the type custom with a name"],
  event_reserved: [exitStatus.usage, "for events of your own, use the type custom with a name, or note"],
  record_too_large: [exitStatus.usage, "put long content into one field: a long field is stored as a blob"],
  session_not_found: [exitStatus.notFound, "holdfast ls --all lists the sessions of this user"],
  cursor_unknown: [
    exitStatus.notFound,
    "begin the stream without a cursor, and read the journals for what came before",
  ],
  artifact_not_found: [exitStatus.notFound, "holdfast show names the artifacts of a task"],
  check_not_found: [exitStatus.notFound, "holdfast checks lists the checks that ran"],
  turn_not_found: [exitStatus.notFound, "holdfast log shows the turns"],
  ambiguous_id: [exitStatus.usage, "give the id, or more characters of it: holdfast ls --all lists them"],
  duplicate_session: [exitStatus.conflict, "use the session that is here, or import into another home"],
  session_owned: [
    exitStatus.refused,
    "wait for that process or end it; holdfast resume --take-over ends it for you",
  ],
  session_taken_over: [exitStatus.refused, "another process owns the session now: open it again"],
  illegal_transition: [exitStatus.refused, "holdfast show shows the session's status"],
  turn_open: [exitStatus.refused, "end the turn first"],
  turn_closed: [exitStatus.refused, "begin a turn first"],
  session_released: [exitStatus.refused, "this handle is closed: resume the session to get a new one"],
  session_damaged: [
    exitStatus.damaged,
    "holdfast audit shows where; holdfast doctor --repair forks the good records",
  ],
  newer_format: [exitStatus.refused, "install a newer holdfast"],
  budget_reached: [
    exitStatus.budget,
    "raise it, for example with holdfast budget SESSION --raise usd=5; in the library, with raiseBudget",
  ],
  disk_full: [
    exitStatus.refused,
    "free some space, for example with holdfast gc; nothing was lost, and the session can continue after that",
  ],
  append_failed: [exitStatus.refused, "the disk failed: resume the session, which checks what was written"],
  node_too_old: [exitStatus.refused, "install Node 24 or newer"],
  directory_gone: [exitStatus.refused, "change to a directory that exists"],
  home_not_found: [exitStatus.notFound, "check --home and HOLDFAST_HOME; holdfast new makes a home"],
  home_unreadable: [exitStatus.refused, "check the path and its owner, or set HOLDFAST_HOME"],
  unsafe_permissions: [
    exitStatus.refused,
    "chmod 700 the directory, or chmod 600 the file; or set HOLDFAST_HOME to a directory of your own",
  ],
  export_invalid: [exitStatus.usage, "give the path of a file that holdfast export wrote"],
  export_refused: [exitStatus.refused, "get a new export: this file exceeds the limits of an import"],
  file_unwritable: [exitStatus.refused, "choose a directory that exists and that you may write to"],
  file_exists: [exitStatus.refused, "choose another file name"],
  unknown_agent: [exitStatus.usage, "holdfast agents lists the agents that are known"],
  no_agent: [
    exitStatus.refused,
    "install an agent and give it a key (holdfast agents shows what was found), name one with --agent, or run a command: holdfast run -- CMD",
  ],
  agent_failed: [
    exitStatus.failed,
    "holdfast output shows what the agent wrote; the session is as it was before that turn, and holdfast retry runs the task again",
  ],
  no_gate: [exitStatus.refused, "run the task with holdfast run: its session process has the tools"],
  tool_not_found: [exitStatus.notFound, "holdfast tools lists the tools of a session"],
  tool_failed: [exitStatus.failed, "the message has the tool's answer"],
  arguments_invalid: [exitStatus.usage, "correct the arguments that the message names"],
  approval_not_found: [exitStatus.notFound, "holdfast approvals lists what waits for you"],
  grant_invalid: [exitStatus.refused, "approve the request again: holdfast approvals lists it"],
  credential_missing: [
    exitStatus.refused,
    "set the variable in the environment in which you start the task, or name a command or a file for it in settings.yaml, under variables",
  ],
  script_invalid: [exitStatus.usage, "correct the step that the message names; see docs/script.md"],
  no_model: [
    exitStatus.refused,
    "set a variable such as ANTHROPIC_API_KEY, or name a key under keys in settings.yaml; holdfast doctor shows which keys were found",
  ],
  model_not_spoken: [
    exitStatus.usage,
    "name a model of another provider with --model, or another agent with --agent; holdfast agents lists them",
  ],
  program_missing: [exitStatus.refused, "install the program, or correct its name"],
  sandbox_missing: [
    exitStatus.refused,
    "do what the message says (holdfast doctor tests it again), or give --no-sandbox to run without a sandbox",
  ],
  config_invalid: [exitStatus.usage, "correct the file at the line and key that the message names"],
  unknown_lane: [
    exitStatus.usage,
    "holdfast lanes explains the lanes; a lane of the repo must be in holdfast.yaml of the commit that the task begins with",
  ],
  lane_not_held: [
    exitStatus.refused,
    "give the task to an agent that the message names, with --agent, or choose another lane: holdfast lanes explains them",
  ],
  not_a_repo: [
    exitStatus.usage,
    "run it in a git repo, name one with --repo, or make one with git init; holdfast run --no-repo needs none",
  ],
  unsafe_repo: [
    exitStatus.refused,
    "if you trust the repo, tell git: git config --global --add safe.directory PATH, with the path in the message",
  ],
  repo_unreadable: [
    exitStatus.refused,
    "let the task's user read the repo's objects as the message says, give the repo to a user of its own (chown -R), or give --no-sandbox",
  ],
  base_missing: [exitStatus.notFound, "fetch the commit into the repo, or name another one with --base"],
  directory_missing: [
    exitStatus.notFound,
    "name another directory with --cwd; a capsule has only the directories that are committed",
  ],
  checkout_unmerged: [exitStatus.conflict, "resolve them in the checkout first, or run it without --dirty"],
  no_repo: [
    exitStatus.refused,
    "name a repo with --repo when you open or import the session; without a repo, holdfast handoff gives you the files",
  ],
  no_capsule: [exitStatus.refused, "holdfast restore restores the files of a task"],
  no_snapshot: [exitStatus.notFound, "holdfast log shows the checkpoints"],
  capsule_exists: [exitStatus.refused, "holdfast teardown removes the capsule that exists"],
  strategy_unavailable: [
    exitStatus.refused,
    "holdfast doctor shows what this machine can do, and how to enable more",
  ],
  mount_failed: [
    exitStatus.refused,
    "holdfast doctor tests whether overlays work here; capsule.strategy: worktree always works",
  ],
  setup_failed: [exitStatus.failed, "correct capsule.setup in holdfast.yaml; its output is above"],
  ports_exhausted: [exitStatus.refused, "tear down capsules that are no longer needed: holdfast teardown"],
  processes_remain: [exitStatus.refused, "end these processes yourself, then try again; nothing was removed"],
  snapshot_too_large: [
    exitStatus.refused,
    "remove the file that the message names, or raise capsule.max_snapshot_mb or max_ignored_mb (quota.disk_mb in settings.yaml limits both); the capsule stays as it is",
  ],
  snapshot_raced: [exitStatus.refused, "end the program that writes to the capsule, then try again"],
  snapshot_invalid: [
    exitStatus.damaged,
    "this snapshot can't be restored, but an earlier turn may be: holdfast fork --at",
  ],
  needs_review: [
    exitStatus.held,
    "look at the work (holdfast diff, or holdfast handoff), then publish it: holdfast branch --reviewed",
  ],
  work_conflicts: [
    exitStatus.conflict,
    "begin without that work (--fresh or --base), or merge the two yourself: holdfast handoff",
  ],
  merge_conflicts: [
    exitStatus.conflict,
    "nothing was changed; do what the message says, or merge its branch yourself with git merge",
  ],
  merge_refused: [
    exitStatus.refused,
    "do what the message says, then merge again; what the message does not name is as it was",
  ],
  nothing_to_merge: [
    exitStatus.notFound,
    "holdfast show shows what the session has, and holdfast branch publishes it",
  ],
  branch_not_found: [exitStatus.notFound, "name an existing branch of the repo; git branch lists them"],
  checks_failed: [
    exitStatus.failed,
    "holdfast checks shows what failed; correct it in the session, then merge again; --no-verify merges without checks",
  ],
  git_too_old: [exitStatus.refused, "install a newer git; with this one, everything except merging works"],
  publish_refused: [exitStatus.refused, "the work is safe in its snapshot: holdfast diff shows it"],
  output_too_large: [exitStatus.refused, "look at it in the repo: the branch and the snapshot are complete"],
  git_failed: [exitStatus.refused, "the message has git's own error text"],
  interrupted: [exitStatus.interrupted, "run it again"],
  arrived_before: [exitStatus.conflict, "to send another message or task, use a new id"],
  queue_full: [exitStatus.refused, "wait until some of its tasks are done"],
  inbox_full: [exitStatus.refused, "wait until the agent has read some of its messages"],
  message_too_large: [exitStatus.usage, "put the text into a file of the repo, and send its path"],
  secret_not_kept: [exitStatus.refused, "give the command again, preferably without the secret"],
  env_missing: [
    exitStatus.refused,
    "set the variable that the message names and try again, or give it a value: --env NAME=VALUE, with holdfast run and holdfast retry",
  ],
  no_task: [exitStatus.notFound, "give the session a task: holdfast run --session"],
  not_running: [exitStatus.refused, "holdfast show shows its state; holdfast resume continues it"],
  process_lost: [
    exitStatus.failed,
    "nothing is lost: holdfast show shows the session's state; holdfast resume continues it",
  ],
  process_silent: [exitStatus.refused, "the process does not respond: holdfast resume --take-over ends it"],
  start_failed: [
    exitStatus.refused,
    "the message has the last line that the process wrote, if any; the session's log/host.log has the rest",
  ],
  invalid_host: [
    exitStatus.usage,
    "write a host as registry.npmjs.org, example.org:8443, *.example.org, or localhost:5432 for a port of this machine",
  ],
  network_failed: [exitStatus.refused, "holdfast doctor tests the sandbox, and shows what fails"],
  key_missing: [
    exitStatus.refused,
    "do what the message says, then holdfast resume; holdfast doctor shows what was found for each provider",
  ],
  login_expired: [
    exitStatus.refused,
    "run claude once, which renews the login, or make a long-lived token with claude setup-token and set CLAUDE_CODE_OAUTH_TOKEN; logins.claude.refresh in settings.yaml lets the broker renew the login",
  ],
  unknown_provider: [
    exitStatus.usage,
    "name anthropic, openai, gemini, or one of providers in settings.yaml",
  ],
  request_refused: [exitStatus.refused, "only requests to models are passed on to a provider"],
  provider_unreachable: [
    exitStatus.refused,
    "check the network, and base_url of the provider in settings.yaml",
  ],
  token_revoked: [exitStatus.refused, "holdfast token rotate gives the session a new one"],
  broker_failed: [exitStatus.refused, "try again: the next request starts another broker"],
  serve_running: [exitStatus.refused, "use the holdfast serve that is running, or end it first"],
  address_refused: [exitStatus.usage, "give a loopback address, for example 127.0.0.1:7070"],
  terminal_missing: [exitStatus.refused, "run it in a terminal; holdfast run without -i needs none"],
  no_terminal: [
    exitStatus.refused,
    "send the text without --type, as a message that waits in the inbox; holdfast run -i gives a command a terminal",
  ],
  quota_reached: [
    exitStatus.refused,
    "raise quota in settings.yaml of the home (and in holdfast.yaml, if the repo sets less), or remove files: holdfast handoff",
  ],
  handoff_open: [exitStatus.refused, "take the files back first: holdfast handoff --return"],
  agent_running: [
    exitStatus.refused,
    "wait until the agent is done, or give --force; holdfast pause ends it and loses nothing",
  ],
  unpublished_work: [
    exitStatus.refused,
    "holdfast diff shows the work, and holdfast branch publishes it (for an earlier turn, after holdfast rewind); commits that only its branch has stay without --branches, or once you git merge them; --force removes all of it",
  ],
  session_kept: [exitStatus.refused, "undo it with holdfast keep --undo, or give --force"],
} as const satisfies Record<string, readonly [number, string]>;

/** The code of an expected failure; docs/errors.md lists them. */
export type ErrorCode = keyof typeof errorCodes;

/** An expected failure: what happened, by its code, and what to do about it. */
export class HoldfastError extends Error {
  /** Tells it from other errors, also across realms. */
  override readonly name = "HoldfastError";
  /** Which failure it is. */
  readonly code: ErrorCode;
  /** Facts for programs: a pid, a seq, a path. Never a secret. */
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, facts: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.facts = facts;
  }

  /** The exit status that the command line ends with. */
  get exitStatus(): number {
    return errorCodes[this.code][0];
  }

  /** What a person can do about it. */
  get wayOut(): string {
    return errorCodes[this.code][1];
  }
}

/** Whether it is an expected failure, and of this code. */
export function isHoldfastError(error: unknown, code?: ErrorCode): error is HoldfastError {
  return error instanceof HoldfastError && (code === undefined || error.code === code);
}
