/**
 * Messages that were not taken in yet are stored beside a session's journal, and are exported with it.
 */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import { encodeEnvelope, Maildir } from "../../src/mail/index.ts";
import { Intake } from "../../src/task/inbox/intake.ts";
import { realDisk } from "../../src/util/index.ts";
import { readExport } from "../conformance/independent-reader.ts";
import { runCli } from "../support/cli.ts";
import { contentOf, forge } from "../support/exports.ts";
import { memoryDir, plainPorts, TestHome } from "../support/home.ts";
import { script } from "../support/hosts.ts";

const token = () => ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_");

describe("messages in an export", () => {
  const message = (id: string, text: string) =>
    encodeEnvelope({ kind: "message", id, from: "user:ani", at: "2026-01-01T00:00:00.000Z", to: "x", text });

  it("import-3 an export takes the inbox's messages in order; an import for another user drops and counts them", async () => {
    using home = new TestHome();
    const dispatcher = await Dispatcher.open({ home: home.dir });
    const hf = dispatcher.holdfast;
    const session = await hf.openSession({ user: "ani" });
    const ani = { user: "ani" };
    await session.append("message_received", { message: "msg_0", from: "user:ani", text: "taken in" });
    await session.pause();
    for (const text of ["first", `the token is ${token()}`, "third"])
      await dispatcher.send(session.id, text, ani);
    const inbox = new Maildir(realDisk, home.sessionDir(session.id, "inbox"));
    const stamp = { from: "user:ani", at: "2026-01-01T00:00:00.000Z" };
    const spec = { ...script("true"), sandbox: true };
    await inbox.put("task_1", encodeEnvelope({ ...stamp, kind: "task", id: "task_1", spec, priority: 0 }));
    await inbox.put("ask_1", encodeEnvelope({ ...stamp, kind: "pause", id: "ask_1", epoch: 1 }));
    await inbox.put("msg_bad", Buffer.from("no envelope"));
    const names = (await inbox.waiting()).slice(0, 3);
    // The first message a second time, as two senders at the same moment would leave it.
    const [first = ""] = names;
    writeFileSync(join(inbox.newDir, first.replace("1-", "9-")), (await inbox.read(first)) ?? "");
    await hf.exportSession(session.id, home.join("out"), ani);
    const { files } = contentOf(home.join("out"));
    expect([...files.keys()].filter((path) => path.startsWith("inbox/"))).toEqual(
      names.map((name) => `inbox/new/${name}`),
    );
    expect(readExport(home.join("out")).session).toBe(session.id);

    using own = new TestHome();
    const same = await Dispatcher.open({ home: own.dir });
    await same.holdfast.importSession(home.join("out"), ani);
    expect(await same.show(session.id, ani)).toMatchObject({ unread: 4, inbox: 3 });
    const moved = await same.holdfast.resumeSession(session.id, ani);
    const there = new Maildir(realDisk, own.sessionDir(session.id, "inbox"));
    for (const name of names) expect(await there.read(name)).toEqual(await inbox.read(name));
    const none = async () => {};
    const nothing = {
      interrupt() {},
      pause() {},
      shell() {},
      cancel: none,
      allowHost: none,
      decide: none,
      drained() {},
    };
    await new Intake(moved, there, nothing).look();
    expect(moved.state.unread).toHaveLength(4);
    const texts: unknown[] = [];
    for await (const { type, data } of same.holdfast.readJournal(session.id, ani))
      if (type === "message_received") texts.push(data["text"]);
    expect(texts).toEqual(["taken in", "first", "the token is [redacted:github]", "third"]);
    await moved.pause();

    using others = new TestHome();
    const { status, stderr } = await runCli(others.dir, ["import", home.join("out"), "--user", "bo"]);
    expect([status, stderr]).toEqual([0, "dropped 4 unread messages for ani\n"]);
    using bos = new TestHome();
    const bo = await Dispatcher.open({ home: bos.dir });
    await bo.holdfast.importSession(home.join("out"), { user: "bo" });
    expect(await bo.show(session.id, { user: "bo" })).toMatchObject({ unread: 0, inbox: 0 });
    expect(existsSync(bos.sessionDir(session.id, "inbox"))).toBe(false);
  });

  it("import-3 an export has each message exactly once while the session takes messages in", async () => {
    using home = new TestHome(memoryDir);
    const hf = await home.open(plainPorts);
    const session = await hf.openSession();
    const inbox = new Maildir(realDisk, home.sessionDir(session.id, "inbox"));
    const none = async () => {};
    const nothing = {
      interrupt() {},
      pause() {},
      shell() {},
      cancel: none,
      allowHost: none,
      decide: none,
      drained() {},
    };
    const intake = new Intake(session, inbox, nothing);
    const put: string[] = [];
    let isOver = false;
    const busy = (async () => {
      while (!isOver) {
        for (let count = 0; count < 40; count += 1) {
          const id = `msg_${put.length}`;
          await inbox.put(id, message(id, id));
          put.push(id);
        }
        await intake.look();
        for (const { message: read } of session.state.unread)
          await session.append("message_entered_context", { message: read, certain: true });
      }
    })();
    for (let round = 0; round < 25; round += 1) {
      const before = [...put];
      const file = home.join(`out-${round}`);
      await hf.exportSession(session.id, file);
      const records = readExport(file).records.flatMap(({ type, data }) =>
        type === "message_received" ? [String(data["message"])] : [],
      );
      const lying = [...contentOf(file).files.keys()].flatMap((path) => /-(msg_\d+)$/.exec(path)?.[1] ?? []);
      const all = [...records, ...lying];
      expect(new Set(all).size).toBe(all.length);
      expect(before.filter((id) => !all.includes(id))).toEqual([]);
    }
    isOver = true;
    await busy;
    await session.pause();
  });

  it("import-1 import-2 an import refuses inbox files that are not messages, duplicates and too many messages", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession();
    await session.append("message_received", { message: "msg_0", from: "user:ani", text: "taken in" });
    await session.pause();
    await hf.exportSession(session.id, home.join("out"));
    const content = contentOf(home.join("out"));
    using other = new TestHome();
    const there = await other.open();
    const name = (number: number, id: string) => `inbox/new/${String(number).padStart(12, "0")}-${id}`;
    const spec = { ...script("true"), sandbox: true };
    const stamp = { from: "user:ani", at: "2026-01-01T00:00:00.000Z" };
    const good = Buffer.from(message("msg_1", "x"));
    const task = Buffer.from(encodeEnvelope({ ...stamp, kind: "task", id: "msg_1", spec, priority: 0 }));
    const many = Array.from({ length: 2001 }, (_, index): [string, Buffer] => [
      name(index, `msg_${index}`),
      good,
    ]);
    const wrong: [string, string, [string, Buffer][]][] = [
      ["a task", "export_invalid", [[name(1, "msg_1"), task]]],
      ["no envelope", "export_invalid", [[name(1, "msg_1"), Buffer.from("{}")]]],
      ["another id", "export_invalid", [[name(1, "msg_2"), good]]],
      ["taken in before", "export_invalid", [[name(1, "msg_0"), Buffer.from(message("msg_0", "x"))]]],
      [
        "the same twice",
        "export_invalid",
        [
          [name(1, "msg_1"), good],
          [name(2, "msg_1"), good],
        ],
      ],
      ["too long", "export_refused", [[name(1, "msg_1"), Buffer.alloc(1024 * 1024 + 1)]]],
      ["too many", "export_refused", many],
      ["no number", "export_refused", [["inbox/new/msg_1", good]]],
      ["a climbing name", "export_refused", [["inbox/new/000000000001-../../x", good]]],
      ["another box", "export_refused", [["inbox/cur/msg_1", good]]],
    ];
    for (const [what, code, more] of wrong) {
      const tried = forge(other.join("tried"), { ...content, files: new Map([...content.files, ...more]) });
      await expect(there.importSession(tried), what).rejects.toMatchObject({ code });
    }
    expect(await there.listSessions()).toEqual([]);
    expect(readdirSync(join(other.dir, "staging"))).toEqual([]);
  });
});
