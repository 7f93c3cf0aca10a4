/**
 * Owns what is done about an action that has begun and whose end is not recorded, because its session process
 * was killed. What the worker left shows the outcome. If it left nothing, a person is asked, and nothing is
 * repeated automatically.
 *
 * gate-7 An action without an outcome is recorded with what really happened to it, or as unknown.
 */
import { isUnasked } from "../contract/index.ts";
import type { BegunOutcome, GatePlace } from "./place.ts";
import { toolOf } from "./requests.ts";

export async function settleBegun(place: GatePlace): Promise<void> {
  const { session, task } = place;
  const begun = Object.entries(session.state.grants).filter(
    ([, grant]) => grant.hasBegun && grant.task === task.number,
  );
  for (const [approval] of begun) await record(place, approval, await place.outcomeOf(approval));
}

async function record(place: GatePlace, approval: string, end: BegunOutcome): Promise<void> {
  const { session, task, newId } = place;
  const of = { approval, task: task.number, tool: await toolOf(task.room.sessionDir, approval) };
  if (end.kind === "not_begun") {
    const facts = { is_begun: false };
    await session.append("action_ended", {
      ...of,
      outcome: "error",
      output: "The action was not begun.",
      facts,
    });
    return;
  }
  const needsNone = isUnasked(approval);
  const spent = needsNone ? undefined : session.append("approval_spent", { approval });
  if (end.kind === "ended") {
    const { outcome, text: output, facts } = end;
    const exitCode = facts?.["exit_code"];
    await session.append("action_ended", {
      ...of,
      outcome,
      output,
      ...(typeof exitCode === "number" && { exitCode }),
      ...(facts && { facts }),
    });
  } else {
    const { text: output } = end;
    await session.append("action_ended", {
      ...of,
      outcome: "unknown",
      ...(output !== undefined && { output }),
    });
    await askWhatHappened(place, of);
  }
  await spent;
  await session.append("message_received", {
    message: newId("msg"),
    from: "holdfast",
    text: `${of.tool}, ${needsNone ? "as" : "approved as"} ${approval}, was cut off by a crash. ${outcomeText(end)} Do not make the call again unless it is clear that it is needed.`,
  });
}

const outcomeText = (end: BegunOutcome) =>
  end.kind === "ended"
    ? `It was completed nevertheless, with the outcome ${end.outcome}.`
    : "It is not known whether it had its effect; a person was asked.";

/** Nothing shows whether it was done: a person looks, and their answer reaches the agent. */
export async function askWhatHappened(
  { session, task, newId, waits }: GatePlace,
  { approval, tool }: { readonly approval: string; readonly tool: string },
): Promise<void> {
  const text = `${tool} (${approval}) was begun and cut off, so it is not known whether it had its effect. Check, and answer with what the agent should know.`;
  await session.append("question_asked", { question: newId("q"), text, task: task.number });
  waits(text);
}
