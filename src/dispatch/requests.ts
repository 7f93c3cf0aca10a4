/**
 * Owns reading what waits for a person: approvals and questions, whole, from their records.
 *
 * request-1 A person is shown all of what they approve, or can't approve it: the action in the record has to
 *           have the fingerprint that the record names, and has to belong to this session.
 */
import { actionIn, fingerprintOf } from "../approval/index.ts";
import {
  type Action,
  HoldfastError,
  isHoldfastError,
  type JournalRecord,
  type JsonObject,
} from "../contract/index.ts";
import type { FoundSession, Home } from "../home/index.ts";
import { loadLongFields, readDurable } from "../journal/index.ts";
import { inspectSession } from "../session/index.ts";
import { diffTrees, type ShownDiff } from "../task/index.ts";

export interface AskedOfPerson {
  readonly kind: "approval" | "question";
  readonly id: string;
  readonly session: string;
  readonly user: string;
  /** The name by which a person calls the session. */
  readonly label: string;
  readonly task: number | null;
  readonly at: string;
  readonly expiresAt: string | null;
  readonly request: { readonly seq: number; readonly hash: string };
  readonly data: JsonObject;
  /** The time of the journal's last record. */
  readonly lastRecordAt: string;
}

/** In the order in which they were asked. */
export async function requestsIn(found: FoundSession): Promise<AskedOfPerson[]> {
  const { state } = await inspectSession(found.dir);
  if (Object.keys(state.pending).length === 0) return [];
  const records = new Map<string, JournalRecord>();
  for await (const { record } of readDurable(found.dir)) {
    const id = idIn(record);
    if (id !== undefined && Object.hasOwn(state.pending, id)) records.set(id, record);
  }
  const asked: AskedOfPerson[] = [];
  for (const [id, record] of records) {
    const pending = state.pending[id];
    if (!pending) continue;
    asked.push({
      kind: pending.kind,
      id,
      session: found.id,
      user: found.user,
      label: state.name ?? found.id,
      task: pending.task,
      at: record.at,
      expiresAt: pending.expiresAt,
      request: { seq: record.seq, hash: record.hash },
      data: await loadLongFields(found.dir, record),
      lastRecordAt: state.updatedAt,
    });
  }
  return asked;
}

function idIn({ type, data }: JournalRecord): string | undefined {
  const id = type === "approval_requested" ? data["approval"] : undefined;
  const named = type === "question_asked" ? data["question"] : id;
  return typeof named === "string" ? named : undefined;
}

/** request-1: throws `grant_invalid` for a request that can't be shown as it is. */
export function approvedAction(home: Pick<Home, "id">, asked: AskedOfPerson): Action {
  const { id, data, session, user } = asked;
  const action = actionIn(data["action"]);
  if (!action) throw hidden(id, "its record does not contain the exact action");
  if (fingerprint(action) !== data["fingerprint"])
    throw hidden(
      id,
      "the action in its record does not have the fingerprint that was recorded; a secret may have been taken out of it",
    );
  if (action.home !== home.id || action.session !== session || action.user !== user)
    throw hidden(id, "it belongs to another session");
  return action;
}

function fingerprint(action: Action): string | undefined {
  try {
    return fingerprintOf(action);
  } catch (error) {
    if (isHoldfastError(error)) return undefined;
    throw error;
  }
}

function hidden(approval: string, why: string): HoldfastError {
  return new HoldfastError("grant_invalid", `${approval} can't be approved: ${why}`, { approval });
}

/** Throws `grant_invalid` for a request whose files can't be shown. */
export function assertShowable({ id }: Pick<AskedOfPerson, "id">, diff: ShownDiff | undefined): void {
  if (!diff) throw hidden(id, "the files that it is based on can't be shown");
  if (diff.isTooLarge)
    throw hidden(id, `its changes are too many to be shown (${filesText(diff)}): have the work split`);
}

const filesText = ({ files }: { readonly files: number | null }) =>
  files === null ? "the list of their files alone is too long" : `${files} ${files === 1 ? "file" : "files"}`;

/** The diff of the files that the action is based on; undefined if it has nothing to do with files. */
export async function diffFor(
  home: Home,
  { session, user, data }: AskedOfPerson,
): Promise<ShownDiff | undefined> {
  const { tree, base } = data;
  if (typeof tree !== "string") return undefined;
  return diffTrees(home, { session, user }, { tree, base: typeof base === "string" ? base : null });
}
