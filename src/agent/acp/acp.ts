/**
 * Owns the adapter for agents that speak the Agent Client Protocol. The agent stores its conversation in the
 * session's HOME, so it is part of the session's checkpoints.
 *
 * What a kill leaves: an open turn, whose calls the session's next owner closes as interrupted. The agent is
 * asked to load its conversation. If it can't, a new conversation begins with a summary of what happened.
 */
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { methods, type NewSessionRequest, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { type AcpSpec, HoldfastError, isHoldfastError } from "../../contract/index.ts";
import type { AgentEnd, AgentProcess, Conversation, GateAccess, Message, Workplace } from "../adapter.ts";
import { CutCalls } from "../cut-calls.ts";
import { GATE_SERVER, gateFor } from "../gate-access.ts";
import { earlyEnd, endIfItStays, ownFailure } from "../leaving.ts";
import { manifestOf } from "../manifest.ts";
import { newOpening, openingOf } from "../opening.ts";
import { startOf } from "./agents.ts";
import { AcpTalk, type Input } from "./talk.ts";

export async function driveAcp(work: Workplace, spec: AcpSpec): Promise<AgentEnd> {
  const start = await startOf(work, spec);
  const cut = await CutCalls.of(work, { ...spec, forgets: isForgetful(spec.agent) ? "any" : "nothing" });
  const output = new PassThrough();
  let talk: AcpTalk | undefined;
  const take = async (chunk: Buffer) => {
    if (!output.write(chunk)) await once(output, "drain");
    await talk?.caughtUp();
  };
  const process = await work.start(start.command, {
    hasInput: true,
    isProtocol: true,
    isEndedByAdapter: true,
    env: start.env,
    files: start.files,
    onOutput: (chunk, stream) => (stream === "stdout" ? take(chunk) : undefined),
  });
  const held = new AcpTalk(work, process, output, cut);
  talk = held;
  process.ended.finally(() => output.end()).catch(() => {});
  const cancel = () => (start.forgetsCancelled ? process.end() : held.cancel());
  work.stop.addEventListener("abort", cancel, { once: true });
  if (work.stop.aborted) cancel();
  const outcome = await converse(work, spec, process, { talk: held, cut })
    .catch((error: unknown) => cutShort(work, process, held, { isGone: output.writableEnded, error }))
    .finally(() => work.stop.removeEventListener("abort", cancel));
  const { exitCode, signal } = await process.ended;
  return { outcome, exitCode, signal };
}

type Outcome = "done" | "failed" | "stopped";

interface Held {
  readonly talk: AcpTalk;
  readonly cut: CutCalls;
}

/** Whether the agent may forget the calls of a turn that a kill cut off: it was not always seen to remember them. */
const isForgetful = (agent: string) => manifestOf(agent)?.can.remembersOpenCalls !== true;

/** The agent has ended, or breaks the protocol. In both cases its processes and its turn are ended. */
async function cutShort(
  work: Workplace,
  process: AgentProcess,
  talk: AcpTalk,
  { isGone, error }: { readonly isGone: boolean; readonly error: unknown },
): Promise<Outcome> {
  process.end();
  const end = await process.ended;
  const failure = await talk.caughtUp().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const isStopped = work.stop.aborted && failure === undefined;
  await talk.endTurn(isStopped ? "interrupt" : "fail");
  if (isStopped) return "stopped";
  // The agent was not asked.
  if (isHoldfastError(error, "budget_reached")) throw error;
  if (failure !== undefined) work.show(`${ownFailure(failure)}\n`);
  else work.show(`${isGone ? earlyEnd(end) : `The agent was ended: ${reasonOf(error)}`}\n`);
  return "failed";
}

/** Prompts the agent, one input after another, until there is nothing left to ask. */
async function converse(
  work: Workplace,
  spec: AcpSpec,
  process: AgentProcess,
  { talk, cut }: Held,
): Promise<Outcome> {
  const first = await begin(work, spec, { talk, cut });
  const waiting = first === "" ? await work.messages.next(0, work.stop) : undefined;
  let input: Input = waiting ? inputOf(waiting) : { text: first };
  for (;;) {
    // The agent was woken for a message that it has read by now, or the task stops before it is asked.
    if (input.text === "" || work.stop.aborted) {
      await leave(process);
      return work.stop.aborted ? "stopped" : "done";
    }
    const stopReason = await talk.ask(input).catch((error: unknown) => {
      if (input.message === undefined || !isHoldfastError(error, "budget_reached")) throw error;
    });
    // The budget has no turn left for the message: it stays unread.
    if (stopReason === undefined) {
      await leave(process);
      return "done";
    }
    const isDone = stopReason === "end_turn";
    if (!isDone && !work.stop.aborted) work.show(`The agent stopped: ${stopReason}\n`);
    const next = isDone && !work.stop.aborted ? await work.messages.next(0, work.stop) : undefined;
    if (!next) {
      // The turn ends with the process, so that nothing writes while the files are saved.
      await leave(process);
      if (work.stop.aborted) {
        await talk.endTurn("interrupt");
        return "stopped";
      }
      await talk.endTurn(isDone ? "end" : "fail");
      return isDone ? "done" : "failed";
    }
    process.freeze();
    await talk.endTurn("end").finally(() => process.thaw());
    input = inputOf(next);
  }
}

const inputOf = ({ from, text, message }: Message): Input => ({
  text: `Message from ${from}:\n\n${text}`,
  message,
});

async function leave(process: AgentProcess): Promise<void> {
  process.input?.end();
  endIfItStays(process, Promise.resolve());
  await process.ended;
}

/** Sends the first message, and holds the conversation from then on. */
async function begin(work: Workplace, spec: AcpSpec, { talk, cut }: Held): Promise<string> {
  const { agent } = talk.connection;
  const { agentCapabilities } = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    clientInfo: { name: "holdfast", version: "0" },
  });
  const opening = await openingOf(work, spec.agent, spec, cut);
  const canHttp = agentCapabilities?.mcpCapabilities?.http === true;
  const where: NewSessionRequest = {
    cwd: await work.directory(),
    mcpServers: serversFor(await gateFor(work, spec), canHttp),
  };
  const hold = async (conversation: Conversation, text: string): Promise<string> => {
    await work.beginConversation(spec.agent, conversation);
    talk.holdConversation(conversation.id);
    return text;
  };
  if (opening.how === "resumed") {
    const { conversation: id, text } = opening;
    const known = { ...where, sessionId: id };
    const { resume } = agentCapabilities?.sessionCapabilities ?? {};
    const method = resume ? methods.agent.session.resume : methods.agent.session.load;
    const whyNot =
      resume || agentCapabilities?.loadSession
        ? await agent.request(method, known).then(() => undefined, reasonOf)
        : "it can't load one";
    if (whyNot === undefined) {
      if (!resume) await talk.historyTold();
      return hold({ id, how: "resumed" }, text);
    }
    work.show(`The agent could not load its conversation (${whyNot}): a new one begins.\n`);
  }
  const { how, text } = opening.how === "resumed" ? await newOpening(work, spec) : opening;
  const { sessionId } = await agent.request(methods.agent.session.new, where);
  if (how === "resumed") throw new HoldfastError("agent_failed", "a new conversation can't be resumed");
  return hold({ id: sessionId, how }, text);
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/**
 * The session's tools: over HTTP if the agent supports that, or else through a program that the agent starts.
 */
function serversFor(gate: GateAccess | undefined, canHttp: boolean): NewSessionRequest["mcpServers"] {
  if (!gate) return [];
  const headers = Object.entries(gate.headers).map(([name, value]) => ({ name, value }));
  if (canHttp) return [{ type: "http", name: GATE_SERVER, url: gate.url, headers }];
  const [command = "", ...args] = gate.shim;
  return [{ name: GATE_SERVER, command, args, env: [] }];
}
