import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Incoming } from "../../src/network/reading.ts";
import { carry, tie } from "../../src/network/relay.ts";

/** The two ends of a connection over loopback. */
async function connection(): Promise<{ near: Incoming; far: Socket }> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const far = connect({
    port: (server.address() as AddressInfo).port,
    host: "127.0.0.1",
    allowHalfOpen: true,
  });
  const [near] = (await once(server, "connection")) as [Socket];
  server.close();
  return { near: new Incoming(near), far };
}

const MEGABYTE = 1024 * 1024;

describe("a relay between two connections", () => {
  it("clients-1 holds at most a megabyte for a side that does not read, and delivers all once it reads", async () => {
    const [sender, reader] = [await connection(), await connection()];
    tie(sender.near.socket, reader.near.socket, 60_000);
    carry(sender.near, reader.near.socket);
    // Random, so that no piece can be mistaken for another.
    const sent = randomBytes(64 * MEGABYTE);
    sender.far.end(sent);
    let most = 0;
    // Wait until the kernel's buffers are full, and a little longer.
    for (let still = 0, before = -1; still < 20; still += 1) {
      await sleep(10);
      most = Math.max(most, reader.near.socket.writableLength);
      if (sender.near.socket.bytesRead !== before) still = 0;
      before = sender.near.socket.bytesRead;
    }
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(MEGABYTE);
    const received: Buffer[] = [];
    for await (const chunk of reader.far) received.push(chunk as Buffer);
    expect(Buffer.concat(received).equals(sent)).toBe(true);
    reader.far.end();
    for (const { far } of [sender, reader]) far.destroy();
  });

  it("delivers many small pieces in order, and then their end", async () => {
    const [sender, reader] = [await connection(), await connection()];
    tie(sender.near.socket, reader.near.socket, 60_000);
    carry(sender.near, reader.near.socket);
    const pieces = Array.from({ length: 500 }, (_, number) => `${number},`);
    for (const [number, piece] of pieces.entries()) {
      sender.far.write(piece);
      if (number % 50 === 0) await sleep(1);
    }
    sender.far.end();
    let text = "";
    for await (const chunk of reader.far) text += chunk;
    expect(text).toBe(pieces.join(""));
    reader.far.end();
    for (const { far } of [sender, reader]) far.destroy();
  });
});
