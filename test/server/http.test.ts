/**
 * The API of `serve`, over a real socket and over loopback, with correct and with faulty requests.
 */
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { sessionWithTurns } from "../support/home.ts";
import { HostHome, script, until } from "../support/hosts.ts";
import { idIn, Served } from "../support/served.ts";

describe("the API", () => {
  it("server-1 gives no information without a user's token, and with it only that user's sessions", async () => {
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
    // The token counts in its header only: a web page can make a browser send a URL or a cookie.
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

  it("answers each kind of faulty request with the right status, and changes nothing", async () => {
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
    // None of these requests changed anything.
    expect(await served.ask(`/v1/sessions/${id}`)).toMatchObject({ body: { records: 1, inbox: 0 } });
    expect((await home.cli("serve", "--listen", "0.0.0.0:7070")).stderr).toContain("address_refused");
  });

  it("takes a budget, and refuses unknown fields instead of ignoring them", async () => {
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

  it("streams a damaged session up to the damage, and answers 422 to a client that comes back", async () => {
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

  it("refuses a body that is too long before its end, with or without a content-length", async () => {
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

  it("moves a session through its life, and a client can follow its events from where it was cut off", async () => {
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
    // The API shows what `show` does, except for what takes time to measure.
    const { disk, command, artifacts, ...shown } = JSON.parse((await home.cli("show", id, "--json")).stdout);
    expect((await served.ask(`/v1/sessions/${id}`)).body).toEqual(shown);
    expect(command).toBe("sh -c 'sleep 60'");
    expect(artifacts.names).toContain("result.json");
    expect(disk.total).toBeGreaterThan(0);
  });

  it("serves 250 followers and other requests while 250 clients stall with half a request", async () => {
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
