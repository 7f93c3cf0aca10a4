/**
 * A session process ends when it is told to, whatever keeps it busy.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { readProcessRecord } from "../../src/home/index.ts";
import { agent, HostHome, reaches, script, shown, until } from "../support/hosts.ts";
import { isDone } from "../support/outcomes.ts";

describe("a session process", () => {
  it("that is still starting obeys a pause and a close, and its task does not run", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    for (const move of ["pause", "close"] as const) {
      const session = await dispatcher.holdfast.openSession({ repo: home.main });
      await session.release();
      const submitting = dispatcher.submit(session.id, script("sleep 60")).catch(() => {});
      await until(() => dispatcher.placeOf(session.id)?.state === "granted");
      await dispatcher[move](session.id);
      await submitting;
      await sleep(500);
      const { status, pid } = await dispatcher.show(session.id);
      expect([status, pid]).toEqual([move === "pause" ? "paused" : "closed", null]);
    }
    expect(home.strays()).toEqual([]);
  });

  it("ends even if a window on its terminal reads nothing", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin(
      { repo: home.main },
      script("sleep 1; head -c 2000000 /dev/zero", { input: "terminal" }),
    );
    const path = await until(() => dispatcher.processOf(id)?.terminal);
    const window = connect(path ?? "");
    window.pause();
    await reaches(dispatcher, id, "paused");
    window.destroy();
  });

  it("ends in order when its budget is reached while a message is half written to the command", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const session = await dispatcher.holdfast.openSession({ repo: home.main, budget: { turns: 1 } });
    await session.release();
    await dispatcher.send(session.id, "x".repeat(200_000));
    await dispatcher.submit(session.id, script("sleep 1; echo kept > kept", { input: "messages" }));
    const { task } = await shown(
      dispatcher,
      session.id,
      ({ status, task }) => status === "paused" && task?.outcome !== null,
    );
    expect(task?.outcome).toBe("unverified");
    await home.quiet();
    expect(home.strays()).toEqual([]);
  });

  it("intake-3 with a flooded inbox can still be interrupted and given tasks", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("sleep 60"));
    await reaches(dispatcher, id, "running");
    mkdirSync(home.sessionDir(id, "inbox/tmp"), { recursive: true });
    for (const part of ["cur", "new"]) mkdirSync(home.sessionDir(id, "inbox", part), { recursive: true });
    for (let number = 1; number <= 1300; number += 1) {
      const message = `msg_${String(number).padStart(5, "0")}`;
      const text = JSON.stringify({ kind: "message", id: message, from: "x", at: "", to: id, text: "" });
      writeFileSync(home.sessionDir(id, `inbox/new/${String(number).padStart(12, "0")}-${message}`), text);
    }
    await dispatcher.submit(id, script("echo through > through"));
    await dispatcher.interrupt(id);
    await shown(dispatcher, id, ({ task }) => task?.number === 2 && isDone(task));
    // Messages that there is no room for yet stay in the inbox, and count as unread, too.
    expect(await dispatcher.show(id)).toMatchObject({ unread: 1300, inbox: 300 });
    await reaches(dispatcher, id, "paused");
  });

  it("refuses requests of a command that sends many of them without waiting for the answers", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, agent("message-loop.mjs"));
    const door = await until(
      () => join(readProcessRecord(home.sessionDir(id))?.bell ?? "", "..", "door", "socket"),
      existsSync,
    );
    const token = readFileSync(home.sessionDir(id, "token"), "utf8").trim();
    const socket = connect(door);
    let answers = "";
    socket.on("data", (chunk) => {
      answers += chunk;
    });
    socket.on("error", () => {});
    const question = `GET /v1/inbox?wait=50 HTTP/1.1\r\nhost: door\r\nauthorization: Bearer ${token}\r\n\r\n`;
    socket.write(question.repeat(50));
    // Long before any of them has been answered.
    const isRefused = () => socket.closed || socket.destroyed || answers.includes(" 429 ");
    await until(isRefused, Boolean, 10_000);
    socket.destroy();
    // It still answers others.
    await dispatcher.send(id, "stop");
    await reaches(dispatcher, id, "paused");
  });
});
