/**
 * The proxy, tested through its sockets: how much its clients can occupy, and what is left when one side
 * ends.
 */
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import {
  closed,
  DeafHost,
  statusOf,
  TestHost,
  TestProxy,
  tunnel,
  tunnelThrough,
} from "../support/upstreams.ts";

describe("the proxy", () => {
  it("clients-1 answers 408 to a head that takes too long, and 431 to one that is too long", async () => {
    await using proxy = await TestProxy.start(["*"], {}, { headMs: 50, headBytes: 1000 });
    expect(statusOf(await proxy.ask("GET http://exam"))).toBe(408);
    expect(statusOf(await proxy.ask(`GET http://example.org/ HTTP/1.1\r\nX: ${"x".repeat(1000)}`))).toBe(431);
    expect(statusOf(await proxy.ask(`GET http://a.b/ HTTP/1.1\r\nX: ${"x".repeat(1000)}\r\n\r\n`))).toBe(431);
    await expect.poll(() => proxy.proxy.connections).toBe(0);
  });

  it("clients-1 answers 503 to connections beyond the limit, until one is free again", async () => {
    await using host = await TestHost.start();
    const at = `example.org:${host.port}`;
    await using proxy = await TestProxy.start([at], {}, { connections: 2 });
    const [one] = [await tunnelThrough(proxy, at), await tunnelThrough(proxy, at)];
    expect(statusOf(await proxy.ask(tunnel(at)))).toBe(503);
    one?.destroy();
    await expect.poll(() => proxy.proxy.connections).toBe(1);
    (await tunnelThrough(proxy, at)).destroy();
  });

  it("relay-1 leaves nothing open when a client or a host breaks off", async () => {
    await using host = await TestHost.start();
    const at = `example.org:${host.port}`;
    await using proxy = await TestProxy.start([at]);
    (await tunnelThrough(proxy, at)).resetAndDestroy();
    (await tunnelThrough(proxy, at)).destroy();
    proxy.open().end("GET http://exam");
    await expect.poll(() => [host.sockets.size, proxy.proxy.connections]).toEqual([0, 0]);
    const socket = await tunnelThrough(proxy, at);
    for (const one of host.sockets) one.resetAndDestroy();
    await closed(socket);
    await expect.poll(() => proxy.proxy.connections).toBe(0);
  });

  it("relay-1 passes on a broken-off answer as an error, not as an end", async () => {
    await using host = await TestHost.start((socket) => {
      socket.write("half of it");
      socket.once("data", () => socket.resetAndDestroy());
    });
    const at = `example.org:${host.port}`;
    await using proxy = await TestProxy.start([at]);
    const socket = await tunnelThrough(proxy, at);
    const failed = once(socket, "error");
    socket.write("go on");
    expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
  });

  it("relay-1 closes a half-open connection after a time limit, whichever side has ended", async () => {
    await using host = await TestHost.start((socket) => void socket.on("end", () => {}), true);
    const at = `example.org:${host.port}`;
    await using proxy = await TestProxy.start([at], {}, { halfOpenMs: 50 });
    const ended = await tunnelThrough(proxy, at);
    ended.end();
    await closed(ended);
    // The host has already heard an end. That the rest is gone too, it notices only when it writes.
    for (const one of host.sockets) one.write("late");
    await expect.poll(() => host.sockets.size).toBe(0);
    const other = await tunnelThrough(proxy, at);
    for (const one of host.sockets) one.end();
    await closed(other.resume());
    await expect.poll(() => [host.sockets.size, proxy.proxy.connections]).toEqual([0, 0]);
  });

  it("relay-1 closes the connection to the host at once when a client ends and then breaks off", async () => {
    await using host = await TestHost.start((socket) => {
      const more = setInterval(() => socket.write("more"), 5);
      socket.once("close", () => clearInterval(more));
    }, true);
    const at = `example.org:${host.port}`;
    await using proxy = await TestProxy.start([at], {}, { halfOpenMs: 600_000 });
    const socket = await tunnelThrough(proxy, at);
    socket.end();
    const [there] = host.sockets;
    await expect.poll(() => there?.readableEnded).toBe(true);
    socket.resetAndDestroy();
    await expect.poll(() => [host.sockets.size, proxy.proxy.connections]).toEqual([0, 0]);
  });

  it("relay-1 passes on a broken-off answer as an error even after the client has ended", async () => {
    await using host = await TestHost.start((socket) => {
      socket.once("end", () => socket.write("half of it", () => socket.resetAndDestroy()));
    }, true);
    const at = `example.org:${host.port}`;
    await using proxy = await TestProxy.start([at], {}, { halfOpenMs: 600_000 });
    const socket = await tunnelThrough(proxy, at);
    const failed = once(socket, "error");
    socket.end();
    expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
  });

  it("relay-1 leaves nothing open when a client breaks off while its host is looked up", async () => {
    await using host = await TestHost.start();
    let resolved = (_addresses: string[]) => {};
    const resolve = () => new Promise<string[]>((done) => (resolved = done));
    const at = `example.org:${host.port}`;
    await using proxy = await TestProxy.start([at], { resolve });
    const socket = proxy.open();
    socket.write(tunnel(at));
    await expect.poll(() => proxy.contacts.take() ?? resolved).not.toBeUndefined();
    await expect.poll(() => proxy.proxy.connections).toBe(1);
    socket.resetAndDestroy();
    await closed(socket);
    resolved(["127.0.0.1"]);
    await expect.poll(() => [host.sockets.size, proxy.proxy.connections]).toEqual([0, 0]);
  });

  it("relay-1 stops connecting to a host that does not answer when the client breaks off", async () => {
    using host = await DeafHost.start();
    const at = `example.org:${host.port}`;
    await using proxy = await TestProxy.start([at]);
    const socket = proxy.open();
    socket.write(tunnel(at));
    await expect.poll(() => host.knocks()).toBe(1);
    socket.resetAndDestroy();
    await expect.poll(() => host.knocks()).toBe(0);
  });

  it("relay-1 closes all connections when it is closed itself", async () => {
    await using host = await TestHost.start();
    const at = `example.org:${host.port}`;
    await using proxy = await TestProxy.start([at]);
    const socket = await tunnelThrough(proxy, at);
    proxy.proxy.close();
    await closed(socket);
    await expect.poll(() => host.sockets.size).toBe(0);
  });
});
