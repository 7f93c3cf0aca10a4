/**
 * Intents become calls of the tools that an agent offers, whatever they are called there.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Intent, startScriptedModel } from "../../src/testing/index.ts";
import { TempDir } from "../support/home.ts";
import { ask, chat, type OfferedTool } from "./clients/index.ts";
import { offers } from "./offered-tools.ts";

/** What the model makes of an intent: the call, or what it says instead. */
async function made(
  intent: Intent,
  { system = "", tools }: { readonly system?: string; readonly tools: readonly OfferedTool[] },
): Promise<unknown> {
  await using model = await startScriptedModel({ scripts: { one: [{ call: intent }] } });
  const said = await ask(model.url, chat, { entries: [{ user: "[[one]]" }], system, tools });
  const [call] = said.calls;
  return call ? [call.name, call.args] : said.text;
}

const write: Intent = { write: { path: "src/a.ts", content: "x\n" } };
const read: Intent = { read: { path: "src/a.ts" } };
const edit: Intent = { edit: { path: "src/a.ts", find: "x", replace: "y" } };
const bash: Intent = { bash: { command: "ls | wc -l" } };
const mcp: Intent = { mcp: { server: "issue-tracker", tool: "find_issue", args: { text: "crash" } } };

const ABSOLUTE = "/srv/repo/src/a.ts";

const expected: [keyof typeof offers, Intent, unknown][] = [
  ["claude", write, ["Write", { file_path: ABSOLUTE, content: "x\n" }]],
  ["claude", read, ["Read", { file_path: ABSOLUTE }]],
  ["claude", edit, ["Edit", { file_path: ABSOLUTE, old_string: "x", new_string: "y" }]],
  ["claude", bash, ["Bash", { command: "ls | wc -l" }]],
  ["claude", mcp, ["mcp__issue-tracker__find_issue", { text: "crash" }]],
  ["opencode", write, ["write", { filePath: ABSOLUTE, content: "x\n" }]],
  ["opencode", read, ["read", { filePath: ABSOLUTE }]],
  ["opencode", edit, ["edit", { filePath: ABSOLUTE, oldString: "x", newString: "y" }]],
  ["opencode", bash, ["bash", { command: "ls | wc -l", description: "scripted" }]],
  ["opencode", mcp, ["issue-tracker_find_issue", { text: "crash" }]],
  ["geminiCli", write, ["write_file", { file_path: "src/a.ts", content: "x\n" }]],
  ["geminiCli", read, ["read_file", { file_path: "src/a.ts" }]],
  [
    "geminiCli",
    edit,
    ["replace", { file_path: "src/a.ts", instruction: "scripted", old_string: "x", new_string: "y" }],
  ],
  ["geminiCli", bash, ["run_shell_command", { command: "ls | wc -l" }]],
  ["geminiCli", mcp, ["mcp_issue-tracker_find_issue", { text: "crash" }]],
  ["goose", write, ["write", { path: "src/a.ts", content: "x\n" }]],
  ["goose", read, ["shell", { command: "cat 'src/a.ts'" }]],
  ["goose", edit, ["edit", { path: "src/a.ts", before: "x", after: "y" }]],
  ["goose", bash, ["shell", { command: "ls | wc -l" }]],
  ["goose", mcp, ["issue-tracker__find_issue", { text: "crash" }]],
  ["codex", bash, ["exec_command", { cmd: "ls | wc -l" }]],
  ["codex", read, ["exec_command", { cmd: "cat 'src/a.ts'" }]],
  ["codexBefore", bash, ["shell", { command: ["bash", "-c", "ls | wc -l"] }]],
  ["pi", write, ["write", { path: "src/a.ts", content: "x\n" }]],
  ["pi", read, ["read", { path: "src/a.ts" }]],
  ["pi", edit, ["edit", { path: "src/a.ts", edits: [{ oldText: "x", newText: "y" }] }]],
  ["pi", bash, ["bash", { command: "ls | wc -l" }]],
];

describe("intents", () => {
  for (const [agent, intent, call] of expected)
    it(`${Object.keys(intent)} becomes a call of a tool of ${agent}`, async () => {
      expect(await made(intent, offers[agent])).toEqual(call);
    });

  it("a directory in the intent takes precedence over the agent's directory", async () => {
    const elsewhere: Intent = { read: { path: "b.txt", cwd: "/elsewhere" } };
    expect(await made(elsewhere, offers.claude)).toEqual(["Read", { file_path: "/elsewhere/b.txt" }]);
  });

  it("the agent's directory is found in the system prompt or in the conversation", async () => {
    const { tools } = offers.claude;
    for (const { system } of Object.values(offers)) {
      expect(await made(read, { system, tools })).toEqual(["Read", { file_path: ABSOLUTE }]);
      await using model = await startScriptedModel({ scripts: { one: [{ call: read }] } });
      const entries = [{ user: system }, { user: "[[one]]" }];
      const { calls } = await ask(model.url, chat, { entries, tools });
      expect(calls[0]?.args).toEqual({ file_path: ABSOLUTE });
    }
    expect(await made(read, { tools })).toEqual(["Read", { file_path: "src/a.ts" }]);
  });

  it("files are written and edited through the shell if the agent offers nothing else", async () => {
    using dir = new TempDir();
    const path = dir.join("it's a file");
    const content = "it's $HOME `here`\n%s \\n\n";
    const run = async (intent: Intent) => {
      const [, { cmd }] = (await made(intent, offers.codex)) as [string, { cmd: string }];
      execFileSync("bash", ["-c", cmd]);
    };
    await run({ write: { path, content } });
    expect(readFileSync(path, "utf8")).toBe(content);
    writeFileSync(path, "a+b $x\n");
    await run({ edit: { path, find: "a+b $x", replace: "it's $1 /done/" } });
    expect(readFileSync(path, "utf8")).toBe("it's $1 /done/\n");
  });

  it("if no tool fits, the answer says so, even if another tool could do the work", async () => {
    const named = (...names: string[]) => ({
      tools: offers.claude.tools.filter(({ name }) => names.includes(name)),
    });
    expect(await made(write, named("Read", "Bash"))).toBe("NO-TOOL write");
    expect(await made(bash, named("Read"))).toBe("NO-TOOL bash");
    expect(await made(mcp, named("Read"))).toBe("NO-TOOL mcp");
    expect(await made({ tool: { name: "Nothing" } }, named("Read"))).toBe("NO-TOOL tool");
  });

  it("a tool in a namespace, as Codex offers MCP tools, is called with its namespace", async () => {
    await using model = await startScriptedModel({ scripts: { one: [{ call: mcp }] } });
    const tool = { type: "function", name: "find_issue", parameters: { type: "object" } };
    const tools = [{ type: "namespace", name: "mcp__issue_tracker", tools: [tool] }];
    const body = JSON.stringify({ model: "m", input: "[[one]]", tools });
    const response = await fetch(`${model.url}/v1/responses`, { method: "POST", body });
    expect(await response.json()).toMatchObject({
      output: [{ type: "function_call", name: "find_issue", namespace: "mcp__issue_tracker" }],
    });
  });

  it("a tool that the intent names is called by that name with unchanged arguments", async () => {
    const tools = [{ name: "lookup", schema: { type: "object" } }];
    expect(await made({ tool: { name: "lookup", args: { word: "heron" } } }, { tools })).toEqual([
      "lookup",
      { word: "heron" },
    ]);
    expect(await made({ tool: { name: "unknown", isUnoffered: true } }, { tools })).toEqual(["unknown", {}]);
  });
});
