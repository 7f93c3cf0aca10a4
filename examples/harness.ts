/**
 * A coding agent in about eighty lines: a loop over a model of the Messages API, with one tool that runs in the task's
 * sandbox. Kill it at any moment and start it again with the same arguments: it continues in the same conversation, on
 * the same files, and repeats no command whose result is on record. What it has to do next is read from the session.
 *
 *   node examples/harness.ts <repo> <name> <task in plain words>
 *
 * MODEL_KEY is the key, MODEL_NAME the model, and MODEL_URL the address of its API. Without MODEL_URL, that is Anthropic's.
 */
import { isHoldfastError, type OwnedSession, openHoldfast, type Workplace } from "holdfast";

const [repo = ".", name = "harness", ...words] = process.argv.slice(2);
const url = `${process.env["MODEL_URL"] ?? "https://api.anthropic.com"}/v1/messages`;
const model = process.env["MODEL_NAME"] ?? "claude-sonnet-5-5";
const tools = [
  {
    name: "run_command",
    description: "Runs a shell command in the repo.",
    input_schema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
  },
];

interface Answer {
  readonly content: readonly { type: string; text?: string; id?: string; input?: { command: string } }[];
  readonly usage: { input_tokens: number; output_tokens: number };
}

const hf = await openHoldfast();
await using session = await ownSession();
const handle = await hf.session(session.id);
const { task: begun } = await handle.view();
// If it has an outcome, the last process was killed after the end of the task.
if (begun === null || begun.outcome === null) {
  const task = begun ? await session.currentTask() : await session.startTask({ asked: words.join(" ") });
  const last = (await Array.fromAsync(handle.turns())).at(-1);
  if (last?.outcome !== "completed")
    await drive(task.workplace(), last ? "You were cut off. Continue." : words.join(" "));
  await task.end("done");
}
await session.pause();
const { task, turns } = await handle.view();
console.log(JSON.stringify({ outcome: task?.outcome, branch: task?.branch, turns }));

/** The session of this name, which a killed process may have left; or a new one. */
async function ownSession(): Promise<OwnedSession> {
  try {
    const { id } = await hf.session(name);
    return await hf.resumeSession(id, { takeOver: true });
  } catch (error) {
    if (!isHoldfastError(error, "session_not_found")) throw error;
    return hf.openSession({ repo, name, tags: ["harness"], budget: { turns: 50 } });
  }
}

/** One turn: asks the model until it wants no more commands. */
async function drive(work: Workplace, input: string): Promise<void> {
  await using turn = await work.beginTurn(input);
  for (;;) {
    if (turn.budgetLeft().reached.length > 0) throw new Error("the budget is used up");
    const { content, usage } = await ask();
    await turn.reportUsage({ inputTokens: usage.input_tokens, outputTokens: usage.output_tokens, model });
    const calls = content.filter(({ type }) => type === "tool_use");
    for (const { text } of content) if (text) await turn.addMessage("assistant", text);
    if (calls.length === 0) return turn.end();
    for (const { id = "", input } of calls) {
      const command = input?.command ?? "";
      // The intent is on disk before the command runs, and its result before the model gets it.
      const call = await turn.callTool("run_command", { command }, { call: id });
      const { exitCode, excerpt } = await (await work.start(["sh", "-c", command])).ended;
      await (exitCode === 0 ? call.returned(excerpt) : call.failed({ exitCode, excerpt }));
    }
  }
}

/** The whole conversation goes to the model each time: it is read back from the journal. */
async function ask(): Promise<Answer> {
  const { messages } = await handle.conversation("anthropic");
  const headers = {
    "content-type": "application/json",
    "x-api-key": process.env["MODEL_KEY"] ?? "none",
    "anthropic-version": "2023-06-01",
  };
  const body = JSON.stringify({ model, max_tokens: 4096, tools, messages });
  const response = await fetch(url, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`the model answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Answer;
}
