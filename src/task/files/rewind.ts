/**
 * Owns the rewind: files, HOME and conversation of a session go back to the end of a turn, in place. Nothing is lost by
 * it: what is left behind is in a checkpoint first, its turns stay in the journal, and a rewind to one of them undoes it.
 *
 * T4 A turn's number is never used again, and what a rewind left behind can be gone back to.
 * What a kill leaves: before the record, a capsule that was put away; after it, one that is made when it is needed.
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
  /** Of the files that were left behind; null where there were none. */
  readonly checkpoint: string | null;
  /** Of the files that it has now. */
  readonly snapshot: string | null;
}

/** `there`: the state at the end of that turn, as the journal has it. */
export async function rewind(room: Room, there: SessionState): Promise<Rewound> {
  const { session } = room;
  // What was published is of the turns that are left behind.
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

/** What a rewind still has to do, if something: also of one that was cut off. */
export async function finishRewind(room: Room): Promise<void> {
  const { session } = room;
  const { task } = session.state;
  if (task?.capsule !== "rewound") return;
  if (task.snapshot && !(await openCapsule(room))) return void (await restore(room));
  await bringHome(room);
  // It was made, and then the record was cut off.
  if (task.snapshot)
    await session.append("capsule_restored", { task: task.number, snapshot: task.snapshot.commit });
}

function stateOf({ task, head, home, history }: SessionState) {
  const { snapshot } = task ?? {};
  // Before anything ran, HOME was empty; of a turn of an earlier version nothing is known of it.
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
