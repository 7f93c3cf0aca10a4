/**
 * Owns which part of what is known of a session the library shows.
 */
import type { SessionView as InnerView } from "../dispatch/index.ts";
import type { SessionView, TaskView } from "./views.ts";

export function viewOf(view: InnerView): SessionView {
  const { id, user, name, title, agent, repo, tags, metadata, standing, why, pid, createdAt, updatedAt } =
    view;
  const { turns, records, budget, spent, task, queue, unread, isKept, parent, damage } = view;
  return {
    ...{ id, user, name, title, agent, repo, tags, metadata, standing, why, pid, createdAt, updatedAt },
    ...{ turns, records, budget, spent, queue, unread, isKept },
    task: task && taskView(task),
    parent: parent && { id: parent.id, turn: parent.turn },
    damage: damage ? { file: damage.file, offset: damage.offset, reason: damage.reason } : null,
  };
}

function taskView(task: NonNullable<InnerView["task"]>): TaskView {
  const { number, request, outcome, lane, base, verified, parked, changed, exitCode, signal, branch } = task;
  return {
    ...{ number, request, outcome, base, verified, parked, changed, exitCode, signal, branch },
    lane: lane?.name ?? null,
    commit: task.published,
  };
}
