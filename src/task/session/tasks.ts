/**
 * Owns how a session gets its task: the files that the task begins with and that are saved at the end. A
 * session's files and its history are always of the same moment.
 */
import { existsSync } from "node:fs";
import { moveToTrash, sweepTrash } from "../../capsule/index.ts";
import { capsuleIo, type Home, repoOf, repoPathOf, sessionDirOf } from "../../home/index.ts";
import { idOf, Maildir } from "../../mail/index.ts";
import type { Session } from "../../session/index.ts";
import { inboxDir, outboxDir, trashDir } from "../../util/index.ts";
import { settleFiles } from "../files/begin.ts";
import { finishRewind } from "../files/rewind.ts";
import { locatingDamage } from "../files/snapshot-damage.ts";
import { type Restored, restore } from "../files/teardown.ts";
import { bringHome, lacksHome } from "../home/session-home.ts";
import type { TaskOptions } from "../in-hand.ts";
import { openCapsule, type Room } from "../room/room.ts";
import { makeCapsule } from "../stages/capsule.ts";
import { findRoute } from "../stages/route.ts";
import { Task } from "../task.ts";

export async function roomOf(home: Home, session: Session): Promise<Room> {
  return {
    io: capsuleIo(home),
    session,
    sessionDir: sessionDirOf(home, session.id),
    trashDir: trashDir(home.dir),
    repo: await repoOf(home, session.state),
  };
}

/** Starts a new task in an open session. */
export async function startTask(home: Home, session: Session, options: TaskOptions = {}): Promise<Task> {
  const room = await roomOf(home, session);
  return locatingDamage(home, keeperOf(home, session), async () => {
    const route = await findRoute(room, options);
    return makeCapsule(room, route, options);
  });
}

/** The argument that `locatingDamage` takes. */
export function keeperOf(home: Home, { id, state }: Session) {
  return { id, dir: sessionDirOf(home, id), repo: repoPathOf(home, state) };
}

/** Removes a session that was opened for a task that could not be started, if it never did anything else. */
export async function discardUnused(home: Home, session: Session): Promise<boolean> {
  const { task, turns, unread, queue, parent } = session.state;
  if (task || parent || turns > 0 || unread.length > 0 || queue.length > 0) return false;
  const sessionDir = sessionDirOf(home, session.id);
  for (const dir of [inboxDir(sessionDir), outboxDir(sessionDir)]) {
    const mail = new Maildir(home.io.disk, dir);
    // Requests to its process that were not read before it ended are no reason to keep the session.
    if ((await mail.waiting()).some((one) => /^(msg|task)_/.test(idOf(one)))) return false;
  }
  await discard(home, session);
  return true;
}

/** The task that an open session is at, for further turns after a resume. */
export async function currentTask(
  home: Home,
  session: Session,
  options: Pick<TaskOptions, "sandbox"> = {},
): Promise<Task> {
  return Task.current(await roomOf(home, session), options);
}

/** Restores the files of a session's last checkpoint, unless its capsule is there. */
export async function bringFiles(home: Home, session: Session): Promise<Restored | undefined> {
  // An imported session without a repo: its files stay aside, and its history goes on.
  if (!session.state.task || repoPathOf(home, session.state) === null) return undefined;
  const isRewound = session.state.task.capsule === "rewound";
  if (isRewound || lacksHome(session, sessionDirOf(home, session.id))) {
    const room = await roomOf(home, session);
    await bringHome(room);
    await finishRewind(room);
  }
  const { task } = session.state;
  if (task.snapshot === null && task.capsule !== "there") return undefined;
  const room = await roomOf(home, session);
  const capsule = await openCapsule(room);
  if (!capsule)
    return task.snapshot ? locatingDamage(home, keeperOf(home, session), () => restore(room)) : undefined;
  if (task.capsule !== "there")
    await session.append("capsule_restored", { task: task.number, snapshot: task.snapshot?.commit ?? "" });
  return undefined;
}

/** Before a pause or a close: takes a checkpoint of the files, and ends all processes of the task. */
export async function restFiles(home: Home, session: Session): Promise<void> {
  const { task } = session.state;
  const repo = repoPathOf(home, session.state);
  if (task?.capsule !== "there" || repo === null || !existsSync(repo)) return;
  const room = await roomOf(home, session);
  const capsule = await openCapsule(room);
  if (!capsule) return;
  try {
    await locatingDamage(home, keeperOf(home, session), () => settleFiles(room, capsule));
  } finally {
    await capsule.detach();
  }
}

export async function discard(home: Home, session: Session): Promise<void> {
  const dir = sessionDirOf(home, session.id);
  await session.release(() => moveToTrash(home.io.disk, trashDir(home.dir), dir, `${session.id}-unused`));
  await sweepTrash(trashDir(home.dir));
}
