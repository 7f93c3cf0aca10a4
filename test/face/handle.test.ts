/**
 * What a handle and a home do, over the library as it is published: real sessions, with processes where they have some.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { LibraryHome } from "../support/library.ts";

const never = () => new AbortController().signal;

async function withTurns(home: LibraryHome, turns: number): Promise<string> {
  const hf = await home.holdfast();
  await using own = await hf.openSession({ title: "turns" });
  for (let at = 1; at <= turns; at += 1) {
    const turn = await own.beginTurn(`input ${at}`);
    await turn.addMessage("assistant", `answer ${at}`);
    await turn.end();
  }
  return own.id;
}

describe.runIf(hasSandbox)("a handle of a session", () => {
  it("watch gives records and output until the last process left, and follow goes on until its signal", async () => {
    using home = new LibraryHome();
    const hf = await home.holdfast();
    await using opened = await hf.openSession({ repo: home.main, title: "watched" });
    await opened.pause();
    const handle = await hf.session(opened.id);
    const stop = new AbortController();
    const followed: number[] = [];
    const following = (async () => {
      for await (const { seq, type } of handle.follow({ fromSeq: 1, signal: stop.signal })) {
        followed.push(seq);
        if (type === "task_ended") stop.abort();
      }
    })();
    await handle.run({ command: ["sh", "-c", "while :; do echo said; sleep 0.1; done"] });
    const kinds = new Set<string>();
    let output = "";
    for await (const event of handle.watch({ signal: never() })) {
      kinds.add(event.kind);
      if (event.kind !== "output") continue;
      if (output === "") await handle.interrupt();
      output += event.chunk;
    }
    expect(kinds).toContain("record");
    expect(kinds).toContain("left");
    expect(output).toContain("said");
    await following;
    expect(followed).toEqual(followed.map((_, index) => index + 1));
  });
});

describe("a handle of a session", () => {
  it("rotateToken and revokeToken change the token that its processes have", async () => {
    using home = new LibraryHome();
    const hf = await home.holdfast();
    const id = await withTurns(home, 1);
    const token = () => readFileSync(home.sessionDir(id, "token"), "utf8").trim();
    const before = token();
    await (await hf.session(id)).rotateToken();
    expect(token()).toMatch(/^hf/);
    expect(token()).not.toBe(before);
    await (await hf.session(id)).revokeToken();
    expect(token()).toBe("revoked");
  });

  it("audit finds damage, and repair makes a new session of the good records", async () => {
    using home = new LibraryHome();
    const hf = await home.holdfast();
    const id = await withTurns(home, 3);
    const handle = await hf.session(id);
    expect(await handle.audit()).toEqual({ isSound: true, artifacts: 0, snapshots: 0, findings: [] });
    const path = home.sessionDir(id, "journal/000001.jsonl");
    writeFileSync(path, readFileSync(path, "utf8").replace("input 2", "input X"));
    rmSync(home.sessionDir(id, "fold.json"));
    expect((await handle.view()).damage).toMatchObject({ file: "journal/000001.jsonl" });
    const audit = await handle.audit();
    expect(audit.isSound).toBe(false);
    expect(Object.keys(audit.findings[0] ?? {}).sort()).toEqual(["file", "offset", "reason"]);
    const repaired = await hf.session((await handle.repair()) ?? "");
    expect((await Array.fromAsync(repaired.turns())).map(({ turn }) => turn)).toEqual([1]);
    expect((await hf.session(id)).id).toBe(id);
  });

  it("export and importSession carry a session to another home, paused", async () => {
    using home = new LibraryHome();
    using other = new LibraryHome();
    const id = await withTurns(home, 2);
    const file = home.join("session.holdfast");
    expect(await (await (await home.holdfast()).session(id)).export(file)).toEqual({ leftOut: [] });
    const imported = await (await other.holdfast()).importSession(file);
    expect(await imported.view()).toMatchObject({ id, turns: 2, why: expect.any(String), pid: null });
    expect((await imported.conversation()).map(({ role }) => role)).toEqual([
      ...["user", "assistant", "user", "assistant"],
    ]);
  });

  it("listSessions finds sessions by how they stand, as their view shows it", async () => {
    using home = new LibraryHome();
    const hf = await home.holdfast();
    const paused = await withTurns(home, 1);
    await using closed = await hf.openSession({ title: "closed" });
    await closed.close();
    await using opened = await hf.openSession({ title: "opened" });
    const shown = await hf.listSessions();
    expect(shown.map(({ id, standing }) => [id, standing])).toEqual([
      [paused, "paused"],
      [closed.id, "closed"],
      [opened.id, "working"],
    ]);
    for (const { id, standing } of shown)
      expect((await hf.listSessions({ standing: [standing] })).map((one) => one.id)).toEqual([id]);
    expect(await hf.listSessions({ standing: [] })).toEqual([]);
    expect(await hf.listSessions({ standing: ["new", "closed"], tags: ["x"] })).toEqual([]);
  });

  it("setLimits sets and removes limits of the home, one by one", async () => {
    using home = new LibraryHome();
    const hf = await home.holdfast();
    await hf.setLimits({ maxSessions: 2 });
    await hf.setLimits({ maxMemoryBytes: 4_000_000_000 });
    expect(await hf.limits()).toEqual({ maxSessions: 2, maxMemoryBytes: 4_000_000_000 });
    await hf.setLimits({ maxSessions: null });
    expect(await (await home.holdfast()).limits()).toEqual({
      maxSessions: null,
      maxMemoryBytes: 4_000_000_000,
    });
  });

  it.runIf(hasSandbox)(
    "handOff gives the files to a person, and takeBack brings their changes back",
    async () => {
      using home = new LibraryHome();
      const hf = await home.holdfast();
      await using own = await hf.openSession({ repo: home.main, title: "handed" });
      const task = await own.startTask();
      await task.runTurn(["sh", "-c", "echo agent > made"]);
      await task.end("done");
      await own.pause();
      const handle = await hf.session(own.id);
      const given = await handle.handOff({ to: "bo", directory: home.join("theirs") });
      expect(given).toEqual({ directory: home.join("theirs"), to: "bo" });
      writeFileSync(join(given.directory, "made"), "a person\n");
      const returned = await handle.takeBack();
      expect(returned).toEqual({ turn: 2, isChanged: true, branch: expect.any(String) });
      expect(String((await handle.diff()).patch)).toContain("+a person");
    },
  );
});

describe("a session that this process owns", () => {
  it("calls an observer with records that are on disk, until that is stopped", async () => {
    using home = new LibraryHome();
    const hf = await home.holdfast();
    await using own = await hf.openSession({ title: "observed" });
    const seen: string[] = [];
    const stop = own.observe((records) => {
      for (const { type, data } of records) if (type === "custom") seen.push(data.name);
    });
    await own.note("heard");
    stop();
    await own.note("unheard");
    expect(seen).toEqual(["heard"]);
    const noted = (await Array.fromAsync(hf.readJournal(own.id))).filter(({ type }) => type === "custom");
    expect(noted).toHaveLength(2);
  });
});

describe("a budget", () => {
  it("is counted with what the open turn has used, and each turn is an expense", async () => {
    using home = new LibraryHome();
    const hf = await home.holdfast();
    await using own = await hf.openSession({ budget: { usd: 1 } });
    const turn = await own.beginTurn("spend");
    expect(turn.budgetLeft()).toMatchObject({ left: { usd: 1 }, reached: [] });
    await turn.reportUsage({ inputTokens: 7, usd: 1, model: "a-model" });
    expect(turn.budgetLeft()).toMatchObject({ left: { usd: 0 }, reached: ["usd"] });
    expect(own.budgetLeft().reached).toEqual(["usd"]);
    await turn.end();
    const handle = await hf.session(own.id);
    expect(await handle.expenses()).toMatchObject([
      { inputTokens: 7, outputTokens: 0, usd: 1, turns: 0, model: "a-model", agent: null },
      { inputTokens: 0, usd: 0, turns: 1, model: null },
    ]);
    await expect(own.beginTurn("more")).rejects.toMatchObject({ code: "budget_reached" });
  });

  it("raiseBudget adds to the limits, of a session that is owned and of one that is at rest", async () => {
    using home = new LibraryHome();
    const hf = await home.holdfast();
    await using own = await hf.openSession({ budget: { turns: 1, usd: 2 } });
    await (await own.beginTurn("one")).end();
    await expect(own.beginTurn("two")).rejects.toMatchObject({ code: "budget_reached" });
    await own.raiseBudget({ turns: 1 });
    await (await own.beginTurn("two")).end();
    await expect(own.raiseBudget({ tokens: 5 })).rejects.toThrow("no limit of tokens to raise");
    await own.pause();
    const handle = await hf.session(own.id);
    await handle.raiseBudget({ usd: 0.5 });
    expect((await handle.view()).budget).toEqual({ turns: 2, usd: 2.5 });
    // To take it up again with other limits is to set them.
    await using again = await hf.resumeSession(own.id, { budget: { turns: 3 } });
    expect(again.budgetLeft().left).toMatchObject({ turns: 1 });
    await expect(hf.session(own.id).then((one) => one.view())).resolves.toMatchObject({
      budget: { turns: 3, usd: 2.5 },
    });
  });
});
