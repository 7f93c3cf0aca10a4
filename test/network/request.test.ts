/**
 * The heads of requests that the proxy accepts: a test for each way to smuggle a request, and properties that
 * hold for every text.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestBody } from "../../src/network/body.ts";
import { headFor, type PlainRequest, parseRequest } from "../../src/network/request.ts";

const parse = (...lines: string[]) => parseRequest(lines.join("\r\n"));
const get = (...fields: string[]) => parse("GET http://example.org/a?b HTTP/1.1", ...fields);

function plain(request: ReturnType<typeof parseRequest>): PlainRequest {
  if (request.kind !== "plain") throw new Error(`not plain: ${JSON.stringify(request)}`);
  return request;
}

describe("a request to the proxy", () => {
  it("opens a tunnel to a host and a port with CONNECT", () => {
    expect(parse("CONNECT example.org:443 HTTP/1.1", "Host: example.org:443", "User-Agent: curl")).toEqual({
      kind: "tunnel",
      host: "example.org",
      port: 443,
    });
  });

  it("is written anew for its host when it is not a CONNECT", () => {
    const request = plain(get("Host: example.org", "Accept: */*", "Proxy-Connection: Keep-Alive"));
    expect(request).toMatchObject({ host: "example.org", port: 80, body: "none" });
    expect(headFor(request, "example.org")).toBe(
      "GET /a?b HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\nConnection: close\r\n\r\n",
    );
    expect(plain(parse("GET http://example.org HTTP/1.0")).line).toEqual({
      method: "GET",
      path: "/",
      version: "HTTP/1.0",
    });
    expect(plain(parse("GET HTTP://example.org:8080?x HTTP/1.1"))).toMatchObject({
      port: 8080,
      line: { path: "/?x" },
    });
    const sent = plain(
      parse("POST http://example.org/ HTTP/1.1", "Content-Length: 0", "Expect: 100-continue"),
    );
    expect(headFor(sent, "example.org")).toContain("\r\nExpect: 100-continue\r\nContent-Length: 0\r\n");
  });

  it("http-1 does not pass on another host in its Host field, and may not have two of them", () => {
    const head = headFor(plain(get("Host: evil.example", "X: y")), "example.org");
    expect(head).toContain("Host: example.org\r\n");
    expect(head).not.toContain("evil");
    expect(get("Host: example.org", "Host: evil.example")).toMatchObject({ status: 400 });
    expect(get("Host: example.org", "hOST: example.org")).toMatchObject({ status: 400 });
  });

  it("http-1 loses the fields that are meant for the proxy, and those that Connection names", () => {
    const hop = [
      "Connection: X-Secret, keep-alive, Content-Length",
      "X-Secret: 1",
      "Keep-Alive: 5",
      "TE: trailers",
    ];
    const proxy = ["Proxy-Authorization: Basic eA==", "Upgrade: h2c", "HTTP2-Settings: AAA", "Trailer: X"];
    const request = plain(
      parse("POST http://example.org/ HTTP/1.1", ...hop, ...proxy, "Content-Length: 3", "Accept: a"),
    );
    // Content-Length stays although Connection names it, or the body would be taken for another request.
    expect(headFor(request, "example.org")).toBe(
      "POST / HTTP/1.1\r\nHost: example.org\r\nHTTP2-Settings: AAA\r\nAccept: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\n",
    );
  });

  it("http-1 is refused when the length of its body is ambiguous or malformed", () => {
    for (const fields of [
      ["Content-Length: 3", "Transfer-Encoding: chunked"],
      ["Content-Length: 3", "Content-Length: 4"],
      ["Content-Length: 3", "Content-Length: 3"],
      ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
      ["Transfer-Encoding: gzip, chunked"],
      ["Transfer-Encoding: identity"],
      ["Transfer-Encoding: chunked, identity"],
      ["Transfer-Encoding: xchunked"],
      ["Transfer-Encoding:"],
      ["Content-Length: 3, 3"],
      ["Content-Length: +3"],
      ["Content-Length: -1"],
      ["Content-Length: 0x3"],
      ["Content-Length: 3.0"],
      ["Content-Length:"],
      ["Content-Length: 9999999999999999"],
    ])
      expect(get(...fields), fields.join()).toMatchObject({ kind: "bad", status: 400 });
    expect(parse("POST http://example.org/ HTTP/1.0", "Transfer-Encoding: chunked")).toMatchObject({
      status: 400,
    });
  });

  it("http-1 is refused when a line does not end in CRLF, is folded or has a space before its colon", () => {
    for (const field of [
      "X: a\nHost: evil.example",
      "X: a\rHost: evil.example",
      "X: a\0b",
      "X : a",
      "X\t: a",
      " X: a",
      "\tfolded",
      ": a",
      "X",
      "",
      "Ä: a",
      "X(y): a",
    ])
      expect(get(field), JSON.stringify(field)).toMatchObject({ kind: "bad", status: 400 });
    for (const line of ["GET http://example.org/\nX HTTP/1.1", "GET http://example.org/\r HTTP/1.1"])
      expect(parse(line)).toMatchObject({ kind: "bad", status: 400 });
  });

  it("http-1 is refused when a proxy and a host could read its target differently", () => {
    for (const target of [
      "/path",
      "*",
      "example.org/",
      "//example.org/",
      "https://example.org/",
      "ftp://example.org/",
      "http:/example.org/",
      "http:///path",
      "http://",
      "http://user@example.org/",
      "http://example.org@evil.example/",
      "http://example.org#@evil.example/",
      "http://example.org/#fragment",
      "http://example.org:/",
      "http://example.org:80:80/",
      "http://example.org:0/",
      "http://example.org:080/",
      "http://example.org:+80/",
      "http://example.org:65536/",
      "http://example.org:8080@evil.example/",
    ])
      expect(parse(`GET ${target} HTTP/1.1`), target).toMatchObject({ kind: "bad", status: 400 });
    for (const target of [
      "example.org",
      "example.org:",
      "example.org:0",
      "example.org:0443",
      ":443",
      "example.org:x",
    ])
      expect(parse(`CONNECT ${target} HTTP/1.1`), target).toMatchObject({ kind: "bad", status: 400 });
  });

  it("http-1 is refused for an odd method, version or request line, or for too many fields", () => {
    for (const method of ["TRACE", "TRACK", "PROPFIND", "PRI", "FOO"])
      expect(parse(`${method} http://example.org/ HTTP/1.1`), method).toMatchObject({ status: 405 });
    for (const line of [
      "",
      "GET",
      "GET http://example.org/",
      "GET  http://example.org/ HTTP/1.1",
      " GET http://example.org/ HTTP/1.1",
      "GET http://example.org/ HTTP/1.1 ",
      "GET\thttp://example.org/ HTTP/1.1",
      "get http://example.org/ HTTP/1.1",
      "GET http://example.org/ HTTP/2.0",
      "GET http://example.org/ HTTP/1.2",
      "GET http://example.org/ HTTP/0.9",
      "GET http://example.org/a b HTTP/1.1",
      "GET http://ex\xe4mple.org/ HTTP/1.1",
    ])
      expect(parse(line), JSON.stringify(line)).toMatchObject({ kind: "bad", status: 400 });
    expect(get(...Array.from({ length: 101 }, (_, index) => `X-${index}: 1`))).toMatchObject({ status: 431 });
  });

  it("http-1 is always written anew in unambiguous lines, with one Host and at most one length", () => {
    const word = fc.string({ unit: fc.constantFrom(..."aZ09-:;, \t\r\n\0/@#?%.[]*"), maxLength: 20 });
    const field = fc.oneof(
      fc.tuple(fc.constantFrom("Host", "Content-Length", "Transfer-Encoding", "Connection", "X"), word),
      fc.tuple(word, word),
    );
    fc.assert(
      fc.property(word, fc.array(field, { maxLength: 4 }), (target, fields) => {
        const lines = fields.map(([name, value]) => `${name}: ${value}`);
        const request = parse(`POST http://example.org/${target} HTTP/1.1`, ...lines);
        if (request.kind !== "plain") return;
        const head = headFor(request, "checked.example");
        expect(head.endsWith("\r\n\r\n")).toBe(true);
        const [first = "", ...rest] = head.slice(0, -4).split("\r\n");
        expect(first).toMatch(/^POST \/[\x21-\x7e]* HTTP\/1\.1$/);
        for (const one of rest) expect(one).toMatch(/^[!-9;-~]+: [\t\x20-\x7e]*$/);
        expect(rest.filter((one) => /^host:/i.test(one))).toEqual(["Host: checked.example"]);
        expect(rest.filter((one) => /^(content-length|transfer-encoding):/i.test(one)).length).toBeLessThan(
          2,
        );
        expect(parse(`GET http://x/ HTTP/1.1`, ...rest).kind).toBe("plain");
      }),
      { numRuns: 500 },
    );
  });
});

describe("the body of a request", () => {
  const taken = (body: RequestBody, text: string) => body.take(Buffer.from(text, "latin1"));

  it("ends at its Content-Length, and takes nothing after that", () => {
    const body = new RequestBody(5);
    expect(taken(body, "abc")).toBe(3);
    expect(body.isOver).toBe(false);
    expect(taken(body, "deGET / HTTP/1.1")).toBe(2);
    expect(body.isOver).toBe(true);
    expect(taken(body, "more")).toBe(0);
    expect(taken(new RequestBody("none"), "GET")).toBe(0);
    expect(taken(new RequestBody(0), "GET")).toBe(0);
  });

  it("http-1 ends with its last chunk, in whatever pieces it arrives, and takes nothing after that", () => {
    const chunk = fc.uint8Array({ minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(fc.array(chunk), fc.integer({ min: 1, max: 9 }), (chunks, step) => {
        const framed = chunks.map(
          (data) => `${data.length.toString(16)}\r\n${Buffer.from(data).toString("latin1")}\r\n`,
        );
        const whole = Buffer.from(`${framed.join("")}0\r\n\r\n`, "latin1");
        const bytes = Buffer.concat([whole, Buffer.from("GET / HTTP/1.1\r\n\r\n")]);
        const body = new RequestBody("chunked");
        let total = 0;
        for (let at = 0; at < bytes.length; at += step)
          total += body.take(bytes.subarray(at, at + step)) ?? NaN;
        expect(total).toBe(whole.length);
        expect(body.isOver).toBe(true);
      }),
    );
  });

  it("http-1 is refused when others could read its chunks differently", () => {
    for (const text of [
      "\r\n",
      "3\nabc\r\n",
      "3;ext=1\r\nabc\r\n",
      "3 \r\nabc\r\n",
      " 3\r\nabc\r\n",
      "+3\r\nabc\r\n",
      "-1\r\nabc\r\n",
      "0x3\r\nabc\r\n",
      "3\r\r\nabc\r\n",
      "3\r\nabcd\r\n",
      "3\r\nabc\n",
      "3\r\nabc\rx",
      "000000003\r\nabc\r\n",
      "g\r\n",
      "0\r\nTrailer: x\r\n\r\n",
      "0\r\n\n",
    ])
      expect(taken(new RequestBody("chunked"), text), JSON.stringify(text)).toBeUndefined();
  });
});
