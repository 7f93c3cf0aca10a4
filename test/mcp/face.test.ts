/**
 * The gate as the current official MCP client sees it, and with bytes that no client would send.
 */
import { DEFAULT_REQUEST_TIMEOUT_MSEC } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { defaultSettings } from "../../src/config/index.ts";
import { GateHome } from "../support/gates.ts";
import { CountedTool, Operator } from "../support/granting.ts";

const text = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? "";

describe("the MCP endpoint of a session", () => {
  it("offers the tools of the lane, and records each call with its outcome", async () => {
    using home = new GateHome({ "README.md": "hello\n" });
    await home.begin();
    const client = await home.client();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["read_file", "edit_file", "run_command", "ask_person", "note"]),
    );
    expect(text(await client.callTool({ name: "read_file", arguments: { path: "README.md" } }))).toBe(
      "hello\n",
    );
    const made = await client.callTool({ name: "write_file", arguments: { path: "a.txt", content: "x" } });
    expect(made.isError).toBe(false);
    const ran = await client.callTool({ name: "run_command", arguments: { command: "cat a.txt; exit 3" } });
    expect(ran).toMatchObject({ isError: true, structuredContent: { exit_code: 3 } });
    const called = await home.records("tool_called");
    const returned = await home.records("tool_returned");
    expect(called.map(({ tool }) => tool)).toEqual(["read_file", "write_file", "run_command"]);
    expect(returned.map(({ call }) => call)).toEqual(called.map(({ call }) => call));
    expect(returned.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "error"]);
    await home.end();
  });

  it("gate-1 does not list a tool outside the lane, and refuses to call it", async () => {
    using home = new GateHome({ "README.md": "hello\n" });
    await home.begin({ tools: { read: ["read_file"], write: [] } });
    const client = await home.client();
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["read_file"]);
    for (const name of ["write_file", "list_files", "run_command", "nothing", "__proto__"]) {
      const refused = await client.callTool({
        name,
        arguments: { path: "x", content: "y", command: "touch z" },
      });
      expect(refused.isError, name).toBe(true);
      expect(text(refused)).toContain("not a tool of this task's lane");
    }
    expect(await home.records("tool_called")).toEqual([]);
    expect((await home.records("tool_refused")).map(({ tool }) => tool)).toContain("write_file");
    await home.end();
  });

  it("offers an agent with tools of its own only the tools that it lacks", async () => {
    using home = new GateHome();
    await home.begin();
    const names = (await (await home.client("beside")).listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["ask_person", "send_message", "note", "read_blob"]));
    expect(names).not.toContain("run_command");
    expect(names).not.toContain("read_file");
    await home.end();
  });

  it("gate-6 refuses a body that two JSON readers could take differently", async () => {
    using home = new GateHome({ "README.md": "hello\n" });
    await home.begin();
    await home.client();
    const call = (args: string) =>
      `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"write_file","arguments":${args}}}`;
    const bodies = [
      call('{"path":"a","path":"b","content":"x"}'),
      call('{"path":"a","content":"x","__proto__":{"path":"b"}}'),
      call('{"path":"\\ud800","content":"x"}'),
      call('{"path":"a","content":"x","n":9007199254740993}'),
      `\ufeff${call('{"path":"a","content":"x"}')}`,
      call('{"path":"a"'),
      `[${call('{"path":"a","content":"x"}')}]`,
    ];
    for (const body of bodies) {
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const answer = await fetch(home.url, { method: "POST", headers, body });
      expect(answer.status, body).toBe(400);
    }
    expect(await home.records("tool_called")).toEqual([]);
    await home.end();
  });

  it("cuts long output to its head and tail, with a handle that read_blob takes", async () => {
    using home = new GateHome();
    await home.begin();
    const client = await home.client();
    const command = "seq 1 20000";
    const long = text(await client.callTool({ name: "run_command", arguments: { command } }));
    expect(long.length).toBeLessThan(20_000);
    expect(long.startsWith("1\n2\n3\n")).toBe(true);
    expect(long.trimEnd().endsWith("20000")).toBe(true);
    const handle = /handle ([0-9a-f]{64})/.exec(long)?.[1] ?? "";
    const part = await client.callTool({
      name: "read_blob",
      arguments: { handle, offset: 60_000, length: 100 },
    });
    expect(part.isError).toBe(false);
    expect(text(part)).toMatch(/1\d\d\d\d\n/);
    await home.end();
  });

  it("ends a call that its client cancels, with all that the call started", async () => {
    using home = new GateHome();
    await home.begin();
    const client = await home.client();
    const gone = new AbortController();
    const running = client.callTool(
      { name: "run_command", arguments: { command: "sleep 100; touch late" } },
      { signal: gone.signal },
    );
    running.catch(() => {});
    while ((await home.records("process_started")).length === 0);
    gone.abort();
    await expect(running).rejects.toThrow();
    while ((await home.records("tool_returned")).length === 0);
    expect((await home.records("process_ended")).length).toBe(1);
    await home.end();
  });

  it("refuses arguments that don't fit a tool's schema before the tool runs", async () => {
    using home = new GateHome();
    await home.begin();
    const client = await home.client();
    const refused = await client.callTool({ name: "write_file", arguments: { path: 3, content: "x" } });
    expect(text(refused)).toContain("arguments_invalid");
    expect((await home.records("tool_returned"))[0]).toMatchObject({ outcome: "refused" });
    await home.end();
  });

  it("answers the one request of a held call when a person approves it", async () => {
    const more: CountedTool[] = [];
    using home = new GateHome();
    const holdMs = defaultSettings.ask_seconds * 1000;
    // A client with the usual timeout gets the answer in any case.
    expect(holdMs).toBeLessThan(DEFAULT_REQUEST_TIMEOUT_MSEC);
    await home.begin({ tools: { external: ["*"] }, more, holdMs });
    const tool = new CountedTool(home.dir);
    more.push(tool);
    const client = await home.client();
    const calling = client.callTool({ name: "publish_page", arguments: { title: "news" } });
    const operator = new Operator(home);
    await operator.request();
    expect(tool.effects).toEqual([]);
    await operator.approve();
    expect(await calling).toMatchObject({ isError: false, content: [{ type: "text", text: "published" }] });
    expect(tool.effects).toHaveLength(1);
    expect(await home.records("tool_called")).toHaveLength(1);
    await home.end();
  });
});
