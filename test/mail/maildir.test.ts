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
  it("mail-1 what was acknowledged is there, whole, wherever power goes; and what was not is there whole or not at all", async () => {
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

  it("mail-2 what is put in later is listed later, whatever is taken out meanwhile", async () => {
    const step = fc.oneof(fc.constant("put" as const), fc.nat({ max: 3 }));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        using dir = new TempDir(memoryDir);
        // The numbers in the names begin anew when the directory is empty; the order must not depend on that.
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
          for (const name of names) expect(idOf(name)).toBe(`msg_${++taken}`);
          await mail.done(names);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("mail-3 the same id is put in once, while it waits and after it was taken in", async () => {
    using dir = new TempDir();
    const mail = new Maildir(realDisk, dir.join("inbox"));
    expect(await mail.put("msg_a", bytes("1"))).toEqual({ isNew: true });
    expect(await mail.put("msg_a", bytes("2"))).toEqual({ isNew: false });
    await mail.done(await mail.waiting());
    expect(await mail.put("msg_a", bytes("3"))).toEqual({ isNew: false });
    expect(await waitingIn(mail)).toEqual([]);
  });

  it("has what is on record to read before, while and after it is moved away, until it is emptied", async () => {
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

  it("remembers the last thousand, and drops what is older", async () => {
    using dir = new TempDir(memoryDir);
    const mail = new Maildir(realDisk, dir.join("inbox"));
    for (let number = 1; number <= 2003; number += 1)
      await mail.put(`msg_${String(number).padStart(5, "0")}`, bytes(""));
    await mail.done(await mail.waiting());
    await mail.forgetOld();
    expect(await mail.put("msg_01004", bytes(""))).toEqual({ isNew: false });
    expect(await mail.put("msg_00903", bytes(""))).toEqual({ isNew: true });
  });

  it("what is no file of ours can be listed and is not read: a link, a directory, a giant", async () => {
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

  it("an envelope comes back as it was; whatever else is not one", () => {
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
