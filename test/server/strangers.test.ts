/**
 * Connections to `serve` that show no token can't keep out those that do.
 */
import { once } from "node:events";
import { readdirSync } from "node:fs";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { HostHome, until } from "../support/hosts.ts";
import { idIn, Served } from "../support/served.ts";

describe("connections without a token", () => {
  const HALF = "GET /v1/sessions HTTP/1.1\r\nhost: localhost\r\n";

  /** Opens sockets that never close their side by themselves. */
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
  ])("2,100 %s connections neither block nor cut off a client with a token", async (_, said) => {
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
  ])("%s connections are closed after a while, even if the client keeps its side open", async (_, said) => {
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
