/**
 * Owns the adapter for Claude Code. Its conversation lies in the session's HOME, and so in its checkpoints.
 *
 * What a kill leaves: an open turn, whose calls are closed as interrupted by the session's next owner, and Claude's own
 * record of the conversation, up to its last step. It is driven again in that conversation; where Claude does not find
 * it, in a new one that is told what happened.
 */
import { randomUUID } from "node:crypto";
import type { ClaudeSpec } from "../../contract/index.ts";
import type { AgentEnd, ModelAccess, Workplace } from "../adapter.ts";
import { earlyEnd, endIfItStays, ownFailure } from "../leaving.ts";
import { JsonLines } from "../lines.ts";
import { newOpening, type Opening, openingOf } from "../opening.ts";
import { Dialogue } from "./dialogue.ts";
import { CLAUDE, commandFor, environmentFor, filesFor, interactiveCommand, PROVIDER } from "./start.ts";

/** Its status when it does not know the conversation that it is to go on with. */
const NOT_FOUND = 1;

export async function driveClaude(work: Workplace, spec: ClaudeSpec): Promise<AgentEnd> {
  const model = await work.model(PROVIDER);
  const opening = await openingOf(work, CLAUDE, spec);
  if (spec.input === "terminal") return inTerminal(work, spec, model, opening);
  const first = await converse(work, spec, model, opening);
  if (!first.isLost || opening.how !== "resumed" || work.stop.aborted) return first.end;
  work.show("The agent does not have its conversation any more: a new one begins.\n");
  return (await converse(work, spec, model, await newOpening(work, spec))).end;
}

interface Conversed {
  readonly end: AgentEnd;
  /** Whether the agent did not find it: it says so, and ends with this status. One that was killed has said nothing. */
  readonly isLost: boolean;
}

/** Its own interface, in which a person speaks to it. */
async function inTerminal(
  work: Workplace,
  spec: ClaudeSpec,
  model: ModelAccess,
  opening: Opening,
): Promise<AgentEnd> {
  const { how } = opening;
  const id = how === "resumed" ? opening.conversation : randomUUID();
  await work.beginConversation(CLAUDE, { id, how });
  await using turn = await work.beginTurn({ prompt: opening.text });
  const process = await work.start(interactiveCommand(spec, { id, tools: work.tools }, opening), {
    hasInput: true,
    hasTerminal: true,
    env: environmentFor(model),
    files: await filesFor(work, model),
  });
  const { exitCode, signal, isStopped } = await process.ended;
  await (isStopped ? turn.interrupt() : turn.end());
  return { outcome: isStopped ? "stopped" : exitCode === 0 ? "done" : "failed", exitCode, signal };
}

async function converse(
  work: Workplace,
  spec: ClaudeSpec,
  model: ModelAccess,
  opening: Opening,
): Promise<Conversed> {
  const { how } = opening;
  const id = how === "resumed" ? opening.conversation : randomUUID();
  await work.beginConversation(CLAUDE, { id, how });
  const dialogue = new Dialogue(work);
  const lines = new JsonLines();
  let received: Promise<void> = Promise.resolve();
  const process = await work.start(commandFor(spec, { id, tools: work.tools }, how), {
    hasInput: true,
    isProtocol: true,
    env: environmentFor(model),
    files: await filesFor(work, model),
    onOutput: (chunk, stream) => {
      if (stream !== "stdout") return undefined;
      received = received.then(() => take(chunk));
      received.catch(() => process.end());
      return received;
    },
  });
  const take = async (chunk: Buffer) => {
    for (const message of lines.push(chunk)) await dialogue.receive(message);
  };
  await dialogue.open(process, opening.text);
  endIfItStays(process, dialogue.whenOver);
  const { exitCode, signal, isStopped } = await process.ended;
  // What it wrote last may still be on its way to the record.
  const failure = await received.then(
    () => undefined,
    (error: unknown) => error,
  );
  await dialogue.close(isStopped && work.stop.aborted);
  const end = { exitCode, signal };
  if (work.stop.aborted && isStopped && failure === undefined)
    return { end: { ...end, outcome: "stopped" }, isLost: false };
  const isLost = !dialogue.hasBegun && exitCode === NOT_FOUND;
  if (failure !== undefined) work.show(`${ownFailure(failure)}\n`);
  else if (!dialogue.hasAnswered && !isLost) work.show(`${earlyEnd(end)}\n`);
  return { end: { ...end, outcome: failure === undefined ? dialogue.outcome : "failed" }, isLost };
}
