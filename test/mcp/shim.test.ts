/**
 * The MCP shim, as an agent's configuration names it, started in the sandbox by the official client.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome } from "../support/hosts.ts";

const modules = join(import.meta.dirname, "..", "..", "node_modules");
const packaged = (file: string) => join(modules, "@modelcontextprotocol", "client", "dist", file);

/** Does what an agent would do, and prints what it saw. */
const CLIENT = `
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from ${JSON.stringify(packaged("index.mjs"))};
import { StdioClientTransport } from ${JSON.stringify(packaged("stdio.mjs"))};
const client = new Client({ name: "in-sandbox", version: "1" });
const env = process.env;
await client.connect(new StdioClientTransport({ command: "node", args: [process.argv[2], process.argv[3]], env }));
const seen = { tools: (await client.listTools()).tools.map(({ name }) => name) };
const call = (name, args, options) => client.callTool({ name, arguments: args }, options);
const text = ({ content }) => content[0].text;
seen.made = text(await call("write_file", { path: "made.txt", content: "by the shim" }));
seen.both = await Promise.all(
  ["sleep 1; echo late", "echo soon"].map(async (command) => text(await call("run_command", { command }))),
);
const waits = { command: "while [ ! -e go ]; do sleep 0.05; done; echo first" };
const named = client.callTool({ name: "run_command", arguments: waits, _meta: { mark: "initialize" } });
seen.besides = [text(await call("run_command", { command: "touch go; echo second" })), text(await named)];
seen.outside = text(await call("git_push", {}));
const gone = new AbortController();
const command = "touch begun; sleep 1000; touch over";
const taken = call("run_command", { command }, { signal: gone.signal }).catch(() => "taken back");
while (!existsSync("begun")) await sleep(10);
gone.abort();
seen.taken = await taken;
seen.left = text(await call("run_command", { command: "cat made.txt; pgrep -x sleep || echo ' none'" }));
console.log(JSON.stringify(seen));
await client.close();
`;

describe.skipIf(!hasSandbox)("the shim", () => {
  it("carries calls, simultaneous answers and cancellations between an agent and the gate", async () => {
    using home = new HostHome({ "client.mjs": CLIENT });
    await home.open();
    const settings = { sandbox: { read: [modules] } };
    writeFileSync(join(home.dir, "settings.yaml"), JSON.stringify(settings), { mode: 0o600 });
    const words = ["node", "client.mjs", "/tmp/.holdfast/mcp.mjs", "/mcp"];
    const { status, stdout, stderr } = await home.cli("run", "--repo", home.main, "--", ...words);
    expect(status, stderr).toBe(0);
    const line = stdout.split("\n").find((one) => one.startsWith("{")) ?? "{}";
    const seen = JSON.parse(line);
    expect(seen.tools).toEqual(expect.arrayContaining(["read_file", "run_command", "ask_person"]));
    expect(seen.tools).not.toContain("git_push");
    expect(seen).toMatchObject({
      made: expect.stringContaining("made.txt"),
      both: ["late\n", "soon\n"],
      besides: ["second\n", "first\n"],
      outside: expect.stringContaining("lane"),
      taken: "taken back",
      left: "by the shim none\n",
    });
  });
});
