import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeEnvelope, encodeEnvelope, idOf, Maildir } from "../../src/mail/index.ts";
import { realDisk } from "../../src/util/index.ts";
import { memoryDir, TempDir } from "../support/home.ts";
import { PowerLoss, PowerLossDisk } from "../support/power-loss-disk.ts";

const bytes = (text: string) => Buffer.from(text);
const waitingIn = async (mail: Maildir) => (await mail.waiting()).map(idOf);

describe("a maildir", () => {
  it("mail-1 an acknowledged message survives a power loss at any step, and no message is there in part", async () => {
    for (let dieAt = 1; ; dieAt += 1) {
      using dir = new TempDir(memoryDir);
      const disk = new PowerLossDisk(dir.join("attic"), dieAt);
      const mail = new Maildir(disk, dir.join("inbox"));
      const acknowledged: string[] = [];
      let isDead = false;
      try {
        for (const id of ["msg_1", "msg_2", "msg_3"]) {
          await mail.put(id, bytes(`text of ${id}`));
          acknowledged.push(id);
        }
      } catch (error) {
        if (!(error instanceof PowerLoss)) throw error;
        isDead = true;
      }
      await disk.losePower(() => true);
      const after = new Maildir(realDisk, dir.join("inbox"));
      const names = await after.waiting();
      expect(names.map(idOf).slice(0, acknowledged.length), `power went at step ${dieAt}`).toEqual(
        acknowledged,
      );
      for (const name of names)
        expect((await after.read(name))?.toString(), `step ${dieAt}`).toBe(`text of ${idOf(name)}`);
      if (!isDead) return;
    }
  });

  it("mail-2 messages are listed in the order in which they were put in, whatever is taken out", async () => {
    const step = fc.oneof(fc.constant("put" as const), fc.nat({ max: 3 }));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        using dir = new TempDir(memoryDir);
        // The numbers in the names start again when the directory is empty; the order must not depend on
        // that.
        const mail = new Maildir(realDisk, dir.join("inbox"));
        let put = 0;
        let taken = 0;
        for (const one of steps) {
          if (one === "put") {
            put += 1;
            await mail.put(`msg_${put}`, bytes(""));
            continue;
          }
          const names = (await mail.waiting()).slice(0, one);
          expect(names).toHaveLength(Math.min(one, put - taken));
          for (const name of names) expect(idOf(name)).toBe(`msg_${++taken}`);
          await mail.done(names);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("mail-3 accepts the same id once, while it waits and after it was taken in", async () => {
    using dir = new TempDir();
    const mail = new Maildir(realDisk, dir.join("inbox"));
    expect(await mail.put("msg_a", bytes("1"))).toEqual({ isNew: true });
    expect(await mail.put("msg_a", bytes("2"))).toEqual({ isNew: false });
    await mail.done(await mail.waiting());
    expect(await mail.put("msg_a", bytes("3"))).toEqual({ isNew: false });
    expect(await waitingIn(mail)).toEqual([]);
  });

  it("can read an envelope before, while and after it is taken in, until it is emptied", async () => {
    using dir = new TempDir(memoryDir);
    const mail = new Maildir(realDisk, dir.join("inbox"));
    await mail.put("task_1", bytes("the task"));
    expect((await mail.readTaken("task_1"))?.toString()).toBe("the task");
    const names = await mail.waiting();
    const [read] = await Promise.all([mail.readTaken("task_1"), mail.done(names, () => true)]);
    expect(read?.toString()).toBe("the task");
    expect((await mail.readTaken("task_1"))?.toString()).toBe("the task");
    await mail.empty("task_1");
    expect(await mail.readTaken("task_1")).toBeUndefined();
  });

  it("remembers the last thousand ids, and forgets older ones", async () => {
    using dir = new TempDir(memoryDir);
    const mail = new Maildir(realDisk, dir.join("inbox"));
    for (let number = 1; number <= 2003; number += 1)
      await mail.put(`msg_${String(number).padStart(5, "0")}`, bytes(""));
    await mail.done(await mail.waiting());
    await mail.forgetOld();
    expect(await mail.put("msg_01004", bytes(""))).toEqual({ isNew: false });
    expect(await mail.put("msg_00903", bytes(""))).toEqual({ isNew: true });
  });

  it("lists a link, a directory or a file that is too large, but does not read it", async () => {
    using dir = new TempDir();
    const mail = new Maildir(realDisk, dir.join("inbox"));
    await mail.put("msg_a", bytes("fine"));
    writeFileSync(dir.join("secret"), "secret");
    symlinkSync(dir.join("secret"), dir.join("inbox/new/000000000002-msg_link"));
    mkdirSync(dir.join("inbox/new/000000000003-msg_dir"));
    writeFileSync(dir.join("inbox/new/000000000004-msg_big"), Buffer.alloc(2 * 1024 * 1024));
    const read = await Promise.all((await mail.waiting()).map((name) => mail.read(name)));
    expect(read.map((one) => one?.toString())).toEqual(["fine", undefined, undefined, undefined]);
    await mail.setAside("000000000002-msg_link");
    expect(await waitingIn(mail)).toEqual(["msg_a", "msg_dir", "msg_big"]);
  });

  it("decodes what it encoded as an envelope, and nothing else; refuses a text that is too long", () => {
    const envelope = {
      kind: "message",
      id: "msg_a",
      from: "user:ani",
      at: "now",
      to: "sess",
      text: "a\u0000b",
    } as const;
    expect(decodeEnvelope(Buffer.from(encodeEnvelope(envelope)))).toEqual(envelope);
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), fc.uint8Array()), (value) => {
        expect(decodeEnvelope(Buffer.from(value as string))).toBeUndefined();
      }),
    );
    expect(() => encodeEnvelope({ ...envelope, text: "x".repeat(300_000) })).toThrow("is longer than");
  });
});
