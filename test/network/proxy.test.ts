/**
 * The proxy by its sockets: what gets through and where to, what is refused and how, what is left when one side goes.
 */
import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { addressKind } from "../../src/network/addresses.ts";
import { answering, closed, TestHost, TestProxy } from "../support/upstreams.ts";

const tunnel = (at: string) => `CONNECT ${at} HTTP/1.1\r\nHost: ${at}\r\n\r\n`;
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+) /.exec(answer)?.[1]);

/** A tunnel through the proxy, once it stands. */
async function tunnelThrough(proxy: TestProxy, at: string): Promise<Socket> {
  const socket = proxy.open();
  socket.write(tunnel(at));
  const [answer] = await once(socket, "data");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
  return socket;
}

describe("what gets through the proxy", () => {
  it("a tunnel carries bytes both ways, and an end in one way leaves the other", async () => {
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

  it("what a client says at once with CONNECT is in the tunnel; what a host says first arrives behind the answer", async () => {
    await using host = await TestHost.start((socket) => {
      socket.write("SSH-2.0-server\r\n");
      socket.once("data", () => socket.end());
    });
    await using proxy = await TestProxy.start([`example.org:${host.port}`]);
    const answer = await proxy.ask(`${tunnel(`example.org:${host.port}`)}SSH-2.0-client\r\n`);
    expect(answer).toBe("HTTP/1.1 200 Connection established\r\n\r\nSSH-2.0-server\r\n");
    expect(host.heard).toBe("SSH-2.0-client\r\n");
  });

  it("many megabytes arrive whole, in both directions, also where one side reads slowly", async () => {
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

  it("a plain request reaches its host with the name that was checked, body and all", async () => {
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

  it("a body in chunks is passed on, and only once it is asked for, where a client waits for that", async () => {
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

  it("a name with several addresses is reached at the one that answers", async () => {
    await using host = await TestHost.start(answering);
    const resolve = async () => ["::1", "127.0.0.1"];
    await using proxy = await TestProxy.start([`example.org:${host.port}`], { resolve });
    const answer = await proxy.ask(`GET http://example.org:${host.port}/ HTTP/1.1\r\n\r\n`);
    expect(answer).toContain("hello");
  });

  it("a host that is allowed while a task runs is reached from then on", async () => {
    await using host = await TestHost.start(answering);
    await using proxy = await TestProxy.start([]);
    const ask = () => proxy.ask(`GET http://example.org:${host.port}/ HTTP/1.1\r\n\r\n`);
    expect(statusOf(await ask())).toBe(403);
    proxy.gate.allow({ kind: "name", name: "example.org", ports: [host.port] });
    expect(statusOf(await ask())).toBe(200);
  });
});

describe("what the proxy refuses", () => {
  it("V8 a host that was not named, with a sentence that names it and the flag, and no name is looked up", async () => {
    const asked: string[] = [];
    const resolve = async (name: string) => {
      asked.push(name);
      return ["127.0.0.1"];
    };
    await using proxy = await TestProxy.start(["example.org", "*.example.net"], { resolve });
    for (const at of [
      "evil.example:443",
      "example.org:22",
      "example.net:443",
      "example.org.evil.example:443",
    ]) {
      const answer = await proxy.ask(tunnel(at));
      const named = at.replace(/:443$/, "");
      expect(statusOf(answer), at).toBe(403);
      expect(answer).toContain(`holdfast run --host ${named} `);
      expect(answer.split("\r\n")[0]).toContain(`${named} is not among the hosts`);
    }
    expect(asked).toEqual([]);
    expect(proxy.refused.map(({ host, port, reason }) => `${host}:${port} ${reason}`)).toEqual([
      "evil.example:443 unnamed",
      "example.org:22 unnamed",
      "example.net:443 unnamed",
      "example.org.evil.example:443 unnamed",
    ]);
  });

  it("V4 an address, in whatever spelling, also where every host is allowed", async () => {
    await using host = await TestHost.start(answering);
    await using proxy = await TestProxy.start(["*", `*:${host.port}`]);
    const spellings = [
      "127.0.0.1",
      "[::1]",
      "2130706433",
      "0x7f.1",
      "0177.0.0.1",
      "[::ffff:127.0.0.1]",
      "127.1",
    ];
    for (const spelling of [
      ...spellings,
      "127.0.0.1.",
      "localhost",
      "a.localhost",
      "%31%32%37.0.0.1",
      "169.254.169.254",
    ]) {
      expect(statusOf(await proxy.ask(tunnel(`${spelling}:${host.port}`))), spelling).toBe(403);
      const plain = await proxy.ask(`GET http://${spelling}:${host.port}/ HTTP/1.1\r\n\r\n`);
      expect(statusOf(plain), spelling).toBe(403);
    }
    expect(host.connections).toBe(0);
  });

  it("V8 a name that leads to this machine, its link or a metadata service, also where it was named", async () => {
    const never = [
      "127.0.0.1",
      "::1",
      "169.254.169.254",
      "0.0.0.0",
      "fe80::1",
      "::ffff:127.0.0.1",
      "fd00:ec2::254",
    ];
    for (const address of never) {
      const options = { resolve: async () => [address], kindOf: addressKind };
      await using proxy = await TestProxy.start(["internal.example", "*"], options);
      const answer = await proxy.ask(tunnel("internal.example:443"));
      expect(statusOf(answer), address).toBe(403);
      expect(answer).toContain("localhost:PORT");
      // An agent learns nothing of the addresses.
      expect(answer).not.toContain(address === "::1" ? "::1" : address.slice(0, 4));
    }
  });

  it("V8 a name that leads into a private network, unless it was named itself", async () => {
    await using host = await TestHost.start(answering);
    const options = {
      resolve: async () => ["127.0.0.1"],
      kindOf: () => "private" as const,
    };
    const ask = async (...hosts: string[]) => {
      await using proxy = await TestProxy.start(hosts, options);
      return statusOf(await proxy.ask(`GET http://nexus.example.org:${host.port}/ HTTP/1.1\r\n\r\n`));
    };
    expect(await ask(`*:${host.port}`)).toBe(403);
    expect(await ask(`*.example.org:${host.port}`)).toBe(403);
    expect(await ask(`nexus.example.org:${host.port}`)).toBe(200);
    expect(await ask(`*.example.org:${host.port}`, `nexus.example.org:${host.port}`)).toBe(200);
  });

  it("V8 a name of which one address is bad, though another is good", async () => {
    const options = { resolve: async () => ["93.184.216.34", "169.254.169.254"], kindOf: addressKind };
    await using proxy = await TestProxy.start(["*"], options);
    expect(statusOf(await proxy.ask(tunnel("rebind.example:443")))).toBe(403);
  });

  it("V8 a name that resolves differently the second time is looked up once, and leads where it was judged", async () => {
    await using judged = await TestHost.start(answering);
    let lookups = 0;
    // The first answer is judged public. Whoever asked again would get the loopback of this machine, another address.
    const resolve = async () => [++lookups === 1 ? "127.0.0.2" : "127.0.0.1"];
    const kindOf = (address: string) => (address === "127.0.0.2" ? "public" : addressKind(address));
    await using proxy = await TestProxy.start([`*:${judged.port}`], { resolve, kindOf });
    const answer = await proxy.ask(`GET http://rebind.example:${judged.port}/ HTTP/1.1\r\n\r\n`);
    // Nothing listens on 127.0.0.2, and only that was tried.
    expect(statusOf(answer)).toBe(502);
    expect(lookups).toBe(1);
    expect(judged.connections).toBe(0);
    expect(statusOf(await proxy.ask(tunnel(`rebind.example:${judged.port}`)))).toBe(403);
    expect(lookups).toBe(2);
  });

  it("V9 a second request in a connection never reaches the host, and the first is answered", async () => {
    await using host = await TestHost.start((socket) => {
      setTimeout(() => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 20);
    });
    await using proxy = await TestProxy.start([`example.org:${host.port}`]);
    const first = `POST http://example.org:${host.port}/1 HTTP/1.1\r\nContent-Length: 1\r\n\r\nx`;
    const second = "GET /2 HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    expect(await proxy.ask(`${first}${second}`)).toContain("hello");
    expect(host.heard).toMatch(/^POST \/1 [\s\S]+\r\n\r\nx$/);
    const plain = `GET http://example.org:${host.port}/1 HTTP/1.1\r\n\r\n`;
    expect(await proxy.ask(`${plain}GET http://evil.example/2 HTTP/1.1\r\n\r\n`)).toContain("hello");
    expect(host.heard).not.toContain("evil");
    const chunked = `POST http://example.org:${host.port}/3 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`;
    expect(await proxy.ask(`${chunked}${second}`)).toContain("hello");
    expect(host.heard).not.toContain("evil");
  });

  it("V9 a request for another host inside of a tunnel is bytes for the tunnel's host", async () => {
    await using host = await TestHost.start(answering);
    await using other = await TestHost.start();
    await using proxy = await TestProxy.start([`example.org:${host.port}`]);
    const answer = await proxy.ask(
      `${tunnel(`example.org:${host.port}`)}${tunnel(`evil.example:${other.port}`)}`,
    );
    expect(answer).toContain("hello");
    expect(host.heard).toBe(tunnel(`evil.example:${other.port}`));
    expect(other.connections).toBe(0);
    expect(proxy.refused).toEqual([]);
  });

  it("V9 a body whose frames are not as they must be takes the connection down", async () => {
    await using host = await TestHost.start();
    await using proxy = await TestProxy.start([`example.org:${host.port}`]);
    const head = `POST http://example.org:${host.port}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expect(await proxy.ask(`${head}5;x\r\nhello\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n`)).toBe("");
    expect(host.heard).not.toContain("hello");
    await expect.poll(() => host.sockets.size).toBe(0);
  });

  it("V9 what is no request for a proxy", async () => {
    await using host = await TestHost.start();
    await using proxy = await TestProxy.start([`example.org:${host.port}`]);
    const at = `example.org:${host.port}`;
    for (const [text, status] of [
      [`GET / HTTP/1.1\r\nHost: ${at}\r\n\r\n`, 400],
      [`GET https://${at}/ HTTP/1.1\r\n\r\n`, 400],
      [`TRACE http://${at}/ HTTP/1.1\r\n\r\n`, 405],
      [`CONNECT ${at} HTTP/1.1\nHost: x\n\nGET / HTTP/1.1\r\n\r\n`, 400],
      [`CONNECT ${at}\r\nX: y HTTP/1.1\r\n\r\n`, 400],
      [`CONNECT example.org:0${host.port} HTTP/1.1\r\n\r\n`, 400],
      [`POST http://${at}/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`, 400],
      ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
      ["\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400],
    ] as const)
      expect(statusOf(await proxy.ask(text)), JSON.stringify(text)).toBe(status);
    expect(host.connections).toBe(0);
  });

  it("a host that has no address, or does not answer, is said to be so", async () => {
    const resolve = async (name: string) => {
      if (name === "gone.example") throw Object.assign(new Error("not found"), { code: "ENOTFOUND" });
      return name === "empty.example" ? [] : ["127.0.0.1"];
    };
    await using proxy = await TestProxy.start(["*", "refusing.example:1"], { resolve });
    expect(await proxy.ask(tunnel("gone.example:443"))).toContain(
      "502 holdfast: gone.example has no address (ENOTFOUND)",
    );
    expect(await proxy.ask(tunnel("empty.example:443"))).toContain("empty.example has no address");
    expect(await proxy.ask(tunnel("refusing.example:1"))).toContain(
      "refusing.example:1 could not be reached (ECONNREFUSED)",
    );
  });
});

describe("what a client can hold", () => {
  it("V12 a head has to be there in time and in bounds", async () => {
    await using proxy = await TestProxy.start(["*"], {}, { headMs: 50, headBytes: 1000 });
    expect(statusOf(await proxy.ask("GET http://exam"))).toBe(408);
    expect(statusOf(await proxy.ask(`GET http://example.org/ HTTP/1.1\r\nX: ${"x".repeat(1000)}`))).toBe(431);
    expect(statusOf(await proxy.ask(`GET http://a.b/ HTTP/1.1\r\nX: ${"x".repeat(1000)}\r\n\r\n`))).toBe(431);
    await expect.poll(() => proxy.proxy.connections).toBe(0);
  });

  it("V12 connections beyond the limit are turned away, until one is free again", async () => {
    await using host = await TestHost.start();
    const at = `example.org:${host.port}`;
    await using proxy = await TestProxy.start([at], {}, { connections: 2 });
    const [one] = [await tunnelThrough(proxy, at), await tunnelThrough(proxy, at)];
    expect(statusOf(await proxy.ask(tunnel(at)))).toBe(503);
    one?.destroy();
    await expect.poll(() => proxy.proxy.connections).toBe(1);
    (await tunnelThrough(proxy, at)).destroy();
  });

  it("V11 a client that breaks off leaves nothing open, and so does a host", async () => {
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

  it("V11 an answer that breaks off does not look like one that ended", async () => {
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

  it("V11 an end that is not answered is not waited for without limit, whichever side it came from", async () => {
    await using host = await TestHost.start((socket) => void socket.on("end", () => {}), true);
    const at = `example.org:${host.port}`;
    await using proxy = await TestProxy.start([at], {}, { halfOpenMs: 50 });
    const ended = await tunnelThrough(proxy, at);
    ended.end();
    await closed(ended);
    // The host has heard an end already: that the rest is gone too shows when it speaks.
    for (const one of host.sockets) one.write("late");
    await expect.poll(() => host.sockets.size).toBe(0);
    const other = await tunnelThrough(proxy, at);
    for (const one of host.sockets) one.end();
    await closed(other.resume());
    await expect.poll(() => [host.sockets.size, proxy.proxy.connections]).toEqual([0, 0]);
  });

  it("V11 a client that goes while its host is looked up or connected to leaves nothing open", async () => {
    await using host = await TestHost.start();
    let resolved = (_addresses: string[]) => {};
    const resolve = () => new Promise<string[]>((done) => (resolved = done));
    const at = `example.org:${host.port}`;
    await using proxy = await TestProxy.start([at], { resolve });
    const socket = proxy.open();
    socket.write(tunnel(at));
    await expect.poll(() => proxy.gate.takeCounts() ?? resolved).not.toBeUndefined();
    await expect.poll(() => proxy.proxy.connections).toBe(1);
    socket.resetAndDestroy();
    await closed(socket);
    resolved(["127.0.0.1"]);
    await expect.poll(() => [host.sockets.size, proxy.proxy.connections]).toEqual([0, 0]);
  });

  it("V11 what is open is closed with the proxy", async () => {
    await using host = await TestHost.start();
    const at = `example.org:${host.port}`;
    await using proxy = await TestProxy.start([at]);
    const socket = await tunnelThrough(proxy, at);
    proxy.proxy.close();
    await closed(socket);
    await expect.poll(() => host.sockets.size).toBe(0);
  });
});

describe("what is counted", () => {
  it("V10 connections by host, since the last look, and those that were refused", async () => {
    await using host = await TestHost.start(answering);
    const at = `a.example:${host.port}`;
    await using proxy = await TestProxy.start([at, "b.example"], {
      resolve: async (name) => (name === "a.example" ? ["127.0.0.1"] : []),
    });
    expect(proxy.gate.takeCounts()).toBeUndefined();
    for (const asked of [at, at, "evil.example:443", "evil.example:80", "evil.example:22", "127.0.0.1:443"])
      await proxy.ask(`GET http://${asked}/ HTTP/1.1\r\n\r\n`);
    expect(proxy.gate.takeCounts()).toEqual({
      allowed: [{ host: at, connections: 2 }],
      refused: [
        { host: "evil.example", connections: 2 },
        { host: "evil.example:22", connections: 1 },
        { host: "127.0.0.1", connections: 1 },
      ],
    });
    expect(proxy.gate.takeCounts()).toBeUndefined();
    expect(proxy.refused.map(({ host: refused }) => refused)).toEqual([
      "evil.example",
      "evil.example",
      "127.0.0.1",
    ]);
  });

  it("V10 a hundred hosts, and then a number: refused ones do not push out those that were reached", async () => {
    await using proxy = await TestProxy.start(["*.example"]);
    for (let number = 0; number < 120; number += 1) {
      await proxy.gate.judge(`h${number}.example`, 443);
      for (let again = 0; again < 2; again += 1) await proxy.gate.judge(`h${number}.evil`, 443);
    }
    const counts = proxy.gate.takeCounts();
    expect(counts?.allowed.length).toBe(100);
    expect(counts?.refused.length).toBe(100);
    expect(counts?.allowed.at(-1)).toEqual({ host: "h99.example", connections: 1 });
    expect(counts?.more).toEqual({ allowed: 20, refused: 40 });
    expect(proxy.refused.length).toBe(100);
  });
});
