/**
 * Owns how a task is named on the command line: by its session, or as `S/2`, which is task 2 of session S.
 */
import { HoldfastError } from "../contract/index.ts";
import { type Dispatcher, noTask } from "../dispatch/index.ts";
import { present } from "../util/index.ts";

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
    throw new HoldfastError("usage", `${JSON.stringify(text)}: behind the / stands the number of a task`);
  return { prefix: text.slice(0, slash), task: Number(number) };
}

export interface TaskTarget {
  readonly id: string;
  /** The latest where none was named; undefined where the session had none yet. */
  readonly task?: number;
}

export async function resolveTarget(
  { holdfast }: Pick<Dispatcher, "holdfast">,
  text: string,
  scope: { readonly user?: string },
): Promise<TaskTarget> {
  const { prefix, task } = parseTarget(text);
  const id = await holdfast.resolveId(prefix, scope);
  const last = (await holdfast.showSession(id, scope)).task?.number ?? 0;
  if (task !== undefined && task > last) throw noTask(id, task, last);
  return { id, ...present({ task: task ?? (last > 0 ? last : undefined) }) };
}
