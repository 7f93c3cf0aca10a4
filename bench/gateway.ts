/**
 * Benches of the gate: what a call through it takes beyond the same call to the server itself, reading a
 * file, and what an approval takes against the floor, an append of plain bytes.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { fdatasyncSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { fingerprintOf, spend } from "../src/approval/index.ts";
import { builtinTools, Gate, TaskPlace } from "../src/gateway/index.ts";
import { openHome } from "../src/home/index.ts";
import { openLocalHome } from "../src/library/local-home.ts";
import { openMcpFace, openServers } from "../src/mcp/index.ts";
import { decideOnFile, readConfig, readRepoFile } from "../src/task/index.ts";
import { atMost, inTurns, type Row } from "./measure.ts";

const project = join(import.meta.dirname, "..");
const SERVER = join(
  project,
  "node_modules",
  "@modelcontextprotocol",
  "server-everything",
  "dist",
  "index.js",
);
const ROUNDS = { rounds: 20, perRound: 20 };

export async function benchGateway(directory: string, progress: (text: string) => void): Promise<Row[]> {
  progress("the gate");
  const dir = join(directory, "gate-home");
  const repo = join(directory, "gate-repo");
  mkdirSync(repo);
  const git = (...args: string[]) => execFileSync("git", ["-C", repo, ...args], { stdio: "ignore" });
  git("init", "-q");
  writeFileSync(join(repo, "file.txt"), "a line of text\n".repeat(200));
  writeFileSync(
    join(repo, "holdfast.yaml"),
    JSON.stringify({ mcp: { all: { run: ["node", SERVER], class: "read" } } }),
  );
  git("add", "-A");
  git("-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-qm", "begin");
  const hf = await openLocalHome({ home: dir });
  writeFileSync(
    join(dir, "settings.yaml"),
    JSON.stringify({ sandbox: { read: [join(project, "node_modules")] } }),
    { mode: 0o600 },
  );
  const home = await openHome({ home: dir });
  await decideOnFile(home, await readRepoFile(home, { repo }), "accept");
  const session = await hf.openSession({ repo, title: "gate" });
  const task = await hf.startTask(session);
  const place = new TaskPlace(task, {
    work: task.workplace(),
    send: async () => "",
    ask: async () => ({ question: "q_1", answer: undefined }),
  });
  const { mcp } = await readConfig(task.room, task.base);
  const servers = await openServers({
    ...{ home, session, task, servers: mcp },
    secrets: async () => ({}),
    onFailure: (why) => progress(why),
  });
  const tools = builtinTools(place);
  const gate = new Gate({
    ...{ home, newId: home.newId, session, task, holdMs: 1000 },
    stop: new AbortController().signal,
    tools: async (name) => [...tools, ...(await servers.tools(name))],
    outcomeOf: async () => ({ kind: "not_begun" }),
    waits: () => {},
  });
  const face = await openMcpFace(gate);
  const http = createServer((request, response) => void face.handle(request, response, "all"));
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/`)));
  const direct = new Client({ name: "bench", version: "1" });
  await direct.connect(new StdioClientTransport({ command: "node", args: [SERVER], stderr: "ignore" }));
  const turn = await session.beginTurn("bench");
  try {
    const echo = { message: "hello" };
    const { gated, alone, read } = await inTurns(
      {
        gated: () => client.callTool({ name: "all__echo", arguments: echo }),
        alone: () => direct.callTool({ name: "echo", arguments: echo }),
        read: () => gate.call("read_file", { path: "file.txt" }),
      },
      ROUNDS,
    );
    const floorFd = openSync(join(dir, "floor"), "a");
    const line = Buffer.alloc(1024, 120);
    const action = {
      ...{ home: home.id, user: "bench", session: session.id, task: 1, lane: "x", tool: "git_push" },
      ...{ schema: "0".repeat(64), args: { branch: "x" }, target: { url: "https://example.org:443/" } },
      tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    };
    const { spent, floor } = await inTurns(
      {
        spent: async () => {
          fingerprintOf(action);
          spend(dir, home.newId("appr"), {});
        },
        floor: async () => {
          writeSync(floorFd, line);
          fdatasyncSync(floorFd);
        },
      },
      ROUNDS,
    );
    const ms = (value: number) => value.toFixed(2);
    return [
      atMost(
        "a call through the gate, beyond its server alone",
        `${ms(gated)} - ${ms(alone)} ms`,
        gated - alone,
        3,
        "ms",
      ),
      atMost("read_file in the gate", `${ms(read)} ms`, read, 2, "ms"),
      atMost("fingerprint and spend : floor append", `${ms(spent)} : ${ms(floor)} ms`, spent / floor, 4),
    ];
  } finally {
    await turn.end();
    await client.close();
    await direct.close();
    await face.close();
    await servers.close();
    http.closeAllConnections();
    http.close();
    await task.rest();
    await session.pause();
  }
}
