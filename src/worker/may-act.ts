/**
 * Owns the check whether an action may happen. The worker makes it again from the home and the journal on
 * disk, and trusts nothing that it was told: the declaration is the one that was approved, and the grant is
 * the operator's for exactly this action and this request. The grant is spent once for the whole home.
 *
 * worker-5 Nothing happens before the grant was verified and spent here. Without a grant, nothing happens if
 *    the task's lane asks a person about external tools.
 */
import {
  declarationHash,
  fingerprintOf,
  readOperatorPublicKey,
  spend,
  timeAfter,
  verifyGrant,
} from "../approval/index.ts";
import { HoldfastError, type Json, usualTools } from "../contract/index.ts";
import type { Home } from "../home/index.ts";
import { inspectSession, readRecords } from "../session/index.ts";
import { beginUnasked } from "./actions.ts";
import type { Order } from "./order.ts";

/** Throws `grant_invalid` with the reason. Spends nothing. */
export async function assertMayAct(home: Pick<Home, "dir" | "id" | "io">, order: Order): Promise<void> {
  const { action, grant, input, declaration } = order;
  if (action.home !== home.id) throw invalid("the action belongs to another home");
  if (declarationHash(input, { ...declaration } as unknown as Json) !== action.schema)
    throw invalid("the tool's declaration has changed since it was approved");
  const { state } = await inspectSession(order.sessionDir);
  if (action.session !== state.id || action.task !== state.task?.number)
    throw invalid("the action belongs to another session, or to another task of this one");
  if (grant === null) {
    const { approval } = state.task.lane?.tools ?? usualTools;
    if (approval.includes("external"))
      throw invalid("the lane asks a person about this tool, and there is no grant");
    return;
  }
  const expected = {
    fingerprint: fingerprintOf(action),
    approval: order.id,
    request: await requestOf(order),
    home: home.id,
    session: state.id,
  };
  verifyGrant(
    readOperatorPublicKey(home.dir),
    grant,
    expected,
    timeAfter(home.io.clock.nowMs(), state.updatedAt),
  );
}

/** False: it has already happened, or is happening now. */
export async function use({ id, homeDir, sessionDir, action, grant }: Order): Promise<boolean> {
  if (grant === null) return beginUnasked(sessionDir, action.task, id);
  return spend(homeDir, id, { session: action.session, task: action.task, tool: action.tool });
}

/** The record of the request. An older copy of the session does not have it. */
async function requestOf({ id, sessionDir }: Order): Promise<{ seq: number; hash: string }> {
  for await (const { type, data, seq, hash } of readRecords(sessionDir))
    if (type === "approval_requested" && data["approval"] === id) return { seq, hash };
  throw invalid(`the journal has no request ${id}`);
}

const invalid = (reason: string) => new HoldfastError("grant_invalid", `the grant is not valid: ${reason}`);
