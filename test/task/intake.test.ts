/** How envelopes in an inbox are taken in. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { encodeEnvelope, idOf, Maildir } from "../../src/mail/index.ts";
import { Intake } from "../../src/task/index.ts";
import { realDisk } from "../../src/util/index.ts";
import { memoryDir, plainPorts, TestHome } from "../support/home.ts";
import { script } from "../support/hosts.ts";

describe("the intake", () => {
  it("does not take in a task while a request to cancel it is being handled", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open(plainPorts);
    const session = await hf.openSession();
    const inbox = new Maildir(realDisk, home.sessionDir(session.id, "inbox"));
    const from = { from: "user:test", at: new Date().toISOString() };
    const spec = script("true");
    await inbox.put(
      "task_back",
      encodeEnvelope({ ...from, id: "task_back", kind: "task", spec, priority: 1 }),
    );
    await inbox.put(
      "ask_back",
      encodeEnvelope({ ...from, id: "ask_back", kind: "cancel", request: "task_back" }),
    );
    const cancel = async (request: string) => {
      await sleep(50);
      await inbox.done((await inbox.waiting()).filter((name) => idOf(name) === request));
    };
    const others = {
      interrupt() {},
      pause() {},
      shell() {},
      allowHost: async () => {},
      decide: async () => {},
      drained() {},
    };
    await new Intake(session, inbox, { ...others, cancel }).look();
    expect(session.state.queue).toEqual([]);
    expect(await inbox.waiting()).toEqual([]);
    await session.pause();
  });
});
