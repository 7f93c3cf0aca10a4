/**
 * The proxy, tested through its sockets: what it passes on, where to, and what it counts.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { answering, statusOf, TestHost, TestProxy, tunnel, tunnelThrough } from "../support/upstreams.ts";

const FULL_MS = 200;

describe("the proxy", () => {
  it("carries bytes both ways through a tunnel, and keeps one way open when the other ends", async () => {
    await using host = await TestHost.start((socket, { sockets }) => {
      socket.on("end", () => socket.end(`heard you, ${sockets.size}`));
    }, true);
    await using proxy = await TestProxy.start([`example.org:${host.port}`]);
    const socket = await tunnelThrough(proxy, `example.org:${host.port}`);
    socket.end("all of it");
    const [answer] = await once(socket, "data");
    expect(String(answer)).toBe("heard you, 1");
    expect(host.heard).toBe("all of it");
  });

  it("passes on what a client sends together with CONNECT and what a host sends first", async () => {
    await using host = await TestHost.start((socket) => {
      socket.write("SSH-2.0-server\r\n");
      socket.once("data", () => socket.end());
    });
    await using proxy = await TestProxy.start([`example.org:${host.port}`]);
    const answer = await proxy.ask(`${tunnel(`example.org:${host.port}`)}SSH-2.0-client\r\n`);
    expect(answer).toBe("HTTP/1.1 200 Connection established\r\n\r\nSSH-2.0-server\r\n");
    expect(host.heard).toBe("SSH-2.0-client\r\n");
  });

  it("delivers many megabytes unchanged in both directions, even to a slow reader", async () => {
    const bytes = Buffer.alloc(8 * 1024 * 1024, "0123456789abcdef!");
    await using host = await TestHost.start(
      (socket) => void socket.once("data", () => socket.end(bytes)),
      true,
    );
    await using proxy = await TestProxy.start([`example.org:${host.port}`]);
    const socket = await tunnelThrough(proxy, `example.org:${host.port}`);
    socket.end(bytes);
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (chunks.length % 50 !== 0) return;
      socket.pause();
      setTimeout(() => socket.resume(), 1);
    });
    await once(socket, "end");
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
    await expect.poll(() => host.heard.length).toBe(bytes.length);
    expect(host.heard === bytes.toString("latin1")).toBe(true);
  });

  it("overwrites no data before it is read, however slow the reader is", async () => {
    // Random, so that no part can be mistaken for another.
    const bytes = randomBytes(16 * 1024 * 1024);
    await using host = await TestHost.start((socket) => void socket.once("data", () => socket.end(bytes)));
    await using proxy = await TestProxy.start([`example.org:${host.port}`]);
    const socket = await tunnelThrough(proxy, `example.org:${host.port}`);
    socket.pause();
    socket.write("give");
    // Long enough for all buffers on the way to fill.
    await sleep(FULL_MS);
    expect((await buffer(socket)).equals(bytes)).toBe(true);
  });

  it("forwards a plain request with its body, and with the checked name as its Host", async () => {
    await using host = await TestHost.start(answering);
    await using proxy = await TestProxy.start([`example.org:${host.port}`]);
    const at = `Example.ORG.:${host.port}`;
    const answer = await proxy.ask(
      `POST http://${at}/x HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 4\r\n\r\nbody`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]+hello$/);
    expect(host.heard).toBe(
      `POST /x HTTP/1.1\r\nHost: example.org:${host.port}\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody`,
    );
  });

  it("passes on the 100 Continue that a client waits for, and then its body in chunks", async () => {
    await using host = await TestHost.start((socket) => {
      socket.once("data", () => {
        socket.write("HTTP/1.1 100 Continue\r\n\r\n");
        socket.once("data", () => socket.end("HTTP/1.1 204 No Content\r\n\r\n"));
      });
    });
    await using proxy = await TestProxy.start([`example.org:${host.port}`]);
    const socket = proxy.open();
    socket.write(
      `PUT http://example.org:${host.port}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n`,
    );
    expect(String((await once(socket, "data"))[0])).toContain("100 Continue");
    socket.write("4\r\nbody\r\n0\r\n\r\n");
    expect(String((await once(socket, "data"))[0])).toContain("204");
    expect(host.heard).toContain("4\r\nbody\r\n0\r\n\r\n");
  });

  it("reaches a name with several addresses at the one that answers", async () => {
    await using host = await TestHost.start(answering);
    const resolve = async () => ["::1", "127.0.0.1"];
    await using proxy = await TestProxy.start([`example.org:${host.port}`], { resolve });
    const answer = await proxy.ask(`GET http://example.org:${host.port}/ HTTP/1.1\r\n\r\n`);
    expect(answer).toContain("hello");
  });

  it("reaches a host from the moment that it is allowed while a task runs", async () => {
    await using host = await TestHost.start(answering);
    await using proxy = await TestProxy.start([]);
    const ask = () => proxy.ask(`GET http://example.org:${host.port}/ HTTP/1.1\r\n\r\n`);
    expect(statusOf(await ask())).toBe(403);
    proxy.gate.allow({ kind: "name", name: "example.org", ports: [host.port] });
    expect(statusOf(await ask())).toBe(200);
  });
});

describe("the contacts of the proxy", () => {
  it("contacts-1 count allowed and refused connections by host since they were last taken", async () => {
    await using host = await TestHost.start(answering);
    const at = `a.example:${host.port}`;
    await using proxy = await TestProxy.start([at, "b.example"], {
      resolve: async (name) => (name === "a.example" ? ["127.0.0.1"] : []),
    });
    expect(proxy.contacts.take()).toBeUndefined();
    for (const asked of [at, at, "evil.example:443", "evil.example:80", "evil.example:22", "127.0.0.1:443"])
      await proxy.ask(`GET http://${asked}/ HTTP/1.1\r\n\r\n`);
    expect(proxy.contacts.take()).toEqual({
      allowed: [{ host: at, connections: 2 }],
      refused: [
        { host: "evil.example", connections: 2 },
        { host: "evil.example:22", connections: 1 },
        { host: "127.0.0.1", connections: 1 },
      ],
    });
    expect(proxy.contacts.take()).toBeUndefined();
    expect(proxy.refused.map(({ host: refused }) => refused)).toEqual([
      "evil.example",
      "evil.example",
      "127.0.0.1",
    ]);
  });

  it("contacts-1 name at most a hundred allowed and a hundred refused hosts, and count the others", async () => {
    await using proxy = await TestProxy.start(["*.example"]);
    for (let number = 0; number < 120; number += 1) {
      await proxy.gate.judge(`h${number}.example`, 443);
      for (let again = 0; again < 2; again += 1) await proxy.gate.judge(`h${number}.evil`, 443);
    }
    const counts = proxy.contacts.take();
    expect(counts?.allowed.length).toBe(100);
    expect(counts?.refused.length).toBe(100);
    expect(counts?.allowed.at(-1)).toEqual({ host: "h99.example", connections: 1 });
    expect(counts?.more).toEqual({ allowed: 20, refused: 40 });
    expect(proxy.refused.length).toBe(100);
  });
});
