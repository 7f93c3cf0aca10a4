/**
 * Bytes that a program inside writes to its proxy by itself, to get past the one host that was named.
 */
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { Inside } from "../support/inside.ts";
import { TestHost } from "../support/upstreams.ts";

/** Writes the bytes to the proxy, and prints what comes back within some seconds. */
const WRITE = `const { hostname, port } = new URL(process.env.HTTP_PROXY);
const socket = require("node:net").connect(port, hostname, () => socket.write(process.argv[1]));
socket.on("data", (data) => process.stdout.write(data)).on("error", () => {}).setTimeout(3000, () => socket.destroy());`;

interface Attempt {
  readonly title: string;
  bytes(named: string, other: string): string;
}

const tunnel = (to: string) => `CONNECT ${to} HTTP/1.1\r\n\r\n`;
const get = (to: string, host = to) => `GET http://${to}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
/** The other host's port, at the named host's name. */
const oddPort = (named: string, other: string) => `${named.split(":")[0]}:${other.split(":")[1]}`;

const attempts: readonly Attempt[] = [
  { title: "another host in the Host field", bytes: (named, other) => get(named, other) },
  { title: "another host, with the named one in the Host field", bytes: (named, other) => get(other, named) },
  {
    title: "a tunnel with the named one in the Host field",
    bytes: (named, other) => `CONNECT ${other} HTTP/1.1\r\nHost: ${named}\r\n\r\n`,
  },
  { title: "another port of the named host", bytes: (named, other) => tunnel(oddPort(named, other)) },
  {
    title: "a line feed in the target",
    bytes: (named, other) => `CONNECT ${named}\r\nHost: ${other} HTTP/1.1\r\n\r\n`,
  },
  { title: "the named host before an at sign", bytes: (named, other) => get(`${named}@${other}`) },
  { title: "a second request after the first", bytes: (named, other) => get(named) + get(other) },
  { title: "a second tunnel in the first", bytes: (named, other) => tunnel(named) + tunnel(other) },
  {
    title: "a length that hides a request",
    bytes: (named, other) =>
      `POST http://${named}/ HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 9\r\n\r\n${get(other)}`,
  },
  { title: "an address of the machine", bytes: (_, other) => tunnel(`127.0.0.1:${other.split(":")[1]}`) },
  {
    title: "an address in another spelling",
    bytes: (_, other) => tunnel(`[::ffff:7f00:1]:${other.split(":")[1]}`),
  },
];

describe.skipIf(!hasSandbox)("bytes for the proxy", () => {
  it.each(attempts)("http-1 from inside reach no other host by $title", async ({ bytes }) => {
    await using host = await TestHost.start((socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\nnamed"));
    await using other = await TestHost.start((socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\nREACHED"));
    const [named, unnamed] = [`example.org:${host.port}`, `evil.example:${other.port}`];
    await using inside = await Inside.begin([named]);
    const write = async (text: string) => (await inside.run([process.execPath, "-e", WRITE, text])).stdout;
    await write(bytes(named, unnamed));
    expect(other.connections).toBe(0);
    // The control: the same program reaches the named host, and the other one once it is named.
    expect(await write(get(named))).toContain("named");
    await inside.network.allow(unnamed);
    expect(await write(get(unnamed))).toContain("REACHED");
  });
});
