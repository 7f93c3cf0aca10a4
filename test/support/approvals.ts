/**
 * Actions, keys and grants for tests of approvals.
 */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { fingerprintOf, signedBytes } from "../../src/approval/index.ts";
import {
  type Action,
  type ErrorCode,
  type EventData,
  type Grant,
  type GrantTerms,
  isHoldfastError,
} from "../../src/contract/index.ts";
import { openHome } from "../../src/home/index.ts";
import type { Session } from "../../src/session/index.ts";
import { drive, parkingAgent, queued } from "./parking.ts";
import type { TaskHome } from "./tasks.ts";

export const anAction: Action = {
  home: "home_01k0000000e008000000000001",
  user: "ani",
  session: "sess_01k0000000e008000000000002",
  task: 3,
  lane: "fix-and-pr",
  tool: "gh_pr_create",
  schema: "5".repeat(64),
  args: {
    title: "Mend the parser",
    labels: ["bug", "é"],
    draft: false,
    weight: 1,
    deep: { a: [{ b: null }] },
  },
  target: { url: "https://api.example.org:443/pulls", executable: "9".repeat(64) },
  tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
};

export const GRANTED_AT = Date.parse("2026-01-02T03:04:05.678Z");
const iso = (ms: number) => new Date(ms).toISOString();

export function termsOf(action: Action, changed: Partial<GrantTerms> = {}): GrantTerms {
  return {
    version: 1,
    approval: "appr_01k0000000e008000000000003",
    request: { seq: 41, hash: "a".repeat(64) },
    home: action.home,
    session: action.session,
    fingerprint: fingerprintOf(action),
    by: "user:ani",
    grantedAt: iso(GRANTED_AT),
    expiresAt: iso(GRANTED_AT + 10 * 60_000),
    ...changed,
  };
}

export const keyPair = () => generateKeyPairSync("ed25519");

export function signed(key: KeyObject, terms: GrantTerms): Grant {
  return { ...terms, signature: sign(null, signedBytes(terms), key).toString("base64") };
}

/** The code with which it fails, if it does. */
export function codeOf(work: () => unknown): ErrorCode | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (isHoldfastError(error)) return error.code;
    throw error;
  }
}

export interface Asked {
  readonly id: string;
  readonly approval: string;
  readonly action: Action;
  readonly fingerprint: string;
}

/** Appends a request to a session, as a gate would. */
export async function askFor(
  home: TaskHome,
  session: Session,
  changed: Partial<Action> = {},
  more: Partial<EventData<"approval_requested">> = {},
): Promise<Asked> {
  const { id: homeId, newId } = await openHome({ home: home.dir, create: false });
  const { task, user } = session.state;
  const tree = task?.snapshot?.tree ?? null;
  const own = { home: homeId, user, session: session.id, task: task?.number ?? 1 };
  const action: Action = { ...anAction, ...own, tree, ...changed };
  const fingerprint = fingerprintOf(action);
  const approval = newId("appr");
  await session.append("approval_requested", {
    approval,
    fingerprint,
    tool: action.tool,
    args: action.args,
    action: { ...action },
    lane: action.lane,
    class: "external",
    ...(task?.outcome === null && { task: task.number }),
    ...(action.tree !== null && { tree: action.tree, ...(task?.base && { base: task.base }) }),
    facts: [["commit", "as one commit on main"]],
    ...more,
  });
  return { id: session.id, approval, action, fingerprint };
}

/** A session whose task is parked for an approval that waits, with a file in its work. */
export async function parkedAsking(
  home: TaskHome,
  changed: Partial<Action> = {},
  more: Partial<EventData<"approval_requested">> = {},
): Promise<Asked> {
  const session = await queued(home);
  await drive(home, session, parkingAgent({ reason: "approval", detail: "gh_pr_create" }));
  const asked = await askFor(home, session, changed, more);
  await session.pause("idle");
  return asked;
}

/** A session at rest without a task, which has an approval that waits all the same. */
export async function askingAtRest(
  home: TaskHome,
  changed: Partial<Action> = {},
  more: Partial<EventData<"approval_requested">> = {},
): Promise<Asked> {
  const session = await (await home.open()).openSession({ repo: home.main, title: "asks" });
  const asked = await askFor(home, session, { tree: null, ...changed }, more);
  await session.pause();
  return asked;
}
