/**
 * Clients that hang up while they read, or read slowly: `serve` keeps nothing open for them.
 */
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { writeTo } from "../../src/server/bytes.ts";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, reaches, script, until } from "../support/hosts.ts";
import { Served } from "../support/served.ts";

const TIMES = 20;

/** Writes much at first; after a crash it goes on, so that this is kept and more is not yet. */
const LOOP = "[ -e again ] || seq 1 400000; touch again; echo begun; while :; do echo tick; sleep 0.05; done";

/** A running task: most of what it wrote is kept, and the rest is in the file to which it still writes. */
async function writing(home: HostHome) {
  const dispatcher = await home.dispatcher();
  const { id } = await dispatcher.begin({ repo: home.main }, script(LOOP, { restart: true }));
  const log = home.sessionDir(id, "log");
  const spooled = () =>
    readdirSync(log)
      .filter((name) => name.endsWith(".out"))
      .map((name) => readFileSync(home.sessionDir(id, "log", name), "latin1"))
      .join("");
  await until(() => spooled().includes("begun"));
  kill(home.hostPid(id) ?? 0, "SIGKILL");
  await reaches(dispatcher, id, "interrupted");
  await dispatcher.resume(id);
  await until(() => spooled().includes("begun") && !spooled().includes("400000"));
  return { id, end: () => dispatcher.pause(id) };
}

/** Reads until a chunk has the text, and hangs up. */
async function hangUp(response: IncomingMessage, text: string): Promise<void> {
  expect(response.statusCode).toBe(200);
  for await (const chunk of response) if (String(chunk).includes(text)) break;
  response.destroy();
}

describe.runIf(hasSandbox)("a client that hangs up", () => {
  it("while it reads what a task wrote leaves no descriptor open", async () => {
    using home = new HostHome();
    await using served = await Served.start(home);
    const { id, end } = await writing(home);
    const descriptors = () => readdirSync(`/proc/${served.pid}/fd`).length;
    const output = `/v1/sessions/${id}/output`;
    await hangUp(await served.open(`${output}?follow=true`), "tick");
    const before = descriptors();
    for (let time = 0; time < TIMES; time += 1) {
      await hangUp(await served.open(output), "1\n");
      await hangUp(await served.open(`${output}?follow=true`), "tick");
    }
    await until(descriptors, (count) => count < before + TIMES / 2);
    await end();
  });
});

describe("a client that reads slowly", () => {
  it("leaves no listener behind for each time that it was waited for", async () => {
    const listeners: number[] = [];
    const server = createServer(async (_request, response) => {
      for (let time = 0; time < TIMES; time += 1) {
        await writeTo(response, Buffer.alloc(4_000_000));
        listeners.push(response.listenerCount("close"));
      }
      response.end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const asked = get({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", agent: false });
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    for await (const _ of response);
    expect(new Set(listeners).size).toBe(1);
    server.close();
  });
});
