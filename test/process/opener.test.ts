/**
 * Sockets that the opener makes for us in a network namespace without a way out: listening, connecting, and
 * what stays open afterwards.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { InsideConnector, listenInside } from "../../src/process/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { TestNamespace } from "../support/namespace.ts";

if (!hasSandbox) console.log("left out: sockets in a namespace: bubblewrap is not installed");

/** A server that sends each client `first ` and then echoes what it hears. */
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

it("opener-1 an opener exits by itself when its starter is gone before it has begun", async () => {
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
  it("waits for a port that another process still holds for a moment", async () => {
    await using namespace = await TestNamespace.start();
    const other = await talker(namespace, 18_128, "127.0.0.1");
    const opening = listenInside(namespace.enter, [18_128], () => {});
    // Long enough for a first attempt, which finds the port taken.
    await new Promise((resolve) => setTimeout(resolve, 500));
    other[Symbol.dispose]();
    (await opening).close();
  });

  it("opener-1 listens on IPv4 and IPv6 loopback inside, and only programs inside can connect to it", async () => {
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

  it("opener-1 gives programs inside no way to the machine's own loopback", async () => {
    await using namespace = await TestNamespace.start();
    const server = createServer((socket) => socket.end("REACHED")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const { stdout } = await namespace.run([process.execPath, "-e", KNOCK, String(port), "127.0.0.1"]);
    expect(stdout.trim()).toBe("ECONNREFUSED");
    server.close();
  });

  it("reports a port that is taken inside, and leaves no socket open", async () => {
    await using namespace = await TestNamespace.start();
    using _taken = await talker(namespace, 7001, "127.0.0.1");
    const before = openSockets();
    await expect(listenInside(namespace.enter, [7000, 7001], () => {})).rejects.toThrow(
      expect.objectContaining({ code: "network_failed", message: expect.stringContaining("EADDRINUSE") }),
    );
    await expect.poll(openSockets).toBe(before);
    // The port that was opened before the taken one is free again.
    (await listenInside(namespace.enter, [7000], () => {})).close();
  });

  it("passes connections on whose small writes go at once, as a server of Node's own does", async () => {
    await using namespace = await TestNamespace.start();
    const accepted = Promise.withResolvers<Socket>();
    const listening = await listenInside(namespace.enter, [18_129], accepted.resolve);
    const knocking = namespace.start([process.execPath, "-e", KNOCK, "18129", "127.0.0.1"]);
    const own = createServer({ noDelay: true }).listen(0, "127.0.0.1");
    await once(own, "listening");
    const { port } = own.address() as AddressInfo;
    const [ofOwn] = await Promise.all([
      once(own, "connection").then(([one]) => one as Socket),
      connect(port),
    ]);
    try {
      // Node remembers what it has told the kernel; nothing else tells.
      const hasNoDelay = (socket: Socket) => {
        const symbol = Object.getOwnPropertySymbols(socket).find(
          ({ description }) => description === "kSetNoDelay",
        );
        return symbol && (socket as unknown as Record<symbol, unknown>)[symbol];
      };
      expect(hasNoDelay(ofOwn)).toBe(true);
      expect(hasNoDelay(await accepted.promise)).toBe(true);
    } finally {
      knocking.kill("SIGKILL");
      ofOwn.destroy();
      own.close();
      listening.close();
    }
  });

  it("fails with the cause when its namespace can't be entered", async () => {
    await expect(listenInside(["nsenter", "-t", "999999999", "-n", "--"], [1], () => {})).rejects.toThrow(
      /network_failed|999999999/,
    );
    await expect(listenInside(["/no/such/program"], [1], () => {})).rejects.toThrow("ENOENT");
    await expect(new InsideConnector(["false"]).connect(1)).rejects.toThrow("ended with 1");
  });

  it("connects to servers on IPv4 or IPv6 loopback inside, and loses none of their first bytes", async () => {
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

  it("is started again by the next connection after it was closed or killed", async () => {
    await using namespace = await TestNamespace.start();
    using _four = await talker(namespace, 7002, "127.0.0.1");
    const connector = new InsideConnector(namespace.enter);
    const never = connector.connect(7002);
    connector.close();
    await expect(never).rejects.toThrow("closed");
    (await connector.connect(7002)).destroy();
    for (const pid of openers(namespace.enter)) process.kill(pid, "SIGKILL");
    await expect.poll(() => openers(namespace.enter)).toEqual([]);
    // This attempt fails or not, depending on whether we have already heard of the end.
    await connector.connect(7002).then(
      (socket) => socket.destroy(),
      () => {},
    );
    (await connector.connect(7002)).destroy();
    connector.close();
    await expect.poll(() => openers(namespace.enter)).toEqual([]);
  });
});

/** The openers in this namespace, found by their command lines. */
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
