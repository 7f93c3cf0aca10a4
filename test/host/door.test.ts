/**
 * What an agent can do at its session's door, and what it can't at another's.
 */
import { existsSync, statSync } from "node:fs";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { makeToken } from "../../src/home/index.ts";
import { readRefusals } from "../../src/host/index.ts";
import { isSameToken } from "../../src/http/index.ts";
import { ask, doorOf, tokenOf } from "../support/doors.ts";
import { HostHome, until } from "../support/hosts.ts";
import { messageEvents, startLoop } from "../support/message-loop.ts";

describe("requests at a session's door", () => {
  it("bearer-1 need exactly the session's token: one that is similar, or none, is not enough", () => {
    const token = makeToken();
    expect(isSameToken(token, token)).toBe(true);
    for (const other of [undefined, "", token.slice(0, -1), `${token}x`, makeToken(), token.toUpperCase()])
      expect(isSameToken(token, other)).toBe(false);
    // A session whose token was revoked lets no request in, not even one without a token.
    for (const other of [undefined, "", "revoked"]) expect(isSameToken(undefined, other)).toBe(false);
  });

  it("door-1 with another session's token, an old one or none are refused, counted and not recorded", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const a = await startLoop(home, dispatcher);
    const b = await startLoop(home, dispatcher);
    const door = await until(() => doorOf(home, b), existsSync);
    const records = (await dispatcher.show(b)).records;
    const old = tokenOf(home, b);
    expect((await ask(door, old)).status).toBe(204);
    for (const wrong of [tokenOf(home, a), undefined, "", "revoked"])
      expect((await ask(door, wrong)).status).toBe(401);
    await dispatcher.rotateToken(b);
    expect((await ask(door, old)).status).toBe(401);
    expect((await ask(door, tokenOf(home, b))).status).toBe(204);
    // The running agent gets the new token: a message still reaches it.
    await dispatcher.send(b, "after the change");
    await until(
      async () => (await messageEvents(dispatcher, b)).length,
      (count) => count === 2,
    );
    expect((await dispatcher.show(b)).records).toBe(records + 2);
    await dispatcher.revokeToken(b);
    expect((await ask(door, tokenOf(home, b))).status).toBe(401);
    await until(
      () => readRefusals(home.sessionDir(b)),
      (count) => count >= 6,
    );
    expect((await dispatcher.show(b)).refused).toBeGreaterThanOrEqual(6);
    expect((await dispatcher.show(a)).refused).toBe(0);
  });

  it("are refused and change nothing if they are malformed or oversized", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const id = await startLoop(home, dispatcher);
    const door = await until(() => doorOf(home, id), existsSync);
    const token = tokenOf(home, id);
    const { records } = await dispatcher.show(id);
    const post = (body: string) => ask(door, token, { method: "POST", path: "/v1/outbox", body });
    expect((await post("{")).status).toBe(400);
    expect((await post('{"to":"sess_x","text":"y"}')).status).toBe(400);
    expect((await post(JSON.stringify({ to: id, text: "x".repeat(300_000) }))).status).toBe(413);
    // It is answered, and not cut off while it is being sent.
    expect((await post("x".repeat(4_000_000))).status).toBe(413);
    expect((await post(JSON.stringify({ to: id, text: "" }))).status).toBe(400);
    const elsewhere = await ask(door, token, { path: "/v1/elsewhere" });
    expect([elsewhere.status, JSON.parse(elsewhere.text)]).toEqual([
      404,
      expect.objectContaining({ message: expect.any(String) }),
    ]);
    expect(JSON.parse((await ask(door, "hfs_wrong")).text)).toHaveProperty("message");
    expect((await ask(door, token, { method: "POST", path: "/v1/inbox/msg_none/entered" })).status).toBe(200);
    expect((await dispatcher.show(id)).records).toBe(records);
  });
});

describe("the door", () => {
  it("is closed to other users, and keeps only a limited number of silent connections", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const id = await startLoop(home, dispatcher);
    const door = await until(() => doorOf(home, id), existsSync);
    expect(statSync(door).mode & 0o077).toBe(0);
    const silent = Array.from({ length: 200 }, () => connect(door).on("error", () => {}));
    try {
      await until(
        () => silent.filter(({ closed }) => closed).length,
        (closed) => closed >= 72,
        5000,
      );
    } finally {
      for (const socket of silent) socket.destroy();
    }
    // It still answers others.
    await until(
      () => ask(door, tokenOf(home, id)).catch(() => ({ status: 0 })),
      ({ status }) => status === 204,
    );
  });
});
