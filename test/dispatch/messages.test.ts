/**
 * Messages between sessions: how many processes carry them, and a message that grows when its secrets are
 * redacted.
 */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tryFileLock } from "../../src/util/index.ts";
import { agent, HostHome, reaches, script, typesOf, until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";

describe("messages from one session to another", () => {
  it("are carried by one process at a time; one more waits for its turn, and others return at once", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, agent("message-loop.mjs"));
    const other = await dispatcher.begin({ repo: home.main }, agent("message-loop.mjs"));
    const carrying = await until(() => tryFileLock(join(home.dir, "post.lock")));
    await dispatcher.send(id, `reply:${other.id}:meanwhile`);
    // By then the session process waits for its turn to carry messages.
    await until(() => {
      const isWaited = tryFileLock(join(home.dir, "post-next.lock"));
      isWaited?.drop();
      return !isWaited;
    });
    for (let call = 0; call < 5; call += 1) await dispatcher.look();
    expect((await dispatcher.show(other.id)).inbox).toBe(0);
    carrying?.drop();
    await until(
      () => typesOf(dispatcher, other.id),
      (types) => types.includes("message_entered_context"),
    );
    for (const one of [id, other.id]) await dispatcher.send(one, "stop");
    for (const one of [id, other.id]) await reaches(dispatcher, one, "paused");
  });
});

describe("a message", () => {
  it("outgoing-1 that is too long once its secrets are redacted is set aside, and its session goes on", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const session = await dispatcher.holdfast.openSession({ repo: home.main });
    // As after a kill of the session process before it put the message into the outbox.
    const text = "mysql://u:abcd@h\n".repeat(15_000);
    await session.append("message_sent", { message: "msg_long", to: session.id, text });
    await session.release();
    await dispatcher.submit(session.id, script("echo fine > fine"));
    await reaches(dispatcher, session.id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(session.id)}:fine`)).toBe("fine");
    const types = await typesOf(dispatcher, session.id);
    expect(types.filter((type) => type === "message_set_aside")).toHaveLength(1);
    // It is set aside only once.
    await dispatcher.submit(session.id, script("true"));
    await reaches(dispatcher, session.id, "paused");
    expect(
      (await typesOf(dispatcher, session.id)).filter((type) => type === "message_set_aside"),
    ).toHaveLength(1);
  });
});
