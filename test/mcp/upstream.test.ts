/**
 * MCP servers behind the gate: real ones, and ones that misbehave, which hurt only their own calls.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, it } from "vitest";
import { spend, wasSpent } from "../../src/approval/index.ts";
import { readOffered } from "../../src/gateway/index.ts";
import { actionsDir, sha256Hex, toolsPath } from "../../src/util/index.ts";
import { type GateAsked, GateHome } from "../support/gates.ts";
import { CountedTool, Operator } from "../support/granting.ts";
import { until } from "../support/hosts.ts";
import { acceptFile } from "../support/trust.ts";

const project = join(import.meta.dirname, "..", "..");
const packaged = (name: string) =>
  join(project, "node_modules", "@modelcontextprotocol", `server-${name}`, "dist", "index.js");
const odd = join(project, "test", "fixtures", "mcp-server.mjs");

interface Entry {
  readonly run: readonly string[];
  readonly [word: string]: unknown;
}

async function withServers(mcp: Record<string, Entry>, asked: GateAsked = {}): Promise<GateHome> {
  const home = new GateHome({
    "holdfast.yaml": JSON.stringify({ mcp }),
    "in-repo.txt": "of the repo\n",
    ".gitignore": "ticks\nserver-ticks\n",
  });
  const read = [join(project, "node_modules"), join(project, "test", "fixtures")];
  await home.open();
  writeFileSync(join(home.dir, "settings.yaml"), JSON.stringify({ sandbox: { read } }), { mode: 0o600 });
  await acceptFile(home);
  await home.begin(asked);
  return home;
}

/** Asked by the official client, without a gate. */
async function toolsOfItself(name: string): Promise<string[]> {
  const client = new Client({ name: "test", version: "1" });
  const args = [packaged(name), ...(name === "filesystem" ? ["/tmp"] : [])];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }));
  const { tools } = await client.listTools();
  await client.close();
  return tools.map((tool) => tool.name);
}

/** Of the server's own process; 0: there is none. */
function pidOf(program: string): number {
  const isIt = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(`node\0${program}\0`);
    } catch {
      return false;
    }
  };
  return Number(readdirSync("/proc").find((pid) => /^\d+$/.test(pid) && isIt(pid)) ?? 0);
}

const names = async (home: GateHome) => (await home.gate.list()).map(({ name }) => name);
const serverTools = async (home: GateHome) => (await names(home)).filter((name) => name.includes("__"));

describe("real MCP servers behind the gate", () => {
  it("do the calls that the lane allows, and their other tools are neither listed nor callable", async () => {
    const files = { run: ["node", packaged("filesystem"), "."], files: "write", class: "write" };
    const read = ["list_directory", "read_text_file", "get_file_info"];
    const classes = Object.fromEntries(read.map((name) => [name, "read"]));
    using home = await withServers(
      {
        files: { ...files, classes },
        all: { run: ["node", packaged("everything")], class: "read" },
        memory: {
          run: ["sh", "-c", `MEMORY_FILE_PATH=$HOME/memory.json exec node ${packaged("memory")}`],
          class: "read",
        },
      },
      { tools: { write: ["files__write_file", "files__edit_file"] } },
    );
    const client = await home.client();
    const listed = (await client.listTools()).tools.map(({ name }) => name);
    expect(listed).not.toContain("run_command");
    // Of each server, exactly the tools that it has itself and that the lane has.
    const lists = (name: string) => listed.filter((one) => one.startsWith(`${name}__`)).sort();
    const has = async (name: string) =>
      (await toolsOfItself(name === "files" ? "filesystem" : name === "all" ? "everything" : name))
        .map((tool) => `${name}__${tool}`)
        .sort();
    for (const name of ["all", "memory"]) expect(lists(name), name).toEqual(await has(name));
    const inLane = [...read, "write_file", "edit_file"].map((name) => `files__${name}`);
    expect(lists("files")).toEqual(inLane.sort());
    const outside = (await has("files")).filter((name) => !inLane.includes(name));
    expect(outside.length).toBeGreaterThan(5);
    for (const name of outside)
      expect(await home.gate.call(name, { path: "in-repo.txt" }), name).toMatchObject({
        outcome: "refused",
        text: expect.stringContaining("is not a tool of this task's lane"),
      });
    const call = async (name: string, args: Record<string, unknown>) => {
      const result = await client.callTool({ name, arguments: args });
      return { isError: result.isError, text: JSON.stringify(result.content) };
    };
    expect(await call("files__read_text_file", { path: "in-repo.txt" })).toMatchObject({
      isError: false,
      text: expect.stringContaining("of the repo"),
    });
    expect((await call("files__write_file", { path: "made.txt", content: "by a server" })).isError).toBe(
      false,
    );
    expect((await home.gate.call("read_file", { path: "made.txt" })).text).toBe("by a server");
    expect((await call("files__move_file", { source: "made.txt", destination: "b" })).text).toContain("lane");
    expect((await call("files__read_text_file", { path: "/etc/hostname" })).isError).toBe(true);
    expect((await call("all__echo", { message: "hello" })).text).toContain("hello");
    expect((await call("all__get-sum", { a: 2, b: 3 })).text).toContain("5");
    const entities = [{ name: "kelp", entityType: "plant", observations: ["holds fast"] }];
    expect((await call("memory__create_entities", { entities })).isError).toBe(false);
    expect((await call("memory__search_nodes", { query: "kelp" })).text).toContain("holds fast");
    expect(home.told).toEqual([]);
    const progress: string[] = [];
    await client.callTool(
      { name: "all__trigger-long-running-operation", arguments: { duration: 1, steps: 2 } },
      { onprogress: ({ message }) => void progress.push(message ?? "") },
    );
    expect(progress.length).toBeGreaterThan(0);
    await home.end();
  });
});

describe("an upstream server", () => {
  it("upstream-2 sees no files, network or variables that its entry does not name, and its value is redacted", async () => {
    const run = ["node", odd, "well"];
    using home = await withServers(
      {
        blind: { run, env: ["SERVER_TOKEN"], class: "read" },
        seeing: { run, files: "read", class: "read" },
      },
      { secrets: { SERVER_TOKEN: "tok-1234567890" } },
    );
    // A listener answers in the task's network.
    const port = await home.task.network.serve((socket) => void socket.end());
    const inside = `node -e 'net.connect(${port}, "127.0.0.1").on("connect", () => console.log("connected"))'`;
    expect((await home.gate.call("run_command", { command: inside })).text).toBe("connected\n");
    const look = async (tool: string) => JSON.parse((await home.gate.call(tool, { port })).text);
    const blind = await look("blind__look");
    expect(blind).toMatchObject({ files: [], answer: "ECONNREFUSED" });
    expect(blind.variables).toContain("SERVER_TOKEN");
    expect(blind.variables.filter((name: string) => name.startsWith("HOLDFAST_"))).toEqual([]);
    const seeing = await look("seeing__look");
    expect(seeing).toMatchObject({ answer: "ECONNREFUSED" });
    expect(seeing.files).toContain("in-repo.txt");
    expect(seeing.variables).not.toContain("SERVER_TOKEN");
    expect((await home.gate.call("blind__secret", {})).text).toBe("the token is [SERVER_TOKEN]");
    expect(JSON.stringify(await home.records("tool_returned"))).not.toContain("tok-1234567890");
    await home.end();
  });

  it("has its variable's value redacted in the descriptions and inputs of its tools, and in progress messages", async () => {
    const run = ["node", odd, "tells"];
    using home = await withServers(
      { tells: { run, env: ["SERVER_TOKEN"], class: "read" } },
      { secrets: { SERVER_TOKEN: "tok-1234567890" } },
    );
    const client = await home.client();
    const { tools } = await client.listTools();
    const told = tools.find(({ name }) => name === "tells__look");
    expect(told?.description).toBe("Looks with [SERVER_TOKEN].");
    expect(told?.inputSchema.properties).toEqual({ key: { type: "string", default: "[SERVER_TOKEN]" } });
    const progress: string[] = [];
    await client.callTool(
      { name: "tells__look", arguments: {} },
      { onprogress: ({ message }) => void progress.push(message ?? "") },
    );
    expect(progress).toEqual(["uses [SERVER_TOKEN]"]);
    await home.end();
  });

  it("sees the capsule with `files: read`, but can't write to it", async () => {
    const files = { run: ["node", packaged("filesystem"), "."], files: "read", class: "write" };
    using home = await withServers({ files });
    expect((await home.gate.call("files__read_text_file", { path: "in-repo.txt" })).text).toContain(
      "of the repo",
    );
    const refused = await home.gate.call("files__write_file", { path: "made.txt", content: "x" });
    expect(refused).toMatchObject({ outcome: "error", text: expect.stringMatching(/EROFS|read-only/i) });
    await home.end();
  });
});

describe("an upstream server that misbehaves", () => {
  const entry = (how: string): Entry => ({ run: ["node", odd, how], class: "read", timeout_seconds: 2 });

  it("fails only its own calls, beside a server that works", async () => {
    const kinds = [
      "hangs",
      "crashes",
      "floods",
      "chatters",
      "noise",
      "gone",
      "odd-name",
      "twice-named",
      "many",
    ];
    const entries = Object.fromEntries([...kinds, "well"].map((how) => [how, entry(how)]));
    entries["chatters"] = { ...entry("chatters"), timeout_seconds: 60 };
    using home = await withServers(entries, { patience: { openMs: 12_000, listMs: 20_000 } });
    const tools = await serverTools(home);
    const calls = ["hangs__look", "crashes__look", "floods__look", "chatters__look", "well__look"];
    expect(tools).toEqual([...calls, "well__secret"]);
    const told = home.told.join("\n");
    for (const how of ["noise", "gone", "odd-name", "twice-named", "many"]) expect(told).toContain(how);
    expect(told).not.toContain("\u001b");
    const answers = await Promise.all(calls.map((name) => home.gate.call(name, {})));
    expect(answers.map(({ outcome }) => outcome)).toEqual(["error", "error", "error", "error", "ok"]);
    expect(answers[3]?.text).toContain("were not requested");
    expect(await home.gate.call("run_command", { command: "echo on" })).toMatchObject({ text: "on\n" });
    await home.end();
  });

  it("delays the list of all tools no longer than a deadline, although it hangs or its list does not end", async () => {
    const entries = { mute: entry("mute"), pages: entry("pages"), well: entry("well") };
    using home = await withServers(entries, { patience: { openMs: 8000, listMs: 6000 } });
    expect(await serverTools(home)).toEqual(["well__look", "well__secret"]);
    for (const name of ["mute", "pages"])
      expect(home.told).toContainEqual(expect.stringContaining(`${name}: it is not ready after`));
    expect(await home.gate.call("well__look", {})).toMatchObject({ outcome: "ok" });
    expect(await home.gate.call("pages__look0", {})).toMatchObject({ outcome: "refused" });
    expect(home.told).toContainEqual(expect.stringContaining("pages can't be used"));
    await home.end();
  });

  it("is in the tools that are shown to people after a client has listed them, whatever is called then", async () => {
    using home = await withServers({ well: entry("well") });
    const { sessionDir } = home.task.room;
    const shown = () => readOffered(sessionDir).tools.map(({ name }) => name);
    await home.gate.list();
    expect(shown()).toContain("well__look");
    await home.gate.call("list_files", {});
    expect(shown()).toContain("well__look");
    // A cache that can't be written fails no call.
    rmSync(toolsPath(sessionDir));
    mkdirSync(toolsPath(sessionDir));
    expect(await home.gate.list()).not.toEqual([]);
    await home.end();
  });

  it("is started once for simultaneous calls, and its schema's patterns do not run in our process", async () => {
    using home = await withServers({ well: entry("well"), slow: entry("slow") });
    const calls = Array.from({ length: 5 }, () => home.gate.call("well__look", {}));
    expect((await Promise.all(calls)).map(({ outcome }) => outcome)).toEqual(Array(5).fill("ok"));
    const starts = home.sessionDir(home.session.id, "servers", "well", "home", "starts");
    expect(readFileSync(starts, "utf8")).toBe("x");
    // Matched in our process, this pattern would practically never end.
    const x = `${"a".repeat(60)}!`;
    expect(await home.gate.call("slow__look", { x })).toMatchObject({ outcome: "ok" });
    await home.end();
  });

  it("is started again after it crashed, but not without end", async () => {
    using home = await withServers({ once: entry("crashes-once"), ever: entry("crashes") });
    expect(await home.gate.call("once__look", {})).toMatchObject({ outcome: "error" });
    expect(await home.gate.call("once__look", { a: 1 })).toMatchObject({ outcome: "ok" });
    for (let at = 0; at < 6; at += 1) await home.gate.call("ever__look", {});
    expect(home.told.join("\n")).toContain("not started again");
    await home.end();
  });

  it("upstream-1 offers no tools once its tool list is not the one that was accepted", async () => {
    using home = await withServers({ shifty: entry("other-tools") });
    expect(await home.gate.call("shifty__look", {})).toMatchObject({ outcome: "ok" });
    const changed = await home.gate.call("shifty__look", {});
    expect(changed.outcome).toBe("refused");
    expect(await serverTools(home)).toEqual([]);
    expect(home.told.join("\n")).toContain("not those that were accepted");
    await home.end();
  });
});

describe("an action of an upstream server", () => {
  const asking: GateAsked = { tools: { external: ["*"] }, holdMs: 10_000 };
  const entry = (how: string, more: object = {}): Entry => ({
    run: ["node", odd, how],
    timeout_seconds: 2,
    ...more,
  });

  it("waits for an approval that names its tree and hosts, and is then done by the server", async () => {
    using home = await withServers({ sees: entry("well", { files: "read" }) }, asking);
    const operator = new Operator(home);
    const calling = home.gate.call("sees__look", { a: 1 });
    const { data } = await operator.request();
    expect(data["facts"]).toContainEqual(["reaches", "no host"]);
    expect(data["tree"]).toMatch(/^[0-9a-f]{40}$/);
    const { target } = data["action"] as { target: { executable: { path: string; sha256: string } } };
    const { path, sha256 } = target.executable;
    expect(sha256).toBe(sha256Hex(readFileSync(path)));
    await operator.approve();
    expect(await calling).toMatchObject({ outcome: "ok", text: 'looked: {"a":1}' });
    expect(await home.records("action_ended")).toMatchObject([{ outcome: "ok" }]);
    await home.end();
  });

  it("gate-8 acts on the task's files while the agent's processes and other servers stand still", async () => {
    const servers = { sees: entry("watches", { files: "write" }), ticks: entry("ticks", { files: "write" }) };
    using home = await withServers(servers, asking);
    const operator = new Operator(home);
    const { root } = await home.task.capsule.attach();
    // Both servers are started by this.
    await home.gate.list();
    const writer = await home.task.workplace().start(["sh", "-c", "while :; do echo x >> ticks; done"]);
    const calling = home.gate.call("sees__watch", { files: ["ticks", "server-ticks"] });
    for (const file of ["ticks", "server-ticks"]) await until(() => existsSync(join(root, file)));
    await operator.approve();
    expect(await calling).toMatchObject({ outcome: "ok", text: "grown by 0, 0" });
    writer.end();
    await writer.ended;
    await home.end();
  });

  it("gate-8 a server that writes files starts after the action that is at work, not during it", async () => {
    const servers = { ticks: entry("ticks", { files: "write", class: "write" }) };
    const asked = { tools: { external: ["*"], write: ["*"] }, holdMs: 10_000 };
    const more: CountedTool[] = [];
    using home = await withServers(servers, { ...asked, more });
    const tool = new CountedTool(home.dir);
    more.push(tool);
    const { root } = await home.task.capsule.attach();
    const hasStarted = () => existsSync(join(root, "server-ticks"));
    let beside: Promise<unknown> | undefined;
    tool.onAct = async () => {
      beside = home.gate.call("ticks__look", {});
      await sleep(500);
      expect(hasStarted()).toBe(false);
    };
    const calling = home.gate.call("publish_page", { title: "x" });
    await new Operator(home).approve();
    expect(await calling).toMatchObject({ outcome: "ok" });
    expect(await beside).toMatchObject({ outcome: "ok" });
    await until(hasStarted);
    await home.end();
  });

  it("spend-1 is not done with a grant that was already spent in this home", async () => {
    using home = await withServers({ sees: entry("well") }, { ...asking, holdMs: 1 });
    const call = () => home.gate.call("sees__look", {});
    expect(await call()).toMatchObject({ outcome: "held" });
    const { approval } = await new Operator(home).approve();
    spend(home.dir, approval, {});
    expect(await call()).toMatchObject({
      outcome: "refused",
      text: expect.stringContaining("already spent"),
    });
    await home.end();
  });

  it("upstream-4 is refused, and costs no grant, if its server has ended; the next call starts it again", async () => {
    using home = await withServers({ sees: entry("well") }, asking);
    const operator = new Operator(home);
    const calling = home.gate.call("sees__look", {});
    await operator.request();
    process.kill(pidOf(odd), "SIGKILL");
    await until(() => pidOf(odd) === 0);
    const grant = await operator.approve();
    const first = await calling;
    expect(first).toMatchObject({ outcome: "refused", text: expect.stringContaining("make the call again") });
    expect(wasSpent(home.dir, grant.approval)).toBe(false);
    expect(await home.gate.call("sees__look", {})).toMatchObject({ outcome: "ok" });
    expect(await home.records("action_ended")).toMatchObject([{ outcome: "ok" }]);
    await home.end();
  });

  it("upstream-3 is unknown, and a person is asked, if it got no answer; the server's refusal is an error", async () => {
    using home = await withServers(
      { hangs: entry("hangs"), crashes: entry("crashes"), refuses: entry("refuses") },
      asking,
    );
    const operator = new Operator(home);
    for (const [at, name] of ["hangs__look", "crashes__look", "refuses__look"].entries()) {
      const calling = home.gate.call(name, {});
      await operator.approve(at + 1);
      expect(await calling).toMatchObject({ outcome: "error" });
    }
    expect((await home.records("action_ended")).map(({ outcome }) => outcome)).toEqual([
      "unknown",
      "unknown",
      "error",
    ]);
    expect(await home.records("question_asked")).toHaveLength(2);
    await home.end();
  });

  it("upstream-3 is unknown without an approval too, and its beginning is on disk", async () => {
    using home = await withServers({ hangs: entry("hangs") }, { tools: { external: ["*"], approval: [] } });
    expect(await home.gate.call("hangs__look", {})).toMatchObject({ outcome: "error" });
    const [action] = await home.records("action_ended");
    expect(action).toMatchObject({ tool: "hangs__look", outcome: "unknown" });
    expect(await home.records("question_asked")).toHaveLength(1);
    const dir = actionsDir(home.sessionDir(home.session.id), 1);
    expect(existsSync(join(dir, `${action?.["approval"]}.begun`))).toBe(true);
    await home.end();
  });
});
