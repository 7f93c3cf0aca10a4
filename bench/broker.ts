/**
 * Benches of the broker: what it adds to a request, against the same request without it, and many streams at
 * once.
 */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { BrokerConnection } from "../src/broker/connection.ts";
import type { SessionId } from "../src/contract/index.ts";
import { openHome } from "../src/home/index.ts";
import { openLocalHome } from "../src/library/local-home.ts";
import { atMost, inTurns, median, type Row } from "./measure.ts";

const ROUNDS = 400;
const STREAMS = 32;
const CHUNKS = 100;
const BODY = Buffer.from(JSON.stringify({ model: "x", messages: ["word ".repeat(4000)] }));

export async function benchBroker(directory: string, progress: (text: string) => void): Promise<Row[]> {
  progress("the broker");
  const provider = createServer((asked, response) => {
    asked.resume().on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      let left = asked.url?.includes("stream") ? CHUNKS : 1;
      const more = () => {
        left -= 1;
        response.write("data: {}\n\n");
        // A model sends one word at a time.
        if (left > 0) setTimeout(more, 2);
        else response.end();
      };
      more();
    });
  }).listen(0, "127.0.0.1");
  await once(provider, "listening");
  const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const dir = join(directory, "broker-home");
  mkdirSync(dir, { mode: 0o700 });
  const settings = `providers: { anthropic: { base_url: "${url}" } }\nkeys: { anthropic: { command: [echo, key] } }\n`;
  const session = await (await openLocalHome({ home: dir })).openSession();
  await session.pause();
  writeFileSync(join(dir, "settings.yaml"), settings, { mode: 0o600 });
  const home = await openHome({ home: dir });
  const connection = await BrokerConnection.open(home, session.id as SessionId);
  try {
    const through = async (path: string) => {
      const headers = { "content-type": "application/json", "x-api-key": "dummy" };
      const options = { provider: "anthropic", method: "POST", headers, body: BODY };
      return (await connection.forward({ ...options, path })).body;
    };
    const direct = async (path: string) => {
      const asked = request(`${url}${path}`, { method: "POST" }).end(BODY);
      const [answer] = await once(asked, "response");
      return answer as typeof asked & AsyncIterable<Buffer>;
    };
    /** The connection is used again, as agents do. So the rest is read, but not timed. */
    const firstByteMs = async (ask: (path: string) => Promise<AsyncIterable<unknown>>) => {
      const start = performance.now();
      let ms = 0;
      for await (const _ of await ask("/v1/messages")) ms ||= performance.now() - start;
      return ms;
    };
    const all = async (body: AsyncIterable<unknown>) => {
      for await (const _ of body);
    };
    const times = { direct: [] as number[], through: [] as number[] };
    for (let round = 0; round < ROUNDS; round += 1) {
      times.direct.push(await firstByteMs(direct));
      times.through.push(await firstByteMs(through));
    }
    const [directMs, throughMs] = [median(times.direct), median(times.through)];
    const many = (ask: (path: string) => Promise<AsyncIterable<unknown>>) => () =>
      Promise.all(Array.from({ length: STREAMS }, async () => all(await ask("/v1/messages?stream"))));
    const candidates = { bare: many(direct), brokered: many(through) };
    const { bare, brokered } = await inTurns(candidates, { rounds: 5, perRound: 1 });
    return [
      atMost(
        "what the broker adds to the time to the first byte (p50)",
        `${throughMs.toFixed(2)} ms : ${directMs.toFixed(2)} ms`,
        throughMs - directMs,
        2,
        "ms",
      ),
      // If only half of them went at once, it would take twice as long.
      atMost(
        `${STREAMS} streams at once through the broker, against none in between`,
        `${Math.round(brokered)} ms : ${Math.round(bare)} ms`,
        brokered / bare,
        1.5,
      ),
    ];
  } finally {
    connection.close();
    provider.closeAllConnections();
    provider.close();
  }
}
