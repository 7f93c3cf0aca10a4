/**
 * The network of a task, end to end: it reaches the hosts that its lane names and no others, and both are on
 * record.
 */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/contract/index.ts";
import { findProgram } from "../../src/process/index.ts";
import { RoomNetwork } from "../../src/task/room/network.ts";
import { hasSandbox } from "../support/capsules.ts";
import { TempDir } from "../support/home.ts";
import { TestNamespace } from "../support/namespace.ts";
import { commitFiles } from "../support/repo.ts";
import { TaskHome, turn } from "../support/tasks.ts";
import { acceptFile } from "../support/trust.ts";

const hasCurl = findProgram("curl") !== undefined;
if (!hasSandbox || !hasCurl) console.log("left out: the network of a task: it needs bubblewrap and curl");

/** A server on this machine that answers each request with one word. */
class Word implements AsyncDisposable {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async say(word: string): Promise<Word> {
    const server = createServer((_, response) => response.end(word)).listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Word(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

const ask = (port: number) => `curl -sS --max-time 10 http://localhost:${port}/ 2>&1; echo`;

describe.skipIf(!hasSandbox || !hasCurl)("the network of a task", () => {
  it("network-1 reaches only the hosts that the task was given, and records what it allowed and refused", async () => {
    using home = new TaskHome();
    await using reached = await Word.say("REACHED");
    await using hidden = await Word.say("HIDDEN");
    const hf = await home.open();
    const session = await hf.openSession({ repo: home.main, title: "asks" });
    const task = await hf.startTask(session, { hosts: [`localhost:${reached.port}`] });
    const said = await turn(task, `${ask(reached.port)}; ${ask(hidden.port)}; curl -s http://example.org/`);
    expect(said).toContain("REACHED");
    expect(said).not.toContain("HIDDEN");
    expect(said).toContain("holdfast run --host example.org");
    const used: unknown[] = [];
    for await (const { type, data } of hf.readJournal(session.id))
      if (type === "network_used") used.push(data);
    expect(used).toMatchObject([
      {
        task: 1,
        turn: 1,
        allowed: [{ host: `localhost:${reached.port}`, connections: 1 }],
        refused: [{ host: expect.stringContaining("example.org"), connections: 1 }],
      },
    ]);
    await task.end("done");
    await session.close();
  });

  it("network-1 records refused hosts up to a limit, even with long names and after the turn used up the budget", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const session = await hf.openSession({ repo: home.main, title: "asks", budget: { turns: 1 } });
    const task = await hf.startTask(session);
    const long = `${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}.example`;
    await turn(
      task,
      `curl -s http://${long}:65535/; for n in $(seq 110); do curl -s http://h$n.example/; done`,
    );
    const records = new Map<string, JsonObject>();
    for await (const { type, data } of hf.readJournal(session.id)) records.set(type, data);
    expect(records.get("network_used")).toMatchObject({ allowed: [], more: { allowed: 0, refused: 11 } });
    expect(JSON.stringify(records.get("network_used"))).toContain(`${long}:65535`);
    // The checkpoint after the turn is taken as usual.
    expect(records.has("checkpoint_taken")).toBe(true);
    expect(session.state.status).toBe("paused");
    await session.release();
  });

  it("network-1 keeps its counts when the capsule gets a new holder", async () => {
    using temp = new TempDir();
    const network = new RoomNetwork(temp.path, { hosts: [] }, []);
    // Each host is asked for in a new namespace, which knows nothing of the one before.
    for (const host of ["first.example", "second.example", "second.example"]) {
      await using namespace = await TestNamespace.start();
      const env = await network.environment({ network: namespace.enter });
      await namespace.run(["curl", "-s", `http://${host}/`], env);
    }
    expect(network.takeCounts()).toMatchObject({
      refused: [
        { host: "first.example", connections: 1 },
        { host: "second.example", connections: 2 },
      ],
    });
    expect(network.takeCounts()).toBeUndefined();
    await network.close();
  });

  it("is begun anew for the next process when it could not be begun", async () => {
    using temp = new TempDir();
    const network = new RoomNetwork(temp.path, { hosts: [] }, []);
    const way = temp.join("way");
    // Until the test makes this file, no program can be started in the namespace.
    await using namespace = await TestNamespace.start();
    const view = { network: ["sh", "-c", `[ -e ${way} ] || exit 1; exec "$@"`, "sh", ...namespace.enter] };
    await expect(network.environment(view)).rejects.toMatchObject({ code: "network_failed" });
    writeFileSync(way, "");
    expect(await network.environment(view)).toHaveProperty("HTTPS_PROXY");
    await network.close();
  });

  it("gives each service a port of its own, also when several begin while the network does", async () => {
    using temp = new TempDir();
    const network = new RoomNetwork(temp.path, { hosts: [] }, []);
    await using namespace = await TestNamespace.start();
    const answering = (word: string) => (client: Socket) =>
      void client.end(`HTTP/1.0 200 OK\r\nContent-Length: ${word.length}\r\n\r\n${word}`);
    const words = ["early", "one", "two"];
    const early = network.serve(answering("early"));
    const env = network.environment({ network: namespace.enter });
    const ports = await Promise.all([early, ...words.slice(1).map((word) => network.serve(answering(word)))]);
    await env;
    expect(new Set(ports).size).toBe(words.length);
    for (const [index, port] of ports.entries()) {
      const { stdout } = await namespace.run(["curl", "-s", `http://127.0.0.1:${port}/`]);
      expect(stdout).toBe(words[index]);
    }
    await network.close();
  });

  it("reaches a host as soon as a person allows it, and until the task ends", async () => {
    using home = new TaskHome();
    await using word = await Word.say("REACHED");
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    expect(await turn(task, ask(word.port))).not.toContain("REACHED");
    await task.network.allow(`localhost:${word.port}`);
    expect(await turn(task, ask(word.port))).toContain("REACHED");
    await task.end("done");
    const next = await hf.startTask(session);
    expect(await turn(next, ask(word.port))).not.toContain("REACHED");
    await next.end("done");
    await session.close();
  });

  it("lets a person reach a server on a leased port until the task ends", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "holdfast.yaml": "capsule: { ports: [PORT] }\n" });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const port = task.capsule.spec.ports["PORT"] ?? 0;
    const serve = `const s = require("node:http").createServer((q, r) => { r.end("DEV"); s.close(); }); s.listen(process.env.PORT, "127.0.0.1")`;
    const served = turn(task, `node -e '${serve}'`);
    expect(await wordAt(port)).toBe("DEV");
    await served;
    await task.end("done");
    await expect(wordAt(port, 1)).rejects.toThrow();
    await session.close();
  });

  it("network-1 records the hosts that set-up asked for, and the error names the one that was refused", async () => {
    using home = new TaskHome();
    await using word = await Word.say("FETCHED");
    const config = (hosts: string) =>
      `capsule: { setup: "curl -sf http://localhost:${word.port}/; curl -sS -f http://example.org/" }\n${hosts}`;
    const hf = await home.open();
    const tries = async (yaml: string) => {
      commitFiles(home.main, { "holdfast.yaml": yaml }, "set-up");
      await acceptFile(home);
      const session = await hf.openSession({ repo: home.main, title: "sets up" });
      let said = "";
      const onSetup = (chunk: Buffer) => {
        said += chunk;
      };
      const error: unknown = await hf.startTask(session, { onSetup }).catch((one: unknown) => one);
      expect(error).toMatchObject({
        code: "setup_failed",
        message: expect.stringContaining(
          "it was refused example.org; list the hosts that it may reach under setup_hosts",
        ),
      });
      expect(said).toContain("setup_hosts: [example.org] in holdfast.yaml allows it");
      const used: unknown[] = [];
      for await (const { type, data } of hf.readJournal(session.id))
        if (type === "network_used") used.push(data);
      await session.close();
      return used;
    };
    const refused = [{ host: "example.org", connections: 1 }];
    expect(await tries(config(""))).toEqual([{ task: 1, turn: 0, allowed: [], refused }]);
    const allowed = [{ host: `localhost:${word.port}`, connections: 1 }];
    expect(await tries(config(`setup_hosts: ["localhost:${word.port}"]\n`))).toEqual([
      { task: 1, turn: 0, allowed, refused },
    ]);
  });

  it("lets set-up reach its hosts only after a person accepted them", async () => {
    using home = new TaskHome();
    await using word = await Word.say("FETCHED");
    const setup = `curl -s --max-time 10 http://localhost:${word.port}/ > fetched || true`;
    const config = `capsule: { setup: "${setup}" }\nsetup_hosts: ["localhost:${word.port}"]\n`;
    commitFiles(home.main, { "holdfast.yaml": config }, "asks for a host");
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    expect(await turn(task, "cat fetched")).toBe("");
    await task.end("done");
    await session.close();
    await acceptFile(home);
    const { session: second, task: again } = await home.start(hf);
    expect(await turn(again, "cat fetched")).toBe("FETCHED");
    await again.end("done");
    await second.close();
  });
});

/** Retries until something listens on the port. */
async function wordAt(port: number, attempts = 200): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await httpGet(port);
    } catch (error) {
      if (attempt >= attempts) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function httpGet(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  let heard = "";
  for await (const chunk of socket) heard += chunk;
  const body = heard.split("\r\n\r\n")[1] ?? "";
  if (!heard.startsWith("HTTP/1.1 200")) throw new Error("no answer yet");
  return body.includes("DEV") ? "DEV" : body;
}
