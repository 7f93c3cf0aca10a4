/**
 * The API of `serve`, over a real socket and over loopback, spoken to by friends, strangers and the clumsy.
 */
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { sessionWithTurns } from "../support/home.ts";
import { HostHome, reaches, script, until } from "../support/hosts.ts";

interface Asked {
  readonly method?: string;
  readonly token?: string | null;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

class Served implements AsyncDisposable {
  readonly home: HostHome;
  readonly #process: ReturnType<HostHome["spawnCli"]>;
  readonly address: string;
  readonly token: string;

  private constructor(
    home: HostHome,
    process: ReturnType<HostHome["spawnCli"]>,
    address: string,
    token: string,
  ) {
    this.home = home;
    this.#process = process;
    this.address = address;
    this.token = token;
  }

  static async start(home: HostHome, ...args: string[]): Promise<Served> {
    const child = home.spawnCli(["serve", "--json", ...args]);
    const [line] = await once(child.stdout, "data");
    const { address, token } = JSON.parse(String(line).split("\n")[0] ?? "");
    expect(statSync(token).mode & 0o777).toBe(0o600);
    return new Served(home, child, address, readFileSync(token, "utf8").trim());
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get where() {
    const [, host = "", port = ""] = /^(127[\d.]+):(\d+)$/.exec(this.address) ?? [];
    return port ? { host, port: Number(port) } : { socketPath: this.address };
  }

  open(
    path: string,
    { method = "GET", token = this.token, headers = {}, body }: Asked = {},
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const call = request(
        {
          ...this.where,
          agent: false,
          path,
          method,
          headers: {
            ...(token && { authorization: `Bearer ${token}` }),
            ...(body !== undefined && { "content-type": "application/json" }),
            ...headers,
          },
        },
        resolve,
      );
      call.on("error", reject);
      call.end(body);
    });
  }

  async ask(path: string, asked: Asked = {}): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await this.open(path, asked);
    let text = "";
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode ?? 0, body: text.startsWith("{") ? JSON.parse(text) : {} };
  }

  raw(allowHalfOpen = false): Socket {
    const { where } = this;
    return connect({
      ...("socketPath" in where ? { path: where.socketPath } : where),
      allowHalfOpen,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    kill(this.pid, "SIGTERM");
    if (this.#process.exitCode === null && this.#process.signalCode === null)
      await once(this.#process, "exit");
  }
}

const idIn = (body: Record<string, unknown>) => String(body["id"]);

describe("the API", () => {
  it("V3 without a user's token nothing is learnt; with it, that user's sessions and no others", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const foreign = await dispatcher.holdfast.openSession({ user: "somebody-else", title: "secret" });
    await foreign.release();
    await using served = await Served.start(home);
    for (const token of [
      null,
      "x",
      `${served.token}x`,
      readFileSync(home.sessionDir(foreign.id, "token"), "utf8").trim(),
    ])
      expect(await served.ask("/v1/sessions", { token })).toMatchObject({
        status: 401,
        body: { error: "unauthorized" },
      });
    // In a header only: a page could make a browser send the rest.
    expect((await served.ask(`/v1/sessions?token=${served.token}`, { token: null })).status).toBe(401);
    expect(
      (await served.ask("/v1/sessions", { token: null, headers: { cookie: `token=${served.token}` } }))
        .status,
    ).toBe(401);
    expect(await served.ask("/v1/sessions")).toEqual({ status: 200, body: { sessions: [] } });
    for (const path of ["", "/events"])
      expect((await served.ask(`/v1/sessions/${foreign.id}${path}`)).status).toBe(404);
    expect((await served.ask(`/v1/sessions/${foreign.id}/close`, { method: "POST" })).status).toBe(404);
  });

  it("says 400, 404, 405, 413, 415 and 403 where they belong", async () => {
    using home = new HostHome();
    await using served = await Served.start(home, "--listen", "127.0.0.1:0");
    const post = (path: string, body: string, headers = {}) =>
      served.ask(path, { method: "POST", body, headers });
    const { body } = await post("/v1/sessions", '{"title":"by the API"}');
    const id = idIn(body);
    expect(body).toMatchObject({ title: "by the API", status: "open", waits: null, inbox: 0 });
    expect((await served.ask("/v1/nothing")).status).toBe(404);
    expect((await served.ask(`/v1/sessions/sess_${"0".repeat(26)}`)).status).toBe(404);
    expect((await served.ask("/v1/sessions/..%2f..%2fetc")).status).toBe(400);
    expect((await served.ask(`/v1/sessions/${id}`, { method: "DELETE" })).status).toBe(405);
    expect((await post(`/v1/sessions/${id}/messages`, "{")).status).toBe(400);
    expect((await post(`/v1/sessions/${id}/messages`, "{}")).status).toBe(400);
    expect((await post(`/v1/sessions/${id}/messages`, '{"text":7}')).status).toBe(400);
    expect(
      (await post(`/v1/sessions/${id}/messages`, '{"text":"x"}', { "content-type": "text/plain" })).status,
    ).toBe(415);
    expect(
      (await post(`/v1/sessions/${id}/messages`, JSON.stringify({ text: "x".repeat(2_000_000) }))).status,
    ).toBe(413);
    expect(
      (await post(`/v1/sessions/${id}/messages`, JSON.stringify({ text: "x".repeat(300_000) }))).status,
    ).toBe(413);
    expect(
      (await served.ask(`/v1/sessions/${id}/events`, { headers: { "last-event-id": "x" } })).status,
    ).toBe(400);
    expect((await post(`/v1/sessions/${id}/interrupt`, "")).status).toBe(409);
    for (const host of ["evil.example", "evil.example:80", "localhost", "127.0.0.1:1"])
      expect((await served.ask("/v1/sessions", { headers: { host } })).status).toBe(403);
    for (const origin of ["https://evil.example", "null", "http://localhost"])
      expect((await served.ask("/v1/sessions", { headers: { origin } })).status).toBe(403);
    const own = { origin: `http://${served.address}` };
    expect((await served.ask("/v1/sessions", { headers: own })).status).toBe(200);
    const garbage = served.raw();
    garbage.write("this is not HTTP\r\n\r\n");
    expect(String((await once(garbage, "data"))[0])).toMatch(/^HTTP\/1\.1 400 /);
    garbage.destroy();
    // Nothing of all that was let in.
    expect(await served.ask(`/v1/sessions/${id}`)).toMatchObject({ body: { records: 1, inbox: 0 } });
    expect((await home.cli("serve", "--listen", "0.0.0.0:7070")).stderr).toContain("address_refused");
  });

  it("takes a budget, and refuses what it does not know: nothing is passed over in silence", async () => {
    using home = new HostHome();
    await using served = await Served.start(home);
    const post = (path: string, body: object) =>
      served.ask(path, { method: "POST", body: JSON.stringify(body) });
    const { body } = await post("/v1/sessions", { title: "t", budget: { usd: 5, turns: 3 } });
    expect(body).toMatchObject({ budget: { usd: 5, turns: 3 } });
    for (const wrong of [{ titel: "t" }, { budget: { euro: 5 } }, { budget: { usd: -1 } }, { budget: 7 }])
      expect(await post("/v1/sessions", wrong)).toMatchObject({
        status: 400,
        body: { error: "invalid_data" },
      });
    const id = idIn(body);
    expect((await post(`/v1/sessions/${id}/messages`, { text: "x", too: "y" })).status).toBe(400);
    expect((await post(`/v1/sessions/${id}/fork`, { at: 0 })).status).toBe(400);
    expect((await served.ask("/v1/sessions")).body["sessions"]).toHaveLength(1);
    // The library says the same.
    const hf = (await home.dispatcher()).holdfast;
    await expect(hf.openSession({ titel: "t" } as object)).rejects.toMatchObject({ code: "invalid_data" });
    await expect(hf.resumeSession(id, { takeover: true } as object)).rejects.toThrow("takeover");
    await expect(hf.forkSession(id, { turn: 0 } as object)).rejects.toThrow("turn");
  });

  it("the events of a damaged session are refused, from where the damage is, and nobody asks for ever", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const id = await sessionWithTurns(dispatcher.holdfast, 3);
    const path = home.sessionDir(id, "journal/000001.jsonl");
    const lines = readFileSync(path, "utf8").split("\n");
    // The header, six records, and the one that is spoiled.
    lines[7] = (lines[7] ?? "").replace('"data"', '"dada"');
    writeFileSync(path, lines.join("\n"));
    await using served = await Served.start(home);
    const whole = await served.open(`/v1/sessions/${id}/events`);
    expect(whole.statusCode).toBe(200);
    let text = "";
    whole.on("data", (chunk) => {
      text += chunk;
    });
    await once(whole, "close").catch(() => {});
    const last = [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? "";
    expect(Number(last)).toBe(6);
    const again = await served.ask(`/v1/sessions/${id}/events`, { headers: { "last-event-id": last } });
    expect(again).toMatchObject({ status: 422, body: { error: "session_damaged" } });
  });

  it("a body that is too long is refused before it comes, or while it comes, whatever it says of its length", async () => {
    using home = new HostHome();
    await using served = await Served.start(home);
    expect(statSync(served.address).mode & 0o077).toBe(0);
    const head = `POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${served.token}\r\ncontent-type: application/json\r\n`;
    const chunk = `${(65_536).toString(16)}\r\n${" ".repeat(65_536)}\r\n`;
    for (const [what, sent] of [
      ["nothing of it has come", `${head}content-length: 2000000\r\n\r\n`],
      ["it never says that it ends", `${head}transfer-encoding: chunked\r\n\r\n${chunk.repeat(20)}`],
    ] as const) {
      const socket = served.raw();
      socket.on("error", () => {});
      socket.write(sent);
      const answer = await Promise.race([once(socket, "data"), sleep(5000, ["no answer"])]);
      socket.destroy();
      expect(String(answer[0]), what).toMatch(/^HTTP\/1\.1 413 /);
    }
    expect((await served.ask("/v1/sessions")).body).toEqual({ sessions: [] });
  });

  it("moves a session through its life, and its events can be followed from where one was cut off", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    await using served = await Served.start(home);
    const { id } = await dispatcher.begin({ repo: home.main }, script("sleep 60"));
    const response = await served.open(`/v1/sessions/${id}/events`, { headers: { "last-event-id": "1" } });
    expect(response.headers["content-type"]).toBe("text/event-stream");
    let text = "";
    response.on("data", (chunk) => {
      text += chunk;
    });
    await until(
      () => text,
      (seen) => seen.includes("event: process_started"),
    );
    expect(text).not.toContain("event: session_opened");
    expect(
      (
        await served.ask(`/v1/sessions/${id}/messages`, {
          method: "POST",
          body: '{"text":"hi","id":"msg_mine"}',
        })
      ).body,
    ).toMatchObject({ message: "msg_mine", isHeard: true });
    await served.ask(`/v1/sessions/${id}/messages`, {
      method: "POST",
      body: '{"text":"hi","id":"msg_mine"}',
    });
    await until(
      () => text,
      (seen) => seen.includes("event: message_received"),
    );
    const last = [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? "";
    response.destroy();
    expect((await served.ask(`/v1/sessions/${id}/pause`, { method: "POST" })).body).toMatchObject({
      status: "paused",
      pid: null,
    });
    const again = await served.open(`/v1/sessions/${id}/events`, { headers: { "last-event-id": last } });
    let rest = "";
    again.on("data", (chunk) => {
      rest += chunk;
    });
    await until(
      () => rest,
      (seen) => seen.includes("event: session_paused"),
    );
    again.destroy();
    const ids = (events: string) => [...events.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
    expect(ids(text + rest)).toEqual(ids(text + rest).map((_, index) => index + 2));
    expect((text + rest).match(/event: message_received/g)).toHaveLength(1);
    for (const [move, status] of [
      ["resume", "open"],
      ["close", "closed"],
      ["archive", "archived"],
    ] as const)
      expect((await served.ask(`/v1/sessions/${id}/${move}`, { method: "POST" })).body).toMatchObject({
        status,
      });
    expect((await served.ask(`/v1/sessions/${id}/pause`, { method: "POST" })).status).toBe(409);
    const { body: fork } = await served.ask(`/v1/sessions/${id}/fork`, {
      method: "POST",
      body: '{"atTurn":0}',
    });
    expect(fork).toMatchObject({ turns: 0, parent: { id } });
    // The same everywhere, but for what takes time to measure.
    const { disk, command, ...shown } = JSON.parse((await home.cli("show", id, "--json")).stdout);
    expect((await served.ask(`/v1/sessions/${id}`)).body).toEqual(shown);
    expect(command).toBe("sh -c 'sleep 60'");
    expect(disk.total).toBeGreaterThan(0);
  });

  it("holds 500 connections, and slow clients keep nobody waiting", async () => {
    using home = new HostHome();
    await using served = await Served.start(home);
    const { body } = await served.ask("/v1/sessions", { method: "POST", body: "{}" });
    const slow = Array.from({ length: 250 }, () => {
      const socket = served.raw();
      socket.on("error", () => {});
      // Half a request, and then nothing.
      socket.write("GET /v1/sessions HTTP/1.1\r\nhost: localhost\r\n");
      return socket;
    });
    const followers = await Promise.all(
      Array.from({ length: 250 }, () => served.open(`/v1/sessions/${idIn(body)}/events`)),
    );
    expect(followers.map(({ statusCode }) => statusCode)).toEqual(followers.map(() => 200));
    let heard = 0;
    for (const follower of followers) {
      follower.on("data", (chunk) => {
        if (String(chunk).includes("session_closed")) heard += 1;
      });
      follower.on("error", () => {});
    }
    expect((await served.ask("/v1/sessions")).status).toBe(200);
    await served.ask(`/v1/sessions/${idIn(body)}/close`, { method: "POST" });
    await until(
      () => heard,
      (count) => count === 250,
    );
    for (const socket of slow) socket.destroy();
    for (const follower of followers) follower.destroy();
  });
});

describe("connections that nobody vouched for", () => {
  const HALF = "GET /v1/sessions HTTP/1.1\r\nhost: localhost\r\n";

  /** They never end their side by themselves. */
  async function flood(served: Served, count: number, said: string): Promise<Socket[]> {
    const sockets: Socket[] = [];
    while (sockets.length < count) {
      const some = Array.from({ length: Math.min(100, count - sockets.length) }, () => served.raw(true));
      for (const socket of some) socket.on("error", () => {}).resume();
      await Promise.all(some.map((socket) => once(socket, "connect")));
      if (said) for (const socket of some) socket.write(said);
      sockets.push(...some);
    }
    return sockets;
  }

  it.each([
    ["silent", ""],
    ["half-sent", HALF],
  ])("2,100 %s ones keep nobody out, and cut off nobody who has shown a token", async (_, said) => {
    using home = new HostHome();
    await using served = await Served.start(home, "--listen", "127.0.0.1:0");
    const { body } = await served.ask("/v1/sessions", { method: "POST", body: "{}" });
    const follower = await served.open(`/v1/sessions/${idIn(body)}/events`);
    let heard = "";
    follower.on("data", (chunk) => {
      heard += chunk;
    });
    const sockets = await flood(served, 2100, said);
    for (let round = 0; round < 3; round += 1)
      expect((await served.ask(`/v1/sessions/${idIn(body)}`)).status).toBe(200);
    expect((await served.ask(`/v1/sessions/${idIn(body)}/close`, { method: "POST" })).status).toBe(200);
    await until(
      () => heard,
      (seen) => seen.includes("event: session_closed"),
    );
    follower.destroy();
    for (const socket of sockets) socket.destroy();
  });

  it.each([
    ["silent", ""],
    ["half-sent", HALF],
  ])("%s ones are let go of after a while, though the other side keeps them", async (_, said) => {
    using home = new HostHome();
    await using served = await Served.start(home, "--listen", "127.0.0.1:0");
    const descriptors = () => readdirSync(`/proc/${served.pid}/fd`).length;
    const before = descriptors();
    const sockets = await flood(served, 100, said);
    await until(descriptors, (count) => count >= before + 50);
    await until(descriptors, (count) => count < before + 10);
    for (const socket of sockets) socket.destroy();
  });
});

describe("serve", () => {
  it("started twice, the second says who is there; killed, sessions go on and the next one takes over", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const first = await Served.start(home);
    const second = await home.cli("serve");
    expect(second.status).toBe(5);
    expect(second.stderr).toMatch(new RegExp(`serve_running: process ${first.pid} serves it at /`));
    const { id } = await dispatcher.begin({ repo: home.main }, script("sleep 1; echo on > result"));
    kill(first.pid, "SIGKILL");
    await reaches(dispatcher, id, "paused");
    await using next = await Served.start(home);
    expect((await next.ask(`/v1/sessions/${id}`)).body).toMatchObject({ task: { outcome: "done" } });
  });

  it("U3 resumes what crashed, a few times; then it waits for a person", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    await using served = await Served.start(home);
    const { id } = await dispatcher.begin({ repo: home.main }, script("sleep 60", { restart: true }));
    await reaches(dispatcher, id, "running");
    // Not resumed by a person, so it counts. Four more crashes are put on record; the sixth is one too many.
    kill(home.hostPid(id) ?? 0, "SIGKILL");
    await until(
      () => dispatcher.show(id),
      ({ status, crashes }) => status === "running" && crashes === 1,
    );
    kill(served.pid, "SIGSTOP");
    kill(home.hostPid(id) ?? 0, "SIGKILL");
    await reaches(dispatcher, id, "interrupted");
    const session = await dispatcher.holdfast.resumeSession(id, { by: "serve" });
    for (let crash = 3; crash <= 5; crash += 1)
      await session.append("session_resumed", { from: "interrupted", by: "serve" });
    const turn = await session.beginTurn("cut off");
    expect(turn.number).toBeGreaterThan(1);
    await session.release();
    kill(served.pid, "SIGCONT");
    await sleep(3000);
    expect(await dispatcher.show(id)).toMatchObject({ status: "interrupted", crashes: 5, pid: null });
    // A person begins to count anew.
    await dispatcher.resume(id);
    await until(
      () => dispatcher.show(id),
      ({ status, crashes }) => status === "running" && crashes === 0,
    );
  });

  it("says so when somebody else has its address, and leaves the home to the next", async () => {
    using home = new HostHome();
    await using there = await Served.start(home, "--listen", "127.0.0.1:0");
    using elsewhere = new HostHome();
    const taken = await elsewhere.cli("serve", "--listen", there.address);
    expect(taken).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("somebody else listens there"),
    });
    await using next = await Served.start(elsewhere);
    expect((await next.ask("/v1/sessions")).status).toBe(200);
  });

  it("finds a task that somebody left in an inbox, and starts it, also where its session crashed before", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const opened = await dispatcher.holdfast.openSession({ repo: home.main });
    const crashed = await dispatcher.holdfast.openSession({ repo: home.main });
    await (await crashed.beginTurn("before")).end();
    await opened.release();
    await crashed.abandon();
    const spec = script("echo found > result");
    const envelope = { kind: "task", id: "task_left", from: "user:ani", at: "", spec, priority: 0 };
    for (const { id } of [opened, crashed])
      await dispatcher.inboxOf(id).put("task_left", Buffer.from(JSON.stringify(envelope)));
    await using _served = await Served.start(home);
    for (const { id } of [opened, crashed]) {
      await until(
        () => dispatcher.show(id),
        ({ task }) => task?.outcome === "done",
      );
      expect(existsSync(join(home.sessionDir(id), "inbox/cur/task_left"))).toBe(true);
    }
  });
});
