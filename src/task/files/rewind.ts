/**
 * Owns the rewind: files, HOME and conversation of a session go back to the end of a turn, in place. Nothing
 * is lost. The present files go into a checkpoint first, the undone turns stay in the journal, and a rewind
 * to one of them brings it back.
 *
 * rewind-1 A turn's number is never used again, and a later rewind can return to the turns that this one
 *    undid. What a kill leaves: before the record, a capsule that was put away; after it, a capsule that is
 *    made when it is needed.
 */
import { lastTurnOf, type SessionState } from "../../session/index.ts";
import { present } from "../../util/index.ts";
import { bringHome } from "../home/session-home.ts";
import { finishPublishing } from "../results/publishing.ts";
import { openCapsule, type Room } from "../room/room.ts";
import { restore, tearDown } from "./teardown.ts";

export interface Rewound {
  readonly fromTurn: number;
  readonly toTurn: number;
  /** The snapshot of the files before the rewind; null when there were none. */
  readonly checkpoint: string | null;
  /** The snapshot of the files that the session has now. */
  readonly snapshot: string | null;
}

/** `there`: the state at the end of that turn, according to the journal. */
export async function rewind(room: Room, there: SessionState): Promise<Rewound> {
  const { session } = room;
  // A publication in progress belongs to the turns that are undone.
  await finishPublishing(room);
  const fromTurn = lastTurnOf(session.state);
  const toTurn = lastTurnOf(there);
  if (await openCapsule(room)) await tearDown(room, { isReplaced: true });
  const checkpoint = session.state.task?.snapshot?.commit ?? null;
  await session.append("session_rewound", {
    toTurn,
    fromTurn,
    ...present({ checkpoint: checkpoint ?? undefined }),
    ...stateOf(there),
  });
  await finishRewind(room);
  return { fromTurn, toTurn, checkpoint, snapshot: there.task?.snapshot?.commit ?? null };
}

/** Completes a rewind, including one that a kill cut off. Does nothing when there is nothing left to do. */
export async function finishRewind(room: Room): Promise<void> {
  const { session } = room;
  const { task } = session.state;
  if (task?.capsule !== "rewound") return;
  if (task.snapshot && !(await openCapsule(room))) return void (await restore(room));
  await bringHome(room);
  // The capsule was made, and the kill came before the record.
  if (task.snapshot)
    await session.append("capsule_restored", { task: task.number, snapshot: task.snapshot.commit });
}

function stateOf({ task, head, home, history }: SessionState) {
  const { snapshot } = task ?? {};
  // Before the first task HOME was empty. For a turn of an earlier version, its HOME is not known.
  const known = home ?? (history.length === 0 ? { commit: "", manifest: "" } : undefined);
  return {
    history: history.map(([first, last]): [number, number] => [first, last]),
    ...(snapshot && { snapshot: snapshot.commit, tree: snapshot.tree, manifest: snapshot.manifest }),
    ...(snapshot && snapshot.unanswered > 0 && { unanswered: snapshot.unanswered }),
    ...present({
      base: task?.base ?? undefined,
      published: task?.published ?? undefined,
      head: head ?? undefined,
      home: known && (known.commit === "" ? {} : { snapshot: known.commit, manifest: known.manifest }),
    }),
    ...(task?.hasUnpublished && { hasUnpublished: true }),
    ...(task?.isHeld && { isHeld: true }),
  };
}
