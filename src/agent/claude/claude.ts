/**
 * Owns the adapter for Claude Code. Its conversation is stored in the session's HOME, and so is part of the
 * checkpoints.
 *
 * What a kill leaves: an open turn, whose calls the session's next owner closes as interrupted, and Claude's
 * own record of the conversation, up to its last step. Claude is driven again in that conversation. If Claude
 * does not find it, a new one begins with a summary of what happened.
 */
import { randomUUID } from "node:crypto";
import type { ClaudeSpec } from "../../contract/index.ts";
import type { AgentEnd, ModelAccess, Workplace } from "../adapter.ts";
import { CutCalls } from "../cut-calls.ts";
import { gateFor } from "../gate-access.ts";
import { earlyEnd, endIfItStays, ownFailure } from "../leaving.ts";
import { JsonLines } from "../lines.ts";
import { newOpening, type Opening, openingOf } from "../opening.ts";
import { Dialogue } from "./dialogue.ts";
import { CLAUDE, commandFor, environmentFor, filesFor, interactiveCommand, PROVIDER } from "./start.ts";

/** What Claude writes when it does not know the conversation that it is to continue. */
const NOT_FOUND = "No conversation found";

export async function driveClaude(work: Workplace, spec: ClaudeSpec): Promise<AgentEnd> {
  const model = await work.model(PROVIDER);
  const cut = await CutCalls.of(work, { ...spec, forgets: "the last" });
  const opening = await openingOf(work, CLAUDE, spec, cut);
  if (spec.input === "terminal") return inTerminal(work, spec, model, opening);
  const first = await converse(work, spec, model, { opening, cut });
  if (!first.isLost || opening.how !== "resumed" || work.stop.aborted) return first.end;
  work.show("The agent could not load its conversation: a new one begins.\n");
  return (await converse(work, spec, model, { opening: await newOpening(work, spec), cut })).end;
}

/** Of its output before it begins, in characters. */
const MAX_EARLY = 16 * 1024;

interface Conversed {
  readonly end: AgentEnd;
  /** Whether Claude did not find the conversation. Any other failure leaves the conversation as it is. */
  readonly isLost: boolean;
}

/** Claude's own interface, for a person at a terminal. */
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
  const gate = await gateFor(work, spec);
  const process = await work.start(interactiveCommand(spec, { id, tools: work.tools, gate }, opening), {
    hasInput: true,
    hasTerminal: true,
    env: environmentFor(model, gate),
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
  { opening, cut }: { readonly opening: Opening; readonly cut: CutCalls },
): Promise<Conversed> {
  const { how } = opening;
  const id = how === "resumed" ? opening.conversation : randomUUID();
  await work.beginConversation(CLAUDE, { id, how });
  const dialogue = new Dialogue(work, cut);
  const lines = new JsonLines();
  let received: Promise<void> = Promise.resolve();
  let early = "";
  const gate = await gateFor(work, spec);
  const process = await work.start(commandFor(spec, { id, tools: work.tools, gate }, how), {
    hasInput: true,
    isProtocol: true,
    env: environmentFor(model, gate),
    files: await filesFor(work, model),
    onOutput: (chunk, stream) => {
      if (!dialogue.hasBegun && early.length < MAX_EARLY) early += chunk.toString("utf8");
      if (stream !== "stdout") return undefined;
      received = received.then(() => take(chunk));
      received.catch(() => process.end());
      return received;
    },
  });
  const take = async (chunk: Buffer) => {
    for (const message of lines.push(chunk)) await dialogue.receive(message);
  };
  await dialogue.open(process, opening.text).catch(async (error: unknown) => {
    process.end();
    await process.ended;
    throw error;
  });
  endIfItStays(process, dialogue.whenOver);
  const { exitCode, signal, isStopped } = await process.ended;
  // The last output may still be on its way to the journal.
  const failure = await received.then(
    () => undefined,
    (error: unknown) => error,
  );
  await dialogue.close(isStopped && work.stop.aborted);
  const end = { exitCode, signal };
  if (work.stop.aborted && isStopped && failure === undefined)
    return { end: { ...end, outcome: "stopped" }, isLost: false };
  const isLost = !dialogue.hasBegun && early.includes(NOT_FOUND);
  if (failure !== undefined) work.show(`${ownFailure(failure)}\n`);
  else if (!dialogue.hasAnswered && !isLost) work.show(`${earlyEnd(end)}\n`);
  return { end: { ...end, outcome: failure === undefined ? dialogue.outcome : "failed" }, isLost };
}
