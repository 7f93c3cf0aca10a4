/**
 * Owns the view of a session from outside, without its lock: its durable state.
 */
import { HoldfastError } from "../contract/index.ts";
import {
  assertWitnessed,
  type Damage,
  damageOf,
  JOURNAL_START,
  type Position,
  readDurable,
} from "../journal/index.ts";
import { type CachedFold, readFold } from "./fold-cache.ts";
import { fold } from "./machine.ts";
import { emptyState, type SessionState } from "./state.ts";

export interface Inspected {
  readonly state: SessionState;
  readonly position: Position;
  readonly tornBytes: number;
  /**
   * Where the journal is damaged. The state then comes from the good records before that, and its status is
   * `damaged`.
   */
  readonly damage: Damage | undefined;
}

const beginning: CachedFold = { position: JOURNAL_START, state: emptyState };

/** `from` is an earlier result. Without it, reading begins at the cached fold. */
export async function inspectSession(sessionDir: string, from?: CachedFold): Promise<Inspected> {
  const cached = from ?? (await readFold(sessionDir)).fold;
  const inspected = await inspectFrom(sessionDir, cached ?? beginning);
  if (!inspected.damage || !cached) return inspected;
  // A cached fold beyond the end of the journal can't be used: read the journal from its start.
  const rest = await inspectFrom(sessionDir, beginning);
  return { ...rest, state: { ...rest.state, status: "damaged" }, damage: inspected.damage };
}

async function inspectFrom(sessionDir: string, start: CachedFold): Promise<Inspected> {
  const records = readDurable(sessionDir, { from: start.position });
  let { state, position } = start;
  try {
    for (;;) {
      const step = await records.next();
      if (step.done && step.value.end.seq > 0) await assertWitnessed(sessionDir);
      if (step.done)
        return { state, position: step.value.end, tornBytes: step.value.torn.length, damage: undefined };
      state = fold(state, step.value.record);
      position = step.value.end;
    }
  } catch (error) {
    const damage = damageOf(error);
    if (!damage) throw error;
    return { state: { ...state, status: "damaged" }, position, tornBytes: 0, damage };
  }
}

/** The session's state at the time when the given task was its latest one. */
export async function stateOfTask(
  { id, dir }: { readonly id: string; readonly dir: string },
  number: number,
): Promise<SessionState> {
  let state = emptyState;
  let last: SessionState | undefined;
  for await (const { record } of readDurable(dir)) {
    state = fold(state, record);
    if (state.task?.number === number) last = state;
  }
  if (!last)
    throw new HoldfastError(
      "no_task",
      `session ${id} has no task ${number}; its latest task is ${state.task?.number ?? 0}`,
    );
  return last;
}
