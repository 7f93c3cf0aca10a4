/**
 * Owns the list of verbs. A verb's file is loaded when it is called, so the start costs only what it needs.
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
    summary: "a tour of what holdfast does, in a throwaway home",
    load: () => import("./verbs/demo.ts"),
  },
  {
    name: "run",
    summary: "run a command as a task, in a capsule of its own",
    load: () => import("./verbs/run.ts"),
  },
  {
    name: "attach",
    summary: "look on while a session works, and speak to it",
    load: () => import("./verbs/attach.ts"),
  },
  {
    name: "wait",
    summary: "wait until sessions have nothing left to do",
    load: () => import("./verbs/wait.ts"),
  },
  { name: "queue", summary: "what waits in a session", load: () => import("./verbs/queue.ts") },
  {
    name: "cancel",
    summary: "take a task back that waits, or interrupt it",
    load: () => import("./verbs/cancel.ts"),
  },
  { name: "send", summary: "send a message to a session", load: () => import("./verbs/send.ts") },
  {
    name: "interrupt",
    summary: "end the turn that a session is at",
    load: () => import("./verbs/interrupt.ts"),
  },
  {
    name: "checks",
    summary: "what the checks said of a task's work",
    load: () => import("./verbs/checks.ts"),
  },
  {
    name: "branch",
    summary: "publish what a session has, also of a task that failed",
    load: () => import("./verbs/branch.ts"),
  },
  {
    name: "merge",
    summary: "merge a session's work into a branch of yours",
    load: () => import("./verbs/merge.ts"),
  },
  {
    name: "rebase",
    summary: "bring a session onto a newer branch of yours",
    load: () => import("./verbs/rebase.ts"),
  },
  {
    name: "conflicts",
    summary: "which sessions will collide when they are merged",
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
    summary: "let the task that runs reach a host",
    load: () => import("./verbs/allow.ts"),
  },
  { name: "lanes", summary: "what tasks may do, lane by lane", load: () => import("./verbs/lanes.ts") },
  {
    name: "trust",
    summary: "accept what a repo's holdfast.yaml asks for",
    load: () => import("./verbs/trust.ts"),
  },
  { name: "new", summary: "open a session without a task", load: () => import("./verbs/new.ts") },
  {
    name: "open",
    summary: "open a session's files in your editor",
    load: () => import("./verbs/open.ts"),
  },
  { name: "shell", summary: "a shell in a session's files", load: () => import("./verbs/shell.ts") },
  { name: "ls", summary: "list sessions", load: () => import("./verbs/ls.ts") },
  { name: "show", summary: "what a session is and how it stands", load: () => import("./verbs/show.ts") },
  { name: "log", summary: "what happened in a session", load: () => import("./verbs/log.ts") },
  { name: "output", summary: "what a task wrote", load: () => import("./verbs/output.ts") },
  { name: "search", summary: "find words in all sessions", load: () => import("./verbs/search.ts") },
  { name: "usage", summary: "what was spent", load: () => import("./verbs/usage.ts") },
  {
    name: "agents",
    summary: "which agents are here, and whose models they can use",
    load: () => import("./verbs/agents.ts"),
  },
  {
    name: "budget",
    summary: "what a session may spend, and raise that",
    load: () => import("./verbs/budget.ts"),
  },
  { name: "pause", summary: "pause a session", load: () => import("./verbs/pause.ts") },
  {
    name: "resume",
    summary: "make a session ready to go on, after a pause, a close or a crash",
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
    summary: "keep a session from retention and gc",
    load: () => import("./verbs/keep.ts"),
  },
  {
    name: "fork",
    summary: "a new session with the history up to a turn",
    load: () => import("./verbs/fork.ts"),
  },
  {
    name: "handoff",
    summary: "give the files to a person, and take them back",
    load: () => import("./verbs/handoff.ts"),
  },
  { name: "diff", summary: "what a session changed", load: () => import("./verbs/diff.ts") },
  {
    name: "teardown",
    summary: "take a session's capsule away; nothing is lost",
    load: () => import("./verbs/teardown.ts"),
  },
  {
    name: "restore",
    summary: "bring the files back after a teardown",
    load: () => import("./verbs/restore.ts"),
  },
  { name: "audit", summary: "check what a session has on disk", load: () => import("./verbs/audit.ts") },
  {
    name: "doctor",
    summary: "what this machine can do, and how the sessions stand",
    load: () => import("./verbs/doctor.ts"),
  },
  {
    name: "gc",
    summary: "archive what is old, clear what was left over",
    load: () => import("./verbs/gc.ts"),
  },
  { name: "export", summary: "everything of a session in one file", load: () => import("./verbs/export.ts") },
  { name: "import", summary: "take a session in from such a file", load: () => import("./verbs/import.ts") },
  {
    name: "serve",
    summary: "look after a home, and answer its API",
    load: () => import("./verbs/serve.ts"),
  },
  {
    name: "token",
    summary: "change or revoke a session's token",
    load: () => import("./verbs/token.ts"),
  },
  {
    name: "completion",
    summary: "completion for bash, zsh or fish",
    load: () => import("./verbs/completion.ts"),
  },
];
