/**
 * Owns the list of what a fork and what an import inherit of the session before them. Every part of the state stands
 * in it, so that a new one can't be forgotten.
 *
 * - `kept`: as the records before it left it.
 * - `dropped`: as in a session that has just begun.
 * - `recorded`: as the record of the fork or the import says.
 */
import { emptyState, type SessionState } from "../state.ts";
import { newTask, type TaskState } from "../task-state.ts";
import { inTask } from "./latest-task.ts";

type Newcomer = "fork" | "import";
type Way = "kept" | "dropped" | "recorded";
type Ways<S> = { readonly [K in keyof S]-?: Readonly<Record<Newcomer, Way>> };

const both = (way: Way) => ({ fork: way, import: way });

export const inheritance: Ways<Omit<SessionState, "task">> = {
  // A fork is another session; an import is the same one elsewhere, perhaps under another name.
  id: { fork: "recorded", import: "kept" },
  user: both("recorded"),
  name: both("recorded"),
  agent: { fork: "recorded", import: "kept" },
  // It names programs, variables and a lane, and was accepted elsewhere, if at all: here the repo's file is asked again.
  definition: { fork: "recorded", import: "dropped" },
  title: { fork: "recorded", import: "kept" },
  createdAt: { fork: "recorded", import: "kept" },
  parent: { fork: "recorded", import: "kept" },
  // The repo of an import is a path of another machine.
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
  // None is open: both are refused while one is.
  openTurn: both("kept"),
  // A fork's budget is its parent's, or another; what it spends is its own. An import that would go beyond the limits of
  // the user's own settings gets these, by a record that follows.
  budget: { fork: "recorded", import: "kept" },
  spent: { fork: "dropped", import: "kept" },
  // They were made for another session, or under other rules.
  pending: both("dropped"),
  // What waits was asked of another session, or elsewhere by another person perhaps: nothing of it runs here.
  queue: both("dropped"),
  arrived: both("dropped"),
  lastSent: both("dropped"),
  crashes: both("dropped"),
  handoff: both("dropped"),
  // Messages for another user are not this one's to read.
  unread: { fork: "dropped", import: "recorded" },
  isKept: { fork: "dropped", import: "kept" },
  branch: { fork: "dropped", import: "kept" },
  // The branch that it was merged into is one of this repo, or of another.
  merged: { fork: "kept", import: "dropped" },
  merging: both("dropped"),
  head: both("kept"),
  // Of a task: what comes after it is asked anew.
  waivedTask: both("dropped"),
  hadValues: both("kept"),
  // It lies in HOME. Where that did not come along, its agent says that it is not there. Of the agent it has the name
  // alone: which program that is, is decided here.
  conversation: both("kept"),
  // Unless it came along, an import's HOME stays where it was.
  home: { fork: "kept", import: "recorded" },
};

/** Of the latest task. Its capsule stays where it was, and no process here was asked for it. */
export const taskInheritance: Ways<TaskState> = {
  number: both("kept"),
  request: both("dropped"),
  asked: both("kept"),
  base: both("kept"),
  // What was allowed there was allowed to another session, or by somebody else.
  lane: both("dropped"),
  // So was doing without a sandbox.
  isSandboxed: both("dropped"),
  outcome: both("kept"),
  stage: both("dropped"),
  acted: both("dropped"),
  // What was verified elsewhere was verified there.
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

/** What changes before anything of the record is added. */
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
