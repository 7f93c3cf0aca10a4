/**
 * Owns the stage in which the agent works. Its adapter drives it. What the session process provides for it is
 * there before the agent's first process and goes after its last.
 *
 * A message that comes while the agent is leaving is for it, too: an agent that holds a conversation is driven once more,
 * and goes on with the message.
 *
 * What a kill leaves: `stage_started` without its end, perhaps an open turn, and files beyond the last
 * checkpoint. An adapter that can go on drives its agent again on these files; otherwise they are saved as
 * the work of an interrupted task.
 */
import type { Adapter, AgentEnd } from "../../agent/index.ts";
import { type AgentSpec, isHoldfastError, type Parked, type TaskSpec } from "../../contract/index.ts";
import { reachedLimits, type SessionState } from "../../session/index.ts";
import type { AskedOutcome } from "../in-hand.ts";
import type { Task } from "../task.ts";
import type { WorkplaceOptions } from "../workplace.ts";

/** What a session process provides for a task's agent. */
export interface Joined {
  readonly surroundings: WorkplaceOptions;
  /** Removes it again, however the agent ended. */
  part(): Promise<Parted>;
}

export interface Parted {
  readonly isOverQuota: boolean;
  /** Why its models can't be asked now: the agent's processes were ended for it, or the agent gave up. */
  readonly parked?: Parked;
}

export interface Acted {
  /** Undefined: the task was paused or parked, and goes on later. */
  readonly outcome: AskedOutcome | undefined;
  /** Why it is parked; undefined when it is not. */
  readonly parked?: Parked;
  /** The task exceeded its quota; the session waits for a person. */
  readonly isOverQuota: boolean;
}

/** Why a turn is ended from outside. */
export type Stop = "interrupt" | "pause";

type Requests = readonly (readonly [id: string, of: SessionState["pending"][string]])[];

interface ActOptions {
  readonly adapter: Adapter;
  readonly stop: AbortSignal;
  /** Whether the agent was cut off and is driven again. */
  readonly isGoingOn: boolean;
  readonly join: () => Promise<Joined>;
}

export async function act(
  task: Task,
  { agent, cwd }: TaskSpec,
  { adapter, stop, isGoingOn, join }: ActOptions,
): Promise<Acted> {
  const { session } = task.room;
  // This record becomes durable with the one that begins the turn.
  const started = session.append("stage_started", { task: task.number, stage: "act" });
  started.catch(() => {});
  // The network opens while the first records are written, before the agent's first process.
  task.openNetwork();
  const joined = await join();
  let parted: Parted = { isOverQuota: false };
  const driven = (spec: AgentSpec, isOn: boolean): Promise<AgentEnd> =>
    adapter
      .drive(task.workplace({ ...joined.surroundings, cwd, isGoingOn: isOn }), spec)
      .catch((error: unknown) => {
        // No turn could begin. The agent was not asked, so its task goes on when the budget is raised.
        if (!isHoldfastError(error, "budget_reached") || !adapter.goesOn(spec)) throw error;
        return { outcome: "parked", parked: { reason: "budget", detail: error.message } };
      });
  const drive = async () => {
    let last = await driven(agent, isGoingOn);
    // In a terminal it does not read messages.
    if (!("prompt" in agent) || agent.input !== "messages") return last;
    const goingOn = { ...agent, prompt: "", continues: true };
    const tried = new Set<string>();
    // Where the budget has no turn left, a message stays unread.
    while (last.outcome === "done" && !stop.aborted && reachedLimits(session.state).length === 0) {
      const late = await joined.surroundings.messages?.next(0, stop);
      // An agent that does not take it in leaves it unread.
      if (!late || tried.has(late.message)) break;
      tried.add(late.message);
      last = await driven(goingOn, false);
    }
    return last;
  };
  let due: Requests = [];
  const end = await drive().finally(async () => {
    // A decision that comes from here on finds no agent.
    due = requestsOf(task);
    parted = await joined.part();
  });
  await started;
  const { isOverQuota } = parted;
  const parked = end.outcome === "parked" ? end.parked : parted.parked;
  const hasFailed = end.outcome === "failed" && (!parked || stop.aborted);
  if (end.outcome === "done" || hasFailed) {
    const waits = isOverQuota || stop.aborted ? undefined : await whyWaits(task, due, adapter.goesOn(agent));
    if (waits) return { outcome: undefined, parked: waits, isOverQuota };
    return { outcome: end.outcome, isOverQuota };
  }
  if (stop.aborted && stop.reason === "interrupt") return { outcome: "cancelled", isOverQuota };
  if (parked && !stop.aborted) return { outcome: undefined, parked, isOverQuota };
  // The quota stopped it, not a person.
  if (!stop.aborted) return { outcome: "failed", isOverQuota };
  return { outcome: adapter.goesOn(agent) ? undefined : "interrupted", isOverQuota };
}

/** What a person has not decided or answered yet. */
function requestsOf({ room: { session }, number }: Task): Requests {
  return Object.entries(session.state.pending).filter(([, { task }]) => task === number);
}

/**
 * `due`: what a person had not decided when the agent ended. An agent that can go on waits for it, parked. An
 * agent that can't go on would never ask again, so its requests are over.
 */
async function whyWaits({ room }: Task, due: Requests, canGoOn: boolean): Promise<Parked | undefined> {
  if (due.length === 0) return undefined;
  const { session } = room;
  const ids = due.map(([id]) => id);
  const approvals = due.filter(([, { kind }]) => kind === "approval").map(([id]) => id);
  if (canGoOn) {
    const reason = approvals.length > 0 ? "approval" : "answer";
    return { reason, detail: ids.join(", "), requests: ids };
  }
  const { pending } = session.state;
  for (const approval of approvals)
    if (Object.hasOwn(pending, approval)) await session.append("approval_expired", { approval });
  return undefined;
}
