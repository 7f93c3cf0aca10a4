/**
 * Owns the list of what a fork and an import inherit from the session before them. Every field of the state
 * is listed, so a new field can't be forgotten.
 *
 * - `kept`: as the earlier records left it.
 * - `dropped`: as in a session that has just begun.
 * - `recorded`: as the record of the fork or the import sets it.
 */
import { emptyState, type SessionState } from "../state.ts";
import { newTask, type TaskState } from "../task-state.ts";
import { inTask } from "./latest-task.ts";

type Newcomer = "fork" | "import";
type Way = "kept" | "dropped" | "recorded";
type Ways<S> = { readonly [K in keyof S]-?: Readonly<Record<Newcomer, Way>> };

const both = (way: Way) => ({ fork: way, import: way });

export const inheritance: Ways<Omit<SessionState, "task">> = {
  // A fork is another session. An import is the same session elsewhere, perhaps under another name.
  id: { fork: "recorded", import: "kept" },
  user: both("recorded"),
  name: both("recorded"),
  agent: { fork: "recorded", import: "kept" },
  // A definition names programs, variables and a lane. If it was accepted, that was elsewhere, so the repo's
  // file is read again here.
  definition: { fork: "recorded", import: "dropped" },
  title: { fork: "recorded", import: "kept" },
  tags: both("kept"),
  metadata: both("kept"),
  createdAt: { fork: "recorded", import: "kept" },
  parent: { fork: "recorded", import: "kept" },
  // The repo path of an import is a path on another machine.
  repo: both("recorded"),
  lacksRepo: both("recorded"),
  status: both("recorded"),
  pausedFor: both("recorded"),
  updatedAt: both("recorded"),
  seq: both("recorded"),
  hash: both("recorded"),
  unknown: both("kept"),
  oddities: both("kept"),
  turns: both("kept"),
  history: both("kept"),
  // Neither can exist here: a fork and an import are both refused while a turn is open.
  openTurn: both("kept"),
  // A fork gets its parent's budget or one of its own, and counts its own spending. If an import's budget is
  // beyond the limits of the user's settings, a record that follows sets these limits.
  budget: { fork: "recorded", import: "kept" },
  spent: { fork: "dropped", import: "kept" },
  // They were made for another session, or under other rules.
  pending: both("dropped"),
  grants: both("dropped"),
  // Queued tasks were asked of another session, or perhaps by another person elsewhere: none of them runs
  // here.
  queue: both("dropped"),
  arrived: both("dropped"),
  lastSent: both("dropped"),
  crashes: both("dropped"),
  handoff: both("dropped"),
  // Messages for another user must not be shown to this one.
  unread: { fork: "dropped", import: "recorded" },
  isKept: { fork: "dropped", import: "kept" },
  branch: { fork: "dropped", import: "kept" },
  // The session was merged into a branch of this repo, or for an import, of another.
  merged: { fork: "kept", import: "dropped" },
  merging: both("dropped"),
  head: both("kept"),
  // It belongs to a task; later tasks ask again.
  waivedTask: both("dropped"),
  hadValues: both("kept"),
  // The conversation lies in HOME. If HOME did not come along, the agent reports that it is missing. Only the
  // agent's name is inherited; this machine decides which program that is.
  conversation: both("kept"),
  // An import's HOME stays where it was unless it came along.
  home: { fork: "kept", import: "recorded" },
};

/** For the latest task. Its capsule stays where it was, and no process here was asked to run it. */
export const taskInheritance: Ways<TaskState> = {
  number: both("kept"),
  request: both("dropped"),
  asked: both("kept"),
  base: both("kept"),
  // These permissions were given to another session, or by another person.
  lane: both("dropped"),
  // The same holds for running without a sandbox.
  isSandboxed: both("dropped"),
  outcome: both("kept"),
  stage: both("dropped"),
  acted: both("dropped"),
  // An import's checks were run on another machine.
  verified: { fork: "kept", import: "dropped" },
  parked: both("dropped"),
  changed: both("kept"),
  exitCode: both("kept"),
  signal: both("kept"),
  capsule: both("dropped"),
  snapshot: both("kept"),
  branch: { fork: "dropped", import: "kept" },
  published: both("kept"),
  hasUnpublished: both("kept"),
  isHeld: both("kept"),
  hadValuesBefore: both("kept"),
  headBefore: both("kept"),
};

/** The part of the state that changes before the record itself is applied. */
export function inherited(state: SessionState, newcomer: Newcomer): Partial<SessionState> {
  return {
    ...dropped(emptyState, inheritance, newcomer),
    ...inTask(state, dropped(newTask, taskInheritance, newcomer)),
  };
}

function dropped<S extends object>(empty: S, ways: Partial<Ways<S>>, newcomer: Newcomer): Partial<S> {
  const names = (Object.keys(ways) as (keyof S)[]).filter((name) => ways[name]?.[newcomer] === "dropped");
  return Object.fromEntries(names.map((name) => [name, empty[name]])) as Partial<S>;
}
