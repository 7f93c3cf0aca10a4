/**
 * Owns how a task is named on the command line: by its session, or as `S/2`, which is task 2 of session S.
 */
import { HoldfastError } from "../contract/index.ts";
import { type Dispatcher, noTask } from "../dispatch/index.ts";
import { present } from "../util/index.ts";
import { type CommonOptions, scope } from "./verb.ts";
import { type NamedSession, SESSION_HELP, sessionOf } from "./which-session.ts";

/** The help of every argument that is a task. */
export const TASK_HELP = `${SESSION_HELP}; S/2 is its task 2 (default: the latest)`;

export interface Target {
  /** What was typed for the session. */
  readonly prefix: string;
  readonly task?: number;
}

export function parseTarget(text: string): Target {
  const slash = text.lastIndexOf("/");
  if (slash < 0) return { prefix: text };
  const number = text.slice(slash + 1);
  if (!/^[1-9]\d{0,8}$/.test(number))
    throw new HoldfastError(
      "usage",
      `${JSON.stringify(text)}: write the task's number after the slash, as in fix-login/2`,
    );
  return { prefix: text.slice(0, slash), task: Number(number) };
}

export interface TaskTarget extends NamedSession {
  /** The latest task, if none was named; undefined if the session has had none. */
  readonly task?: number;
}

export async function resolveTarget(
  { holdfast }: Pick<Dispatcher, "holdfast">,
  text: string,
  options: CommonOptions,
): Promise<TaskTarget> {
  const { prefix, task } = parseTarget(text);
  const session = await sessionOf(holdfast, prefix, options);
  const last = (await holdfast.showSession(session.id, scope(options))).task?.number ?? 0;
  if (task !== undefined && task > last) throw noTask(session.id, task, last);
  return { ...session, ...present({ task: task ?? (last > 0 ? last : undefined) }) };
}
