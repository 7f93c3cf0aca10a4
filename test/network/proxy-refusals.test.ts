/**
 * The proxy, tested through its sockets: what it refuses, and how.
 */
import { describe, expect, it } from "vitest";
import { addressKind } from "../../src/network/addresses.ts";
import { answering, statusOf, TestHost, TestProxy, tunnel } from "../support/upstreams.ts";

describe("the proxy", () => {
  it("lookup-1 refuses a host that was not named without looking it up, and suggests --host", async () => {
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

  it("host-2 refuses an address in any spelling, even where every host is allowed", async () => {
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

  it("lookup-1 refuses a name that leads to this machine, its link or a metadata service, even if named", async () => {
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
      expect(answer).toContain(
        "internal.example leads to this machine or its local link; to reach that port of this machine: holdfast run --host localhost:443",
      );
      // The answer does not tell an agent the address.
      expect(answer).not.toContain(address === "::1" ? "::1" : address.slice(0, 4));
    }
  });

  it("lookup-1 refuses a name that leads into a private network, unless it is named without a wildcard", async () => {
    await using host = await TestHost.start(answering);
    const options = {
      resolve: async () => ["127.0.0.1"],
      kindOf: () => "private" as const,
    };
    const ask = async (...hosts: string[]) => {
      await using proxy = await TestProxy.start(hosts, options);
      return await proxy.ask(`GET http://nexus.example.org:${host.port}/ HTTP/1.1\r\n\r\n`);
    };
    expect(statusOf(await ask(`*:${host.port}`))).toBe(403);
    expect(statusOf(await ask(`*.example.org:${host.port}`))).toBe(403);
    const name = `nexus.example.org:${host.port}`;
    expect(await ask(`*:${host.port}`)).toContain(
      `${name} is in a private network: name it exactly, for example with holdfast run --host ${name}`,
    );
    expect(statusOf(await ask(`nexus.example.org:${host.port}`))).toBe(200);
    expect(statusOf(await ask(`*.example.org:${host.port}`, `nexus.example.org:${host.port}`))).toBe(200);
  });

  it("lookup-1 refuses a name if one of its addresses may not be reached, though another may", async () => {
    const options = { resolve: async () => ["93.184.216.34", "169.254.169.254"], kindOf: addressKind };
    await using proxy = await TestProxy.start(["*"], options);
    expect(statusOf(await proxy.ask(tunnel("rebind.example:443")))).toBe(403);
  });

  it("lookup-1 looks a name up once for each connection, and connects to the address that it judged", async () => {
    await using judged = await TestHost.start(answering);
    let lookups = 0;
    // The first answer is judged public. A second lookup would return another address, this machine's
    // loopback.
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

  it("http-1 drops a second request in a connection, and still answers the first", async () => {
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

  it("http-1 passes a request for another host inside a tunnel to the tunnel's own host", async () => {
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

  it("http-1 closes the connection when the chunks of a body are malformed", async () => {
    await using host = await TestHost.start();
    await using proxy = await TestProxy.start([`example.org:${host.port}`]);
    const head = `POST http://example.org:${host.port}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expect(await proxy.ask(`${head}5;x\r\nhello\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n`)).toBe("");
    expect(host.heard).not.toContain("hello");
    await expect.poll(() => host.sockets.size).toBe(0);
  });

  it("http-1 refuses requests that are malformed or not meant for a proxy", async () => {
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

  it("says so when a host has no address or refuses the connection", async () => {
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
