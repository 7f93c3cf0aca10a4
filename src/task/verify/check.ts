/**
 * Owns running one check, and its receipt: on which tree it ran, with which command, and how it ended. A
 * check passes if it exits with 0 and leaves the tree as it was.
 *
 * verify-2 A receipt names the tree that the check ran on, and is recorded before it counts for anything.
 */
import { changedPaths, openStore, toText } from "../../capsule/index.ts";
import type { CheckSettings } from "../../config/index.ts";
import { contactFields } from "../../network/index.ts";
import { commandLine } from "../../redaction/index.ts";
import { present, printable, tellStep } from "../../util/index.ts";
import type { Room } from "../room/room.ts";
import type { CheckRoom, StepEnd } from "./check-room.ts";

export interface CheckedTree {
  readonly tree: string;
  readonly base: string | null;
  /** Nothing runs in the room after it: the room goes away while the receipt is written. */
  readonly isLast?: boolean;
}

export interface Check extends Pick<CheckSettings, "name" | "run" | "hosts" | "timeout_minutes"> {
  /** What to do if it changes the tree. */
  readonly advice?: string;
}

const ADVICE = "make it write only where git ignores it";

/** Whether it passed. Undefined: it was stopped from outside, and has no result. */
export async function runCheck(
  room: Room,
  place: CheckRoom,
  check: Check,
  { tree, base, isLast = false }: CheckedTree,
  stop: AbortSignal,
): Promise<boolean | undefined> {
  const { session, io } = room;
  const { task } = session.state;
  const of = { task: task?.number ?? 0, check: check.name, tree };
  tellStep(io.onProgress, `checking: ${check.name}`);
  await session.append("check_started", of);
  const { run: command, hosts, timeout_minutes: timeoutMinutes } = check;
  const stamp = place.stamp;
  const end = await place.run({ command, hosts, timeoutMinutes });
  if (end.contacts) {
    const used = { task: of.task, turn: session.state.turns, check: check.name };
    await session.append("network_used", { ...used, ...contactFields(end.contacts) });
  }
  if (stop.aborted) return undefined;
  const isUntouched = stamp !== undefined && stamp === place.stamp;
  const left = isUntouched ? undefined : await leftIn(room, place, tree);
  if (isLast) place.end();
  const reason = whyFailed(end) ?? (left && `it changed or left behind ${left}: ${check.advice ?? ADVICE}`);
  const passed = reason === undefined && end.exitCode === 0;
  const { exitCode, signal, durationMs, output } = end;
  await session.append("check_ended", {
    ...of,
    passed,
    command: commandLine(["sh", "-c", command]),
    durationMs,
    output,
    ...present({
      exitCode: exitCode ?? undefined,
      signal: signal ?? undefined,
      reason,
      base: base ?? undefined,
      lane: task?.lane?.name,
    }),
  });
  return passed;
}

/** The reason in words, when the exit status alone would not tell it. */
function whyFailed({ ended, exitCode, refused }: StepEnd): string | undefined {
  if (ended !== undefined) return ended;
  if (exitCode === 0 || refused.length === 0) return undefined;
  const names = refused.slice(0, NAMED).map(printable).join(", ");
  return `it asked for ${names}, which it may not reach: add that to the check's hosts`;
}

const NAMED = 5;

/** What differs from the tree now; undefined if nothing does. */
async function leftIn({ repo, io }: Room, place: CheckRoom, tree: string): Promise<string | undefined> {
  const now = await place.treeNow();
  if (now === tree) return undefined;
  const changed = await changedPaths(repo, await openStore(repo, io.disk), tree, now);
  const paths = changed.map((path) => printable(toText(path)));
  const more = paths.length > NAMED ? ` and ${paths.length - NAMED} more` : "";
  return `${paths.slice(0, NAMED).join(", ")}${more}`;
}
