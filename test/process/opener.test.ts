/**
 * Sockets of ours in a namespace that has no way out: listening there, connecting there, and what is left of
 * it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { InsideConnector, listenInside } from "../../src/process/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { TestNamespace } from "../support/namespace.ts";

if (!hasSandbox) console.log("left out: sockets in a namespace: bubblewrap is not installed");

/** Sends each client a text that tells which end of a connection it is. */
const TALKER = `const { createServer } = require("node:net");
  const [port, host] = process.argv.slice(1);
  createServer((socket) => { socket.on("error", () => {}); socket.write("first "); socket.pipe(socket); })
    .listen({ port, host }, () => console.log("ready"));`;

const KNOCK = `const { connect } = require("node:net");
  connect({ port: process.argv[1], host: process.argv[2] })
    .on("error", ({ code }) => console.log(code)).on("data", (data) => console.log(String(data)));`;

const openSockets = () =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith("socket:");
    } catch {
      return false;
    }
  }).length;

async function talker(namespace: TestNamespace, port: number, host: string): Promise<Disposable> {
  const child = namespace.start([process.execPath, "-e", TALKER, String(port), host]);
  if (child.stdout) await once(child.stdout, "data");
  return { [Symbol.dispose]: () => void child.kill("SIGKILL") };
}

it("opener-1 an opener whose starter is gone before it has begun ends, and keeps no port", async () => {
  const program = resolve(import.meta.dirname, "..", "..", "src", "process", "network", "main.ts");
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const opener = spawn(process.execPath, [program, "listen", "0"], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    opener.disconnect();
    expect(await once(opener, "exit")).toEqual([0, null]);
  }
});

describe.skipIf(!hasSandbox)("the opener", () => {
  it("waits for a port that the opener of a killed process has for a moment longer", async () => {
    await using namespace = await TestNamespace.start();
    const other = await talker(namespace, 18_128, "127.0.0.1");
    const opening = listenInside(namespace.enter, [18_128], () => {});
    // Long enough for a first attempt, which finds the port taken.
    await new Promise((resolve) => setTimeout(resolve, 500));
    other[Symbol.dispose]();
    (await opening).close();
  });

  it("opener-1 listens inside, on both kinds of loopback, where only what stands inside gets through to us", async () => {
    await using namespace = await TestNamespace.start();
    const heard: number[] = [];
    const listener = await listenInside(namespace.enter, [18_128, 5432], (socket, port) => {
      heard.push(port);
      socket.on("error", () => {}).end(`from outside, ${port}`);
    });
    try {
      const knock = async (port: number, host: string) =>
        (await namespace.run([process.execPath, "-e", KNOCK, String(port), host])).stdout.trim();
      expect(await knock(18_128, "127.0.0.1")).toBe("from outside, 18128");
      expect(await knock(18_128, "::1")).toBe("from outside, 18128");
      expect(await knock(5432, "localhost")).toBe("from outside, 5432");
      expect(await knock(5433, "127.0.0.1")).toBe("ECONNREFUSED");
      const outside = connect(18_128, "127.0.0.1");
      await expect(once(outside, "connect")).rejects.toThrow("ECONNREFUSED");
      expect(heard).toEqual([18_128, 18_128, 5432]);
    } finally {
      listener.close();
    }
  });

  it("opener-1 what is inside reaches nothing of the machine's own loopback", async () => {
    await using namespace = await TestNamespace.start();
    const server = createServer((socket) => socket.end("REACHED")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const { stdout } = await namespace.run([process.execPath, "-e", KNOCK, String(port), "127.0.0.1"]);
    expect(stdout.trim()).toBe("ECONNREFUSED");
    server.close();
  });

  it("a port that is taken inside is said, and nothing is left open", async () => {
    await using namespace = await TestNamespace.start();
    using _taken = await talker(namespace, 7001, "127.0.0.1");
    const before = openSockets();
    await expect(listenInside(namespace.enter, [7000, 7001], () => {})).rejects.toThrow(
      expect.objectContaining({ code: "network_failed", message: expect.stringContaining("EADDRINUSE") }),
    );
    await expect.poll(openSockets).toBe(before);
    // The port before it was let go of, too.
    (await listenInside(namespace.enter, [7000], () => {})).close();
  });

  it("a namespace that can't be entered is said in the words of what could not", async () => {
    await expect(listenInside(["nsenter", "-t", "999999999", "-n", "--"], [1], () => {})).rejects.toThrow(
      /network_failed|999999999/,
    );
    await expect(listenInside(["/no/such/program"], [1], () => {})).rejects.toThrow("ENOENT");
    await expect(new InsideConnector(["false"]).connect(1)).rejects.toThrow("ended with 1");
  });

  it("connects inside, whichever loopback is listened on, and loses nothing of what is said first", async () => {
    await using namespace = await TestNamespace.start();
    using _four = await talker(namespace, 7002, "127.0.0.1");
    using _six = await talker(namespace, 7003, "::1");
    const connector = new InsideConnector(namespace.enter);
    try {
      const talk = async (port: number) => {
        const socket: Socket = await connector.connect(port);
        socket.end(`and then ${port}`);
        return text(socket);
      };
      expect(await Promise.all([talk(7002), talk(7003), talk(7002)])).toEqual([
        "first and then 7002",
        "first and then 7003",
        "first and then 7002",
      ]);
      await expect(connector.connect(7004)).rejects.toThrow("ECONNREFUSED");
      expect(await talk(7002)).toBe("first and then 7002");
    } finally {
      connector.close();
    }
  });

  it("an opener that was closed or killed is started again by the next connection", async () => {
    await using namespace = await TestNamespace.start();
    using _four = await talker(namespace, 7002, "127.0.0.1");
    const connector = new InsideConnector(namespace.enter);
    const never = connector.connect(7002);
    connector.close();
    await expect(never).rejects.toThrow("closed");
    (await connector.connect(7002)).destroy();
    for (const pid of openers(namespace.enter)) process.kill(pid, "SIGKILL");
    await expect.poll(() => openers(namespace.enter)).toEqual([]);
    // Whether we heard of its end before is a matter of chance.
    await connector.connect(7002).then(
      (socket) => socket.destroy(),
      () => {},
    );
    (await connector.connect(7002)).destroy();
    connector.close();
    await expect.poll(() => openers(namespace.enter)).toEqual([]);
  });
});

/** Openers in this namespace, found by what they were started with. */
function openers(enter: readonly string[]): number[] {
  const namespace = readlinkSync(`/proc/${enter[enter.indexOf("-t") + 1]}/ns/net`);
  return readdirSync("/proc").flatMap((name) => {
    try {
      const isIn = readlinkSync(`/proc/${name}/ns/net`) === namespace;
      const isOpener = readFileSync(`/proc/${name}/cmdline`, "utf8").includes("process/network/main");
      return isIn && isOpener ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}
