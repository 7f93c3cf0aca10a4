/**
 * Owns the forms in which results leave the library: exactly the members that their types have. What is inside may have
 * more.
 */
import type {
  Branched,
  Diff,
  HandOff,
  Merged,
  Rebased,
  Returned,
  TaskResult,
  TornDown,
  Waited,
} from "./results.ts";
import type { ChangeSize, CheckReceipt, CurrentTask, PersonRequest, WaitingTask } from "./views.ts";

type Members<T> = Readonly<Record<keyof T, true>>;

const only =
  <T extends object>(members: Members<T>) =>
  (value: T): T =>
    Object.fromEntries(
      Object.keys(members)
        .filter((name) => name in value)
        .map((name) => [name, value[name as keyof T]]),
    ) as T;

const size = only<ChangeSize>({ files: true, insertions: true, deletions: true });
const withSize =
  <T extends { readonly stat: ChangeSize }>(members: Members<T>) =>
  (value: T): T => ({ ...only<T>(members)(value), stat: size(value.stat) });

export const diffOf = withSize<Diff>({ patch: true, stat: true, base: true, tree: true });
export const branchedOf = only<Branched>({ branch: true, commit: true, isNew: true });
export const mergedOf = only<Merged>({ into: true, commit: true, commits: true, verdict: true, isNew: true });
export const rebasedOf = only<Rebased>({ onto: true, branch: true, commit: true, isNew: true });
export const tornDownOf = only<TornDown>({
  ...{ task: true, snapshot: true, freedBytes: true, ports: true, omitted: true },
});
export const handOffOf = only<HandOff>({ directory: true, to: true });
export const returnedOf = only<Returned>({ turn: true, isChanged: true, branch: true });
export const waitingOf = only<WaitingTask>({
  ...{ request: true, priority: true, at: true, asked: true, why: true },
});
export const currentOf = only<CurrentTask>({ task: true, request: true, parked: true });
export const requestOf = only<PersonRequest>({
  ...{ kind: true, id: true, session: true, task: true, at: true, expiresAt: true, data: true },
});
export const receiptOf = only<CheckReceipt>({
  ...{ check: true, tree: true, passed: true, exitCode: true, reason: true },
  ...{ command: true, durationMs: true, at: true, output: true },
});
export const waitedOf = only<Waited>({
  ...{ task: true, outcome: true, why: true, status: true, exitCode: true, signal: true },
});

const result = withSize<TaskResult>({
  ...{ task: true, outcome: true, tree: true, stat: true },
  ...{ patch: true, branch: true, unpublished: true },
});
export const resultOf = (value: TaskResult): TaskResult => {
  const { unpublished, ...rest } = result(value);
  return {
    ...rest,
    unpublished: unpublished && { code: unpublished.code, reason: unpublished.reason },
  };
};
