/**
 * Owns the list of verbs. The file of a verb is loaded only when the verb is called, which keeps a start
 * short.
 */
import type { Command } from "commander";

export interface VerbEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<{ command(): Command }>;
}

export const verbs: readonly VerbEntry[] = [
  {
    name: "demo",
    summary: "take a tour of what holdfast does, in a temporary home",
    load: () => import("./verbs/demo.ts"),
  },
  {
    name: "run",
    summary: "run an agent or a command as a task, in a capsule of its own",
    load: () => import("./verbs/run.ts"),
  },
  {
    name: "attach",
    summary: "watch a session while it works, and send it messages",
    load: () => import("./verbs/attach.ts"),
  },
  {
    name: "wait",
    summary: "wait until sessions have nothing left to do",
    load: () => import("./verbs/wait.ts"),
  },
  { name: "queue", summary: "list the tasks that wait in a session", load: () => import("./verbs/queue.ts") },
  {
    name: "cancel",
    summary: "cancel a task that waits, or interrupt the one that runs",
    load: () => import("./verbs/cancel.ts"),
  },
  { name: "send", summary: "send a message to a session", load: () => import("./verbs/send.ts") },
  {
    name: "interrupt",
    summary: "end the open turn of a session",
    load: () => import("./verbs/interrupt.ts"),
  },
  { name: "tools", summary: "list the tools of a session", load: () => import("./verbs/tools.ts") },
  {
    name: "checks",
    summary: "show the results of a task's checks",
    load: () => import("./verbs/checks.ts"),
  },
  {
    name: "branch",
    summary: "publish a session's work, even if its task failed",
    load: () => import("./verbs/branch.ts"),
  },
  {
    name: "merge",
    summary: "merge a session's work into a branch of yours",
    load: () => import("./verbs/merge.ts"),
  },
  {
    name: "rebase",
    summary: "rebase a session onto a branch of yours",
    load: () => import("./verbs/rebase.ts"),
  },
  {
    name: "conflicts",
    summary: "show which sessions will conflict when they are merged",
    load: () => import("./verbs/conflicts.ts"),
  },
  {
    name: "rewind",
    summary: "take a session back to the end of a turn, or forward again",
    load: () => import("./verbs/rewind.ts"),
  },
  { name: "retry", summary: "run the last task again", load: () => import("./verbs/retry.ts") },
  {
    name: "allow",
    summary: "let a running task reach one more host",
    load: () => import("./verbs/allow.ts"),
  },
  {
    name: "approvals",
    summary: "list what waits for you: actions to approve, questions to answer",
    load: () => import("./verbs/approvals.ts"),
  },
  {
    name: "approve",
    summary: "approve one action of a session, once",
    load: () => import("./verbs/approve.ts"),
  },
  {
    name: "deny",
    summary: "deny an action of a session, with a reason",
    load: () => import("./verbs/deny.ts"),
  },
  {
    name: "answer",
    summary: "answer a question of a session's agent",
    load: () => import("./verbs/answer.ts"),
  },
  { name: "lanes", summary: "show what tasks may do, lane by lane", load: () => import("./verbs/lanes.ts") },
  {
    name: "trust",
    summary: "show and accept what a repo's holdfast.yaml asks for",
    load: () => import("./verbs/trust.ts"),
  },
  { name: "new", summary: "open a session without a task", load: () => import("./verbs/new.ts") },
  {
    name: "open",
    summary: "open a session's files in your editor",
    load: () => import("./verbs/open.ts"),
  },
  {
    name: "shell",
    summary: "open a shell in a running task's files",
    load: () => import("./verbs/shell.ts"),
  },
  { name: "ls", summary: "list sessions", load: () => import("./verbs/ls.ts") },
  {
    name: "show",
    summary: "show a session's state, and what to do next",
    load: () => import("./verbs/show.ts"),
  },
  { name: "log", summary: "show what happened in a session", load: () => import("./verbs/log.ts") },
  { name: "output", summary: "print what a task wrote", load: () => import("./verbs/output.ts") },
  {
    name: "search",
    summary: "find words in the records of all sessions",
    load: () => import("./verbs/search.ts"),
  },
  { name: "usage", summary: "show what sessions have spent", load: () => import("./verbs/usage.ts") },
  {
    name: "agents",
    summary: "list the agents that are installed, and their providers",
    load: () => import("./verbs/agents.ts"),
  },
  {
    name: "budget",
    summary: "show or raise what a session may spend",
    load: () => import("./verbs/budget.ts"),
  },
  { name: "pause", summary: "pause a session", load: () => import("./verbs/pause.ts") },
  {
    name: "resume",
    summary: "resume a session after a pause, a close or a crash",
    load: () => import("./verbs/resume.ts"),
  },
  { name: "close", summary: "close a session", load: () => import("./verbs/close.ts") },
  {
    name: "archive",
    summary: "compress a session that is over; it stays readable",
    load: () => import("./verbs/archive.ts"),
  },
  { name: "rm", summary: "remove a session for good", load: () => import("./verbs/rm.ts") },
  {
    name: "keep",
    summary: "protect a session from retention and gc",
    load: () => import("./verbs/keep.ts"),
  },
  {
    name: "fork",
    summary: "make a new session with the history and files of a turn",
    load: () => import("./verbs/fork.ts"),
  },
  {
    name: "handoff",
    summary: "give a session's files to a person, and take them back",
    load: () => import("./verbs/handoff.ts"),
  },
  { name: "diff", summary: "show what a session changed", load: () => import("./verbs/diff.ts") },
  {
    name: "teardown",
    summary: "remove a session's capsule, after a snapshot",
    load: () => import("./verbs/teardown.ts"),
  },
  {
    name: "restore",
    summary: "restore the files after a teardown",
    load: () => import("./verbs/restore.ts"),
  },
  { name: "audit", summary: "check what a session has on disk", load: () => import("./verbs/audit.ts") },
  {
    name: "doctor",
    summary: "check this machine and all sessions",
    load: () => import("./verbs/doctor.ts"),
  },
  {
    name: "gc",
    summary: "archive old sessions, and remove what crashes left behind",
    load: () => import("./verbs/gc.ts"),
  },
  { name: "export", summary: "write a whole session into one file", load: () => import("./verbs/export.ts") },
  {
    name: "import",
    summary: "import a session from an export file",
    load: () => import("./verbs/import.ts"),
  },
  {
    name: "serve",
    summary: "run the supervisor and the HTTP API of a home",
    load: () => import("./verbs/serve.ts"),
  },
  {
    name: "token",
    summary: "replace or revoke a session's token",
    load: () => import("./verbs/token.ts"),
  },
  {
    name: "completion",
    summary: "print a completion script for bash, zsh or fish",
    load: () => import("./verbs/completion.ts"),
  },
];
