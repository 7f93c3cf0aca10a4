import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { TestChild } from "../support/children.ts";
import { sessionWithTurns, TestHome } from "../support/home.ts";

const spoke = (line: string) => line.startsWith("owner") || line.startsWith("refused");

describe("ownership", () => {
  it("journal-3 exactly one of several processes that try to own a session wins, and the others learn its pid", async () => {
    using home = new TestHome();
    const id = await sessionWithTurns(await home.open(), 1);
    for (let round = 0; round < 6; round += 1) {
      const children = Array.from({ length: 4 }, () => new TestChild("owner.ts", [home.dir, id]));
      try {
        const answers = await Promise.all(children.map((child) => child.line(spoke)));
        const owners = children.filter((_, index) => answers[index]?.startsWith("owner"));
        expect(owners, answers.join(" | ")).toHaveLength(1);
        const losers = answers.filter((answer) => answer.startsWith("refused"));
        expect(losers).toEqual(Array(3).fill(`refused session_owned ${owners[0]?.pid}`));
      } finally {
        for (const child of children) await child[Symbol.asyncDispose]();
      }
    }
    const { findings } = await (await home.open()).auditSession(id);
    expect(findings).toEqual([]);
  });

  it("journal-3 a second handle in the owner's process is refused, even with takeOver", async () => {
    using home = new TestHome();
    const hf = await home.open();
    await using session = await hf.openSession();
    await expect(hf.resumeSession(session.id)).rejects.toMatchObject({
      code: "session_owned",
      facts: { pid: process.pid },
    });
    await expect(hf.resumeSession(session.id, { takeOver: true })).rejects.toMatchObject({
      code: "session_owned",
    });
    expect((await hf.showSession(session.id)).status).toBe("open");
  });

  it("a killed owner's session can be resumed, because the lock ends with its process", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 1);
    await using child = new TestChild("owner.ts", [home.dir, id]);
    await child.line(spoke);
    expect((await hf.showSession(id)).pid).toBe(child.pid);
    child.kill("SIGKILL");
    await child.ended();
    await using session = await hf.resumeSession(id);
    expect(session.state.turns).toBe(1);
  });

  it("journal-3 a take-over ends a stopped owner, so that it can't append when it wakes", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 1);
    await using stopped = new TestChild("owner.ts", [home.dir, id]);
    await stopped.line(spoke);
    stopped.send("append 1");
    await stopped.line((line) => line.startsWith("appended"));
    stopped.kill("SIGSTOP");
    stopped.send("append 2");
    {
      await using taker = new TestChild("owner.ts", [home.dir, id, "take-over"]);
      expect(await taker.line(spoke)).toBe(`owner ${taker.pid}`);
      await stopped.ended();
      taker.send("append 3");
      await taker.line((line) => line.startsWith("appended"));
      taker.send("exit");
      await taker.ended();
    }
    stopped.kill("SIGCONT");
    const numbers = [];
    for await (const { type, data } of hf.readJournal(id))
      if (type === "custom") numbers.push(data["number"]);
    expect(numbers).toEqual([1, 3]);
  });

  it("journal-3 an owner that lost its lock unnoticed acknowledges nothing once the next owner has begun", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 1);
    await using careless = new TestChild("owner.ts", [home.dir, id]);
    await careless.line(spoke);
    careless.send("append 1");
    await careless.line((line) => line.startsWith("appended"));
    careless.send("copy-lock");
    await careless.line((line) => line === "copied");

    const session = await hf.resumeSession(id);
    careless.send("append 2");
    expect(await careless.line((line) => line.startsWith("failed"))).toBe("failed session_taken_over");
    await session.append("custom", { name: "from", number: 3 });
    await session.pause();
    const numbers = [];
    for await (const { type, data } of hf.readJournal(id))
      if (type === "custom") numbers.push(data["number"]);
    expect(numbers).toEqual([1, 3]);
    expect((await hf.auditSession(id)).findings).toEqual([]);
  });

  it("owner-1 lock-1 the owner still holds owner.lock after all other operations of its home", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession({ title: "held" });
    const turn = await session.beginTurn("x");
    await turn.end();
    await hf.listSessions();
    await hf.search(["held"]);
    await hf.auditSession(session.id);
    await hf.examine();
    await hf.gc();
    await hf.exportSession(session.id, home.join("e.holdfast"));
    await (await hf.forkSession(session.id)).release();
    await using child = new TestChild("owner.ts", [home.dir, session.id]);
    expect(await child.line(spoke)).toBe(`refused session_owned ${process.pid}`);
    await session.pause();
  });

  it("owner-2 owner.json names the owner's pid, and a clean release removes it", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession();
    const path = home.sessionDir(session.id, "owner.json");
    expect(JSON.parse(readFileSync(path, "utf8")).pid).toBe(process.pid);
    await session.release();
    expect(existsSync(path)).toBe(false);
  });
});
