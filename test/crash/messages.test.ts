/**
 * A thousand messages are sent to ten sessions, while session processes and dispatchers are killed.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { TestChild } from "../support/children.ts";
import { agent, type Dispatcher, HostHome, until } from "../support/hosts.ts";

const SESSIONS = 10;
const SENDERS = 4;
const MESSAGES = 1000;
const HOST_KILLS = 20;
const library = join(import.meta.dirname, "..", "..", "dist", "dispatch", "index.js");

describe("a thousand messages to ten sessions, with kills", () => {
  it("intake-1 each message enters the context exactly once and in its sender's order", {
    timeout: 300_000,
  }, async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const spec = agent("message-loop.mjs", { restart: true });
    const ids: string[] = [];
    for (let number = 0; number < SESSIONS; number += 1)
      ids.push((await dispatcher.begin({ repo: home.main }, spec)).id);

    const isOver = { value: false };
    const kills = { hosts: 0, dispatchers: 0 };
    const senders = Array.from({ length: SENDERS }, (_, index) => sendAll(home, `s${index}`, ids, kills));
    const shooting = shoot(home, dispatcher, ids, isOver, kills);
    await Promise.all(senders);
    await until(
      () => allEntered(dispatcher, ids),
      (entered) => entered === MESSAGES,
      200_000,
    );
    isOver.value = true;
    await shooting;
    expect(kills.hosts, "session processes killed").toBeGreaterThanOrEqual(HOST_KILLS);
    expect(kills.dispatchers, "dispatchers killed").toBeGreaterThan(5);

    for (const id of ids) {
      const received: string[] = [];
      const entered: string[] = [];
      for await (const { type, data } of dispatcher.holdfast.readJournal(id)) {
        if (type === "message_received") received.push(String(data["message"]));
        if (type === "message_entered_context") entered.push(String(data["message"]));
      }
      expect(new Set(received).size).toBe(received.length);
      expect(entered).toEqual(received);
      for (let sender = 0; sender < SENDERS; sender += 1) {
        const numbers = entered.flatMap((message) => {
          const [, who, number] = /^msg_(s\d)_(\d+)$/.exec(message) ?? [];
          return who === `s${sender}` ? [Number(number)] : [];
        });
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
      }
      expect((await dispatcher.holdfast.auditSession(id)).findings).toEqual([]);
    }
    for (const id of ids) await dispatcher.pause(id);
    expect(home.strays()).toEqual([]);
  });
});

interface Kills {
  hosts: number;
  dispatchers: number;
}

async function allEntered(dispatcher: Dispatcher, ids: readonly string[]): Promise<number> {
  let entered = 0;
  for (const id of ids)
    for await (const { type } of dispatcher.holdfast.readJournal(id))
      if (type === "message_entered_context") entered += 1;
  if (entered < MESSAGES) await sleep(500);
  return entered;
}

/** Sends one sender's part through dispatchers that are killed now and then and replaced by the next one. */
async function sendAll(home: HostHome, sender: string, ids: readonly string[], kills: Kills) {
  const last = MESSAGES / SENDERS;
  for (let next = 1; next <= last; ) {
    await using child = new TestChild("send-messages.ts", [
      library,
      home.dir,
      sender,
      String(next),
      String(last),
      ...ids,
    ]);
    const stopAt = next + 20 + Math.floor(Math.random() * 80);
    const mark = `sent ${Math.min(stopAt, last)}`;
    await child.line((line) => line === mark);
    if (stopAt < last) {
      // In the middle of the next message.
      await sleep(Math.random() * 5);
      child.kill("SIGKILL");
      kills.dispatchers += 1;
    }
    await child.ended();
    next = Number(child.lines.at(-1)?.split(" ")[1]) + 1;
    // However fast the senders are, the kills happen between their messages and not after them.
    await until(() => kills.hosts >= (HOST_KILLS * (next - 1)) / last);
  }
}

/** Kills session processes one after the other, and resumes those that were hit. */
async function shoot(
  home: HostHome,
  dispatcher: Dispatcher,
  ids: readonly string[],
  isOver: { value: boolean },
  kills: Kills,
): Promise<void> {
  while (!isOver.value) {
    const id = ids[Math.floor(Math.random() * ids.length)] ?? "";
    const pid = home.hostPid(id);
    if (pid !== undefined && kills.hosts < 40) {
      kill(pid, "SIGKILL");
      kills.hosts += 1;
    }
    await sleep(Math.random() * 60);
    const isHit = await Promise.all(
      ids.map(async (one) => (await dispatcher.show(one)).status === "interrupted"),
    );
    await Promise.all(ids.map((one, index) => isHit[index] && dispatcher.resume(one).catch(() => {})));
  }
}
