/**
 * Pushes over HTTP to git's own server on loopback, which demands a credential. Git gets the credential, and it is
 * in no file of the home, no argument, no environment of the agent or of the session process, and no export.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { bringKeys } from "../../src/broker/index.ts";
import { brokerPlace } from "../../src/broker/wire.ts";
import { openHome } from "../../src/home/index.ts";
import { ActingHome, besideHome, quiet } from "../support/acting.ts";
import { contentOf } from "../support/exports.ts";
import { until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";

const TOKEN = "planted-token-4711-of-the-user";
const BASIC = Buffer.from(`ani:${TOKEN}`).toString("base64");

/** The names of the processes that have the text in their arguments or environment at this moment. */
function processesWith(text: string, file: "cmdline" | "environ"): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/${file}`, "latin1").includes(text);
      } catch {
        return false;
      }
    })
    .map((pid) => readFileSync(`/proc/${pid}/comm`, "utf8").trim());
}

/** Reads every environment and every argument that it can, again and again. */
const LOOKS = `cd "$HOME"; at=0; while :; do
  cat /proc/*/environ /proc/*/cmdline > looking 2>/dev/null; mv looking look.$at; at=$((at + 1)); sleep 0.05
done`;

/** The content of every object in the stores of the home: in files and in exports, they are compressed. */
function objectsIn(home: ActingHome): string {
  const stores = readdirSync(join(home.dir, "repos")).map((key) => join(home.dir, "repos", key, "store.git"));
  const read = (store: string) =>
    execFileSync("git", ["--git-dir", store, "cat-file", "--batch-all-objects", "--batch"]).toString(
      "latin1",
    );
  return stores.map(read).join("");
}

class GitServer implements AsyncDisposable {
  readonly seen: { url: string; authorization: string | undefined }[] = [];
  onRequest: () => void | Promise<void> = () => {};
  readonly #server: Server;

  constructor(root: string) {
    this.#server = createServer((request, response) => void this.#answer(root, request, response));
  }

  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  async #answer(root: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "", method = "", headers } = request;
    this.seen.push({ url, authorization: headers.authorization });
    await this.onRequest();
    if (headers.authorization !== `Basic ${BASIC}`) {
      response.writeHead(401, { "www-authenticate": "Basic" }).end(`not ${headers.authorization}`);
      return;
    }
    const { pathname, search } = new URL(url, "http://x");
    const child = spawn("git", ["http-backend"], {
      env: {
        PATH: process.env["PATH"],
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: "1",
        PATH_INFO: pathname,
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: method,
        CONTENT_TYPE: headers["content-type"] ?? "",
        CONTENT_LENGTH: headers["content-length"] ?? "",
        HTTP_CONTENT_ENCODING: headers["content-encoding"] ?? "",
        REMOTE_USER: "ani",
        GIT_CONFIG_COUNT: "1",
        GIT_CONFIG_KEY_0: "safe.directory",
        GIT_CONFIG_VALUE_0: "*",
      },
      stdio: ["pipe", "pipe", "inherit"],
    });
    request.pipe(child.stdin);
    const pieces: Buffer[] = [];
    child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
    child.once("close", () => {
      const whole = Buffer.concat(pieces);
      const end = whole.indexOf("\r\n\r\n");
      let status = 200;
      for (const line of whole.toString("latin1", 0, end).split("\r\n")) {
        const [name = "", value = ""] = line.split(/:\s*/, 2);
        if (name.toLowerCase() === "status") status = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.writeHead(status).end(whole.subarray(end + 4));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

async function withServer(home: ActingHome, config = "") {
  const bare = besideHome(home, "served/bare.git");
  gitIn(home.main, "clone", "-q", "--bare", home.main, bare);
  gitIn(bare, "config", "http.receivepack", "true");
  const server = new GitServer(besideHome(home, "served"));
  const port = await server.listen();
  gitIn(home.main, "remote", "add", "origin", `http://localhost:${port}/bare.git`);
  await home.begin(
    `tools: { git_push: { env: [GIT_USERNAME, GIT_TOKEN], hosts: ["localhost:${port}"] } }\n${config}`,
    "echo two > a.txt",
  );
  return { bare, server, port };
}

async function endBroker(home: ActingHome): Promise<void> {
  const { log } = brokerPlace(home.dir);
  const pids = readdirSync("/proc").filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(`broker/main.ts\0${home.dir}\0`)
      );
    } catch {
      return false;
    }
  });
  for (const pid of pids) process.kill(Number(pid), "SIGKILL");
  expect(existsSync(log) ? readFileSync(log, "utf8") : "").not.toContain(TOKEN);
}

describe("git_push over HTTP", () => {
  afterEach(() => void vi.unstubAllEnvs());

  it("worker-4 push-2 gives git the credential that the session brought, and leaves it nowhere", async () => {
    await using home = new ActingHome();
    const { bare, server, port } = await withServer(home);
    await using _ = server;
    const env = { GIT_USERNAME: "ani", GIT_TOKEN: TOKEN, OTHER: "not-brought" };
    await bringKeys(await openHome({ home: home.dir }), home.session.id as never, env, {
      keys: false,
      variables: ["GIT_USERNAME", "GIT_TOKEN"],
    });
    try {
      const words: string[] = [];
      const environments: string[] = [];
      const agent = home.task.runTurn(["sh", "-c", LOOKS]);
      const agentHome = home.sessionDir(home.session.id, "home");
      const looks = () => readdirSync(agentHome).filter((name) => name.startsWith("look."));
      server.onRequest = async () => {
        for (const text of [TOKEN, BASIC]) words.push(...processesWith(text, "cmdline"));
        environments.push(...processesWith(TOKEN, "environ"), ...processesWith(BASIC, "environ"));
        // The agent looks once more from beginning to end while git has the credential.
        const before = looks().length;
        await until(() => looks().length >= before + 2);
      };
      const { prepared, action } = await (async () => {
        using _ = await home.task.freeze();
        return home.prepare("git_push", { branch: "work" });
      })();
      const outcome = await prepared.act(await home.grant(action), quiet());
      await home.task.capsule.detach();
      await agent;
      const network = {
        allowed: [{ host: `localhost:${port}`, connections: expect.any(Number) }],
        refused: [],
      };
      expect(outcome).toMatchObject({
        outcome: "ok",
        text: expect.stringContaining("refs/heads/work"),
        facts: { network },
      });
      expect(gitIn(bare, "show", "work:a.txt")).toBe("two");
      // The server asked for the credential and got it.
      expect(server.seen.map(({ authorization }) => authorization)).toContain(`Basic ${BASIC}`);
      expect(words).toEqual([]);
      expect(environments.length).toBeGreaterThan(0);
      for (const name of environments)
        expect(["git", "git-remote-http", "bwrap", "sh", "nsenter"]).toContain(name);
      const seen = looks().map((name) => readFileSync(join(agentHome, name), "latin1"));
      expect(seen.length).toBeGreaterThan(2);
      expect(seen.at(-1)).toContain("HOME=");
      for (const text of [TOKEN, BASIC]) {
        expect(seen.filter((look) => look.includes(text))).toEqual([]);
        expect(home.filesWith(text)).toEqual([]);
      }
      const file = home.join("session.holdfast");
      await home.task.rest();
      await home.session.pause();
      await (await home.open()).exportSession(home.session.id, file);
      const { files } = contentOf(file);
      expect(
        [...files.values()].some((bytes) => bytes.includes("tool_called") || bytes.includes("task_started")),
      ).toBe(true);
      const stored = objectsIn(home);
      expect(stored).toContain("two\n");
      for (const text of [TOKEN, BASIC]) {
        expect([...files].filter(([, bytes]) => bytes.includes(text))).toEqual([]);
        expect(stored).not.toContain(text);
      }
    } finally {
      await endBroker(home);
    }
  });

  it("worker-4 removes the credential from the server's answers", async () => {
    await using home = new ActingHome();
    const { bare, server } = await withServer(home);
    await using _ = server;
    const path = besideHome(home, "wrong-token");
    writeFileSync(path, "another-token-0815\n", { mode: 0o600 });
    writeFileSync(`${home.dir}/settings.yaml`, `variables: { GIT_TOKEN: { file: ${path} } }\n`, {
      mode: 0o600,
    });
    const outcome = await home.call("git_push", { branch: "work" });
    expect(outcome.outcome).toBe("error");
    expect(server.seen.length).toBeGreaterThan(0);
    expect(outcome.text).not.toContain("another-token-0815");
    expect(outcome.text).not.toContain(Buffer.from("x-access-token:another-token-0815").toString("base64"));
    expect(gitIn(bare, "branch", "--list", "work")).toBe("");
    expect(home.filesWith("another-token-0815")).toEqual([]);
  });

  it("does nothing and spends no grant if a variable has no value", async () => {
    await using home = new ActingHome();
    const { bare, server } = await withServer(home);
    await using _ = server;
    const { prepared, action } = await home.prepare("git_push", { branch: "work" });
    const grant = await home.grant(action);
    const first = await prepared.act(grant, quiet());
    expect(first).toMatchObject({ outcome: "refused", facts: { code: "credential_missing" } });
    expect(first.text).toContain("GIT_TOKEN");
    expect(server.seen).toEqual([]);
    const path = besideHome(home, "token");
    writeFileSync(path, `${TOKEN}\n`, { mode: 0o600 });
    const settings = `variables: { GIT_TOKEN: { file: ${path} }, GIT_USERNAME: { command: [echo, ani] } }\n`;
    writeFileSync(`${home.dir}/settings.yaml`, settings, { mode: 0o600 });
    expect(await prepared.act(grant, quiet())).toMatchObject({ outcome: "ok" });
    expect(gitIn(bare, "show", "work:a.txt")).toBe("two");
  });
});
