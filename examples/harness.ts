/**
 * A coding agent in about eighty lines: a loop over a model of the Messages API, with one tool that runs in the task's
 * sandbox. Kill it at any moment and start it again with the same arguments: it continues in the same conversation, on
 * the same files, and repeats no command whose result is on record.
 *
 *   node examples/harness.ts <repo> <name> <task in plain words>
 *
 * MODEL_URL and MODEL_KEY say which model is asked.
 */
import { isHoldfastError, type OwnedSession, type OwnTask, openHoldfast } from "holdfast";

const [repo = ".", name = "harness", ...words] = process.argv.slice(2);
const url = `${process.env["MODEL_URL"] ?? "https://api.anthropic.com"}/v1/messages`;
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
const begun = await begin();
await using session = begun.session;
const { task, input } = begun;
const work = task.workplace();
const handle = await hf.session(session.id);
await using turn = await work.beginTurn(input);

for (;;) {
  if (turn.budgetLeft().reached.length > 0) throw new Error("the budget is used up");
  const { content, usage } = await ask();
  await turn.reportUsage({
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    model: "any",
  });
  const calls = content.filter(({ type }) => type === "tool_use");
  for (const { type, text } of content) if (type === "text" && text) await turn.addMessage("assistant", text);
  if (calls.length === 0) break;
  for (const { id = "", input } of calls) await run(id, input?.command ?? "");
}
await turn.end();
const { outcome, branch } = await task.end("done");
await session.pause();
console.log(JSON.stringify({ outcome, branch, turns: session.turns }));

/** A session of this name that was cut off, with its files; or a new one. */
async function begin(): Promise<{ session: OwnedSession; task: OwnTask; input: string }> {
  try {
    const { id } = await hf.session(name);
    const resumed = await hf.resumeSession(id, { takeOver: true });
    return { session: resumed, task: await resumed.currentTask(), input: "You were cut off. Continue." };
  } catch (error) {
    if (!isHoldfastError(error, "session_not_found")) throw error;
    const opened = await hf.openSession({ repo, name, tags: ["harness"], budget: { turns: 50 } });
    return { session: opened, task: await opened.startTask(), input: words.join(" ") };
  }
}

/** The whole conversation goes to the model each time: it is read back from the journal. */
async function ask(): Promise<Answer> {
  const { messages } = await handle.conversation("anthropic");
  const headers = { "content-type": "application/json", "x-api-key": process.env["MODEL_KEY"] ?? "none" };
  const body = JSON.stringify({ model: "any", max_tokens: 4096, tools, messages });
  const response = await fetch(url, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`the model answered ${response.status}`);
  return (await response.json()) as Answer;
}

/** The intent is on disk before the command runs, and its result before the model hears of it. */
async function run(id: string, command: string): Promise<void> {
  const call = await turn.callTool("run_command", { command }, { call: id });
  const { exitCode, excerpt } = await (await work.start(["sh", "-c", command])).ended;
  await (exitCode === 0 ? call.returned(excerpt) : call.failed({ exitCode, excerpt }));
}
