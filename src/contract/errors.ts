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
  invalid_id: [exitStatus.usage, "give a session by its name or its id; holdfast ls lists them"],
  invalid_name: [
    exitStatus.usage,
    "names have small letters, digits and hyphens, a letter first, and 40 characters at most",
  ],
  name_taken: [exitStatus.conflict, "choose another name, or leave it out: one is made then"],
  invalid_data: [exitStatus.usage, "correct the fields that the message names"],
  unknown_event: [exitStatus.usage, "events of your own are of type custom, with a name"],
  record_too_large: [exitStatus.usage, "put long content into one field: a long field becomes a blob"],
  session_not_found: [exitStatus.notFound, "holdfast ls --all lists the sessions of this user"],
  check_not_found: [exitStatus.notFound, "holdfast checks lists those that ran"],
  turn_not_found: [exitStatus.notFound, "holdfast log shows the turns"],
  ambiguous_id: [exitStatus.usage, "give the id, or more characters of it: holdfast ls --all lists them"],
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
  budget_reached: [
    exitStatus.budget,
    "raise it: holdfast budget --raise usd=5 say, holdfast resume --budget-…, or raiseBudget",
  ],
  disk_full: [
    exitStatus.refused,
    "free some space, holdfast gc may help; nothing was lost, and the session goes on then",
  ],
  append_failed: [exitStatus.refused, "the disk failed: resume the session, which checks what was written"],
  node_too_old: [exitStatus.refused, "install Node 24 or newer"],
  directory_gone: [exitStatus.refused, "go to another directory"],
  home_not_found: [exitStatus.notFound, "check --home and HOLDFAST_HOME; holdfast new makes a home"],
  home_unreadable: [exitStatus.refused, "check the path and its owner, or set HOLDFAST_HOME"],
  unsafe_permissions: [
    exitStatus.refused,
    "chmod 700 the directory, or 600 the file; or set HOLDFAST_HOME to a directory of your own",
  ],
  export_invalid: [exitStatus.usage, "give the path of a file that holdfast export wrote"],
  export_refused: [exitStatus.refused, "the file goes beyond the limits of an import"],
  file_unwritable: [exitStatus.refused, "choose a directory that is there and yours"],
  file_exists: [exitStatus.refused, "choose another name"],
  unknown_agent: [exitStatus.usage, "holdfast agents lists those that are known"],
  no_agent: [
    exitStatus.refused,
    "install one and give it a key (holdfast agents tells what was found), name one with --agent, or run a command: holdfast run -- CMD",
  ],
  agent_failed: [
    exitStatus.failed,
    "holdfast output shows what it said; the session is as it was before that turn, and holdfast retry runs the task again",
  ],
  no_model: [
    exitStatus.refused,
    "holdfast doctor says which keys were found; keys in settings.yaml, or a variable such as ANTHROPIC_API_KEY, give one",
  ],
  model_not_spoken: [
    exitStatus.usage,
    "name a model of another provider with --model, or another agent with --agent; holdfast agents lists them",
  ],
  program_missing: [exitStatus.refused, "install it, or correct the name"],
  sandbox_missing: [
    exitStatus.refused,
    "do what the message says (holdfast doctor tries it again), or say --no-sandbox to run it without a wall",
  ],
  config_invalid: [exitStatus.usage, "correct the file at the line and key that the message names"],
  unknown_lane: [
    exitStatus.usage,
    "holdfast lanes tells what each is; a lane of the repo's own has to be in holdfast.yaml of the commit that the task begins with",
  ],
  lane_not_held: [
    exitStatus.refused,
    "give it to an agent that the message names, with --agent, or choose another lane: holdfast lanes tells what each is",
  ],
  not_a_repo: [
    exitStatus.usage,
    "run it in a git repo, name one with --repo, or make one: git init; holdfast run --no-repo needs none",
  ],
  unsafe_repo: [
    exitStatus.refused,
    "if you trust it, say so to git: git config --global --add safe.directory PATH, as the message names it",
  ],
  repo_unreadable: [
    exitStatus.refused,
    "let the task's user read the repo's objects as the message says, give the repo to a user of its own (chown -R), or say --no-sandbox",
  ],
  base_missing: [exitStatus.notFound, "fetch the commit into the repo first, or name another with --base"],
  directory_missing: [
    exitStatus.notFound,
    "name another one with --cwd; a capsule has the directories that are committed",
  ],
  checkout_unmerged: [exitStatus.conflict, "resolve them in the checkout first, or run it without --dirty"],
  no_repo: [
    exitStatus.refused,
    "name one with --repo where it is opened or imported; of one without, holdfast handoff gives you the files",
  ],
  no_capsule: [exitStatus.refused, "holdfast restore brings the files of a task back"],
  no_snapshot: [exitStatus.notFound, "holdfast log shows the checkpoints"],
  capsule_exists: [exitStatus.refused, "holdfast teardown puts the one that is there away"],
  strategy_unavailable: [
    exitStatus.refused,
    "holdfast doctor says what this machine can do, and how to enable more",
  ],
  mount_failed: [
    exitStatus.refused,
    "holdfast doctor says whether overlays work here; capsule.strategy: worktree always does",
  ],
  setup_failed: [exitStatus.failed, "mend capsule.setup in holdfast.yaml; its output stands above"],
  ports_exhausted: [exitStatus.refused, "tear capsules down that are not needed any more"],
  processes_remain: [exitStatus.refused, "end them by hand, then try again; nothing was removed"],
  snapshot_too_large: [
    exitStatus.refused,
    "remove the file that is named, or raise capsule.max_snapshot_mb or max_ignored_mb (quota.disk_mb in settings.yaml caps both); the capsule stays as it is",
  ],
  snapshot_raced: [exitStatus.refused, "something writes to the capsule: end it, then try again"],
  snapshot_invalid: [exitStatus.damaged, "it can't be restored; an earlier turn may be: holdfast fork --at"],
  needs_review: [
    exitStatus.held,
    "look at it (holdfast diff, or holdfast handoff), then say holdfast branch --reviewed",
  ],
  work_conflicts: [
    exitStatus.conflict,
    "begin clean with --fresh or --base, or bring the two together by hand: holdfast handoff",
  ],
  merge_conflicts: [
    exitStatus.conflict,
    "nothing was changed; holdfast merge --resolve gives the conflict to the session, or git merge its branch by hand",
  ],
  merge_refused: [exitStatus.refused, "do what the message says, then merge again; nothing was changed"],
  nothing_to_merge: [
    exitStatus.notFound,
    "holdfast show tells what the session has, holdfast branch publishes it",
  ],
  branch_not_found: [exitStatus.notFound, "name a branch of the repo that is there: git branch lists them"],
  checks_failed: [
    exitStatus.failed,
    "holdfast checks shows what they said; mend it in the session, then merge again; --no-verify merges without checks",
  ],
  git_too_old: [exitStatus.refused, "install a newer git; everything but merging works with this one"],
  publish_refused: [exitStatus.refused, "the work is safe in its snapshot: holdfast diff shows it"],
  output_too_large: [exitStatus.refused, "look at it in the repo: the branch and the snapshot are whole"],
  git_failed: [exitStatus.refused, "the message has git's own words"],
  interrupted: [exitStatus.interrupted, "run it again"],
  arrived_before: [exitStatus.conflict, "it is there already: send another under a new id"],
  queue_full: [exitStatus.refused, "wait until some of its tasks are done"],
  inbox_full: [exitStatus.refused, "wait until the agent has read some of its messages"],
  message_too_large: [exitStatus.usage, "put it into a file of the repo, and send where it is"],
  secret_not_kept: [exitStatus.refused, "give it the command again, better without the secret"],
  env_missing: [
    exitStatus.refused,
    "set the variable that is named and say it again, or give it: --env NAME=VALUE, to holdfast run and to holdfast retry",
  ],
  no_task: [exitStatus.notFound, "holdfast run --session gives it one"],
  not_running: [exitStatus.refused, "holdfast show tells how it stands; holdfast resume goes on with it"],
  process_lost: [
    exitStatus.failed,
    "nothing is lost: holdfast show tells how it stands, holdfast resume goes on with it",
  ],
  process_silent: [exitStatus.refused, "it does not react: holdfast resume --take-over ends it"],
  start_failed: [
    exitStatus.refused,
    "the last thing that it said stands in the message, if there was any; the rest in the session's log/host.log",
  ],
  invalid_host: [
    exitStatus.usage,
    "name a host as registry.npmjs.org, example.org:8443, *.example.org, or localhost:5432 for a port of this machine",
  ],
  network_failed: [exitStatus.refused, "holdfast doctor tries the sandbox, and says what fails"],
  key_missing: [
    exitStatus.refused,
    "do what the message says, then holdfast resume; holdfast doctor tells what was found for each provider",
  ],
  login_expired: [
    exitStatus.refused,
    "run claude once, which renews it, or make a token that lasts with claude setup-token and set CLAUDE_CODE_OAUTH_TOKEN; logins.claude.refresh in settings.yaml lets the broker renew it",
  ],
  unknown_provider: [
    exitStatus.usage,
    "name anthropic, openai, gemini, or one of providers in settings.yaml",
  ],
  request_refused: [exitStatus.refused, "only requests to models are let through to a provider"],
  provider_unreachable: [
    exitStatus.refused,
    "check the network, and base_url of the provider in settings.yaml",
  ],
  token_revoked: [exitStatus.refused, "holdfast token rotate gives the session a new one"],
  broker_failed: [exitStatus.refused, "try it again: the next request starts another broker"],
  serve_running: [exitStatus.refused, "use that one, or end it first"],
  address_refused: [exitStatus.usage, "give a loopback address, 127.0.0.1:7070 say"],
  terminal_missing: [exitStatus.refused, "call it in a terminal; run without -i needs none"],
  no_terminal: [
    exitStatus.refused,
    "send it without --type: its inbox keeps it; holdfast run -i gives a command a terminal",
  ],
  quota_reached: [
    exitStatus.refused,
    "raise quota in settings.yaml of the home (and in holdfast.yaml, if the repo asks for less), or remove files: holdfast handoff",
  ],
  handoff_open: [exitStatus.refused, "holdfast handoff --return takes it back"],
  agent_running: [
    exitStatus.refused,
    "wait until it is done, or say --force; holdfast pause ends it and loses nothing",
  ],
  unpublished_work: [
    exitStatus.refused,
    "holdfast diff shows the work, holdfast branch publishes it, that of an earlier turn after holdfast rewind; what only its branch has stays without --branches, or once you git merge it; --force lets it go",
  ],
  session_kept: [exitStatus.refused, "holdfast keep --undo, or say --force"],
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
