/**
 * Messages on their way to an agent and from it, whatever is killed meanwhile.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { HostHome, reaches, script, until } from "../support/hosts.ts";
import { messageEvents, startLoop } from "../support/message-loop.ts";
import { gitIn } from "../support/repo.ts";

describe("messages", () => {
  it("reach an agent, enter its context when it confirms them, and go from one session to another", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const a = await startLoop(home, dispatcher);
    const b = await startLoop(home, dispatcher);
    await dispatcher.send(a, "hello");
    await dispatcher.send(a, `reply:${b}:from a to b`);
    await dispatcher.send(b, "by name", { from: a });
    await until(
      () => dispatcher.show(b),
      ({ unread, records }) => unread === 0 && records > 8,
    );
    await until(
      async () => (await messageEvents(dispatcher, b)).length,
      (count) => count === 4,
    );
    for (const id of [a, b]) await dispatcher.send(id, "stop");
    for (const id of [a, b]) await reaches(dispatcher, id, "paused");
    const got = (id: string) => gitIn(home.main, "show", `${home.branchOf(id)}:got`).split("\n");
    expect(got(a)).toEqual(
      ["hello", `reply:${b}:from a to b`, "stop"].map((text) =>
        expect.stringMatching(new RegExp(`^user:\\S+ ${text}$`)),
      ),
    );
    expect(got(b).sort()).toEqual([
      `${a} by name`,
      `${a} from a to b`,
      expect.stringMatching(/^user:\S+ stop$/),
    ]);
    const types = (await messageEvents(dispatcher, a)).map(([type]) => type);
    expect(types.filter((type) => type === "message_received")).toHaveLength(3);
    expect(types.filter((type) => type === "message_entered_context")).toHaveLength(3);
    expect(types.filter((type) => type === "message_sent")).toHaveLength(1);
  });

  it("are reported to their sender if they can't be delivered; another user's session can't be reached", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const foreign = await dispatcher.holdfast.openSession({ user: "other-user" });
    await foreign.release();
    const id = await startLoop(home, dispatcher);
    await dispatcher.send(id, `reply:${foreign.id}:psst`);
    await until(
      async () =>
        (await messageEvents(dispatcher, id)).filter(([type]) => type === "message_received").length,
      (count) => count === 2,
    );
    await dispatcher.send(id, "stop");
    await reaches(dispatcher, id, "paused");
    const got = gitIn(home.main, "show", `${home.branchOf(id)}:got`);
    expect(got).toMatch(
      new RegExp(`^dispatcher Message msg_\\w+ to ${foreign.id} was not delivered: there is no session`, "m"),
    );
    expect((await dispatcher.show(foreign.id, { user: "other-user" })).inbox).toBe(0);
    await expect(dispatcher.send(foreign.id, "x")).rejects.toMatchObject({ code: "session_not_found" });
    await expect(dispatcher.send(id, "x", { from: foreign.id })).rejects.toMatchObject({
      code: "session_not_found",
    });
  });

  it("delivery-1 are written to standard input once, even if the command is killed and started again", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    // Each run of the command reads one line, and no more.
    const { id, request } = await dispatcher.begin(
      { repo: home.main },
      script('read -r line; echo "$line" >> got; echo it has it; exec sleep 60', {
        input: "messages",
        restart: true,
      }),
    );
    const hasWritten = (times: number) =>
      until(
        () =>
          readFileSync(home.sessionDir(id, "log", `${request}.out`), "utf8").split("it has it").length - 1,
        (count) => count === times,
      );
    await dispatcher.send(id, "one");
    await until(
      async () => (await messageEvents(dispatcher, id)).length,
      (count) => count >= 3,
    );
    expect((await messageEvents(dispatcher, id)).map(([type, , certain]) => [type, certain])).toEqual([
      ["message_received", undefined],
      ["message_handed", undefined],
      ["message_entered_context", true],
    ]);
    await hasWritten(1);
    kill(home.hostPid(id) ?? 0, "SIGKILL");
    await reaches(dispatcher, id, "interrupted");
    await dispatcher.send(id, "two");
    await dispatcher.resume(id);
    await until(
      async () => (await messageEvents(dispatcher, id)).length,
      (count) => count >= 6,
    );
    // The output of the first turn is in the journal by now, and the file has begun anew.
    await hasWritten(1);
    await dispatcher.interrupt(id);
    await reaches(dispatcher, id, "paused");
    const { patch } = await dispatcher.holdfast.diffSession(id);
    expect(patch.toString().match(/"text":"(one|two)"/g)).toEqual(['"text":"one"', '"text":"two"']);
  });

  it("delivery-1 are recorded as uncertain and not delivered again if a crash left their delivery unclear", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const session = await dispatcher.holdfast.openSession({ repo: home.main });
    // As after a kill of the session process between the write and the record that it arrived.
    for (const message of ["msg_a", "msg_b"])
      await session.append("message_received", { message, from: "user:ani", text: message });
    await session.append("message_handed", { message: "msg_a" });
    await session.release();
    const spec = script("cat > got", { input: "messages" });
    await dispatcher.submit(session.id, spec);
    await until(
      async () => (await messageEvents(dispatcher, session.id)).length,
      (count) => count === 6,
    );
    // It is in the pipe; the command needs a moment to read it.
    await sleep(500);
    await dispatcher.pause(session.id);
    expect(await messageEvents(dispatcher, session.id)).toEqual([
      ["message_received", "msg_a", undefined],
      ["message_received", "msg_b", undefined],
      ["message_handed", "msg_a", undefined],
      ["message_entered_context", "msg_a", false],
      ["message_handed", "msg_b", undefined],
      ["message_entered_context", "msg_b", true],
    ]);
    const { patch } = await dispatcher.holdfast.diffSession(session.id);
    expect(patch.toString().match(/"message":"msg_."/g)).toEqual(['"message":"msg_b"']);
  });

  it("intake-1 outgoing-1 message-1 are taken in, sent and carried once if a kill left that half done", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const b = await dispatcher.holdfast.openSession({ repo: home.main });
    await b.release();
    const a = await dispatcher.holdfast.openSession({ repo: home.main });
    await dispatcher.send(a.id, "known", { id: "msg_known" });
    // One is recorded and still in the inbox. The other is recorded as sent and not in the outbox.
    await a.append("message_received", { message: "msg_known", from: "user:ani", text: "known" });
    await a.append("message_sent", { message: "msg_lost", to: b.id, text: "sent" });
    await a.release();
    for (let round = 0; round < 2; round += 1) {
      await dispatcher.submit(a.id, script("true"));
      await reaches(dispatcher, a.id, "paused");
      await dispatcher.look();
    }
    expect((await messageEvents(dispatcher, a.id)).map(([type, id]) => `${type} ${id}`)).toEqual([
      "message_received msg_known",
      "message_sent msg_lost",
    ]);
    expect(await dispatcher.show(a.id)).toMatchObject({ inbox: 0, unread: 1 });
    expect(await dispatcher.show(b.id)).toMatchObject({ inbox: 1 });
  });

  it("intake-2 are set aside if they are malformed or have the id of another one, and the next is taken in", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const session = await dispatcher.holdfast.openSession({ repo: home.main });
    await session.release();
    await dispatcher.send(session.id, "first");
    writeFileSync(home.sessionDir(session.id, "inbox/new/000000000002-msg_broken"), '{"kind":"message"}');
    writeFileSync(
      home.sessionDir(session.id, "inbox/new/000000000003-msg_liar"),
      readFileSync(
        home.sessionDir(
          session.id,
          "inbox/new",
          readdirSync(home.sessionDir(session.id, "inbox/new"))[0] ?? "",
        ),
      ),
    );
    await dispatcher.send(session.id, "last");
    await dispatcher.submit(session.id, script("true"));
    await reaches(dispatcher, session.id, "paused");
    expect((await messageEvents(dispatcher, session.id)).map(([type]) => type).sort()).toEqual([
      "message_received",
      "message_received",
      "message_set_aside",
      "message_set_aside",
    ]);
    expect(readdirSync(home.sessionDir(session.id, "inbox/aside"))).toHaveLength(2);
  });

  it("are refused if they are too long, if the inbox is full, or if the session is closed", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const session = await dispatcher.holdfast.openSession({});
    await session.release();
    await expect(dispatcher.send(session.id, "x".repeat(300_000))).rejects.toMatchObject({
      code: "message_too_large",
    });
    for (let number = 0; number < 1000; number += 1) await dispatcher.send(session.id, `message ${number}`);
    await expect(dispatcher.send(session.id, "one more")).rejects.toMatchObject({ code: "inbox_full" });
    expect((await dispatcher.show(session.id)).inbox).toBe(1000);
    await dispatcher.close(session.id);
    await expect(dispatcher.send(session.id, "x")).rejects.toMatchObject({ code: "illegal_transition" });
  });
});
