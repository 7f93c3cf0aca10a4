import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { JournalRecord } from "../../src/contract/record.ts";
import { MACHINE_VERSION } from "../../src/session/index.ts";
import { sealJson } from "../../src/util/index.ts";
import { sessionWithTurns, TestHome } from "../support/home.ts";

const journal = (records: AsyncIterable<JournalRecord>) => Array.fromAsync(records);
const FAKE_TOKEN = `ghp_${"abcdefghijABCDEFGHIJ0123456789abcdef"}`;

describe("a session", () => {
  it("has the same state and history after pause and resume", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 3, { title: "three" });
    const session = await hf.resumeSession(id);
    expect(session.state).toMatchObject({
      title: "three",
      turns: 3,
      status: "open",
      spent: { inputTokens: 300, outputTokens: 30, turns: 3 },
    });
    const history = await Array.fromAsync(session.history());
    expect(history.map(({ turn, input, outcome }) => [turn, input, outcome])).toEqual(
      [1, 2, 3].map((turn) => [turn, `input ${turn}`, "completed"]),
    );
    expect(history[1]?.entries).toEqual([
      {
        kind: "tool_call",
        call: "2.1",
        tool: "read_file",
        args: { path: "file-2" },
        outcome: "ok",
        output: "content 2",
      },
      { kind: "message", role: "assistant", content: "answer 2" },
    ]);
    await session.close();
    expect((await hf.showSession(id)).status).toBe("closed");
  });

  it("append resolves with the seq and hash that the journal has for the record", async () => {
    using home = new TestHome();
    const hf = await home.open();
    await using session = await hf.openSession();
    const { seq, hash } = await session.append("custom", { name: "mine", anything: [1, { deep: true }] });
    const [record] = (await journal(hf.readJournal(session.id))).slice(-1);
    expect(record).toMatchObject({
      seq,
      hash,
      type: "custom",
      data: { name: "mine", anything: [1, { deep: true }] },
    });
    expect(session.state).toMatchObject({ seq, hash });
  });

  it("refuses invalid events with an error code, and changes neither state nor journal", async () => {
    using home = new TestHome();
    const hf = await home.open();
    await using session = await hf.openSession();
    const before = session.state;
    const append = session.append.bind(session) as (type: string, data: unknown) => Promise<unknown>;
    const circular: Record<string, unknown> = { name: "c" };
    circular["self"] = circular;
    const deep = JSON.parse(`${"[".repeat(3000)}${"]".repeat(3000)}`);
    const bad: [string, string, unknown][] = [
      ["unknown_event", "session_teleported", {}],
      ["unknown_event", "__proto__", {}],
      ["invalid_data", "custom", {}],
      ["invalid_data", "custom", undefined],
      ["invalid_data", "custom", { name: "c", value: 1n }],
      ["invalid_data", "custom", circular],
      ["invalid_data", "custom", { name: "c", deep }],
      ["invalid_data", "custom", { name: "c", field: { $blob: { sha256: "x" } } }],
      ["invalid_data", "turn_started", { turn: 7, input: "x" }],
      ["invalid_data", "turn_started", { turn: 1 }],
      ["turn_closed", "message_added", { turn: 1, role: "assistant", content: "x" }],
      ["illegal_transition", "session_returned", { by: "me" }],
      ["illegal_transition", "session_opened", { session: session.id, user: "me" }],
      [
        "record_too_large",
        "custom",
        {
          name: "c",
          ...Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`field${index}`, index])),
        },
      ],
    ];
    for (const [code, type, data] of bad)
      await expect(append(type, data), `${type} ${code}`).rejects.toMatchObject({ code });
    expect(session.state).toEqual(before);
    expect(await journal(hf.readJournal(session.id))).toHaveLength(1);
  });

  it("returns lone surrogates, long text and ten-megabyte payloads exactly as they were appended", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession();
    const payloads = [
      "\ud83d",
      `\udc00${"x".repeat(5000)}`,
      "é".repeat(3000),
      "y".repeat(10 * 1024 * 1024),
      { list: Array(3000).fill("\u0000\u2028") },
      "z".repeat(4096),
    ];
    for (const payload of payloads) await session.append("custom", { name: "p", payload });
    await session.close();
    const back = (await journal(hf.readJournal(session.id)))
      .filter(({ type }) => type === "custom")
      .map(({ data }) => data["payload"]);
    expect(back).toEqual(payloads);
    expect((await hf.auditSession(session.id)).findings).toEqual([]);
  });

  it("is shown as waiting while a request is pending, and as paused after its release", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession();
    const fingerprint = "f".repeat(64);
    const ask = (approval: string, expiresAt: string) =>
      session.append("approval_requested", { approval, fingerprint, tool: "push", args: {}, expiresAt });
    await ask("late", "2020-01-01T00:00:00.000Z");
    await ask("timely", "2999-01-01T00:00:00.000Z");
    expect((await hf.showSession(session.id)).status).toBe("waiting");
    const turn = await session.beginTurn("meanwhile");
    await turn.end();
    await session.append("approval_granted", { approval: "timely", by: "ani", grant: {} });
    await expect(
      session.append("approval_granted", { approval: "late", by: "ani", grant: {} }),
    ).rejects.toMatchObject({ code: "invalid_data" });
    expect((await hf.showSession(session.id)).status).toBe("waiting");
    await session[Symbol.asyncDispose]();
    expect((await hf.showSession(session.id)).status).toBe("paused");
    const again = await hf.resumeSession(session.id);
    expect((await hf.showSession(session.id)).status).toBe("waiting");
    await again.append("approval_expired", { approval: "late" });
    expect((await hf.showSession(session.id)).status).toBe("open");
    await again.release();
  });

  it("fold-cache-2 ignores the cached fold of an earlier version, which stored waiting as a status", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession();
    await session.append("question_asked", { question: "q1", text: "which?" });
    const { state, position } = session;
    await session.release();
    const stored = { ...state, status: "waiting", pending: { q1: "question" } };
    writeFileSync(
      home.sessionDir(session.id, "fold.json"),
      sealJson({ machine: MACHINE_VERSION - 1, position, state: stored }),
    );
    expect(await hf.showSession(session.id)).toMatchObject({
      status: "waiting",
      pending: { q1: { kind: "question" } },
    });
    await using again = await hf.resumeSession(session.id);
    expect(again.state).toMatchObject({ status: "open", pending: { q1: { kind: "question" } } });
  });

  it("journal-5 resume closes a turn that a crash cut off, and its open calls end as interrupted", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession();
    const turn = await session.beginTurn("deploy");
    await (await turn.callTool("build", {})).returned("built");
    await turn.callTool("push", { remote: "origin" });
    await turn.callTool("notify", {});
    expect((await hf.showSession(session.id)).status).toBe("running");
    expect(await Array.fromAsync(hf.readHistory(session.id))).toEqual([]);
    // To the session this is a crash: the handle is released without another record.
    await session.release();
    expect((await hf.showSession(session.id)).status).toBe("interrupted");

    await using resumed = await hf.resumeSession(session.id);
    expect(resumed.state.openTurn).toBeNull();
    const [only] = await Array.fromAsync(resumed.history());
    expect(only).toMatchObject({ turn: 1, outcome: "interrupted" });
    expect(only?.entries).toMatchObject([
      { tool: "build", outcome: "ok", output: "built" },
      { tool: "push", outcome: "interrupted", output: expect.stringContaining("unknown") },
      { tool: "notify", outcome: "interrupted" },
    ]);
    const last = (await journal(hf.readJournal(session.id))).at(-1);
    expect(last).toMatchObject({ type: "session_resumed", data: { from: "interrupted" } });
  });

  it("a turn that an exception ends is closed with its open calls, and the session is paused", async () => {
    using home = new TestHome();
    const hf = await home.open();
    let id = "";
    const failing = async () => {
      await using session = await hf.openSession();
      id = session.id;
      await using turn = await session.beginTurn("x");
      await turn.callTool("t", {});
      throw new Error("the harness failed");
    };
    await expect(failing()).rejects.toThrow("the harness failed");
    expect(await hf.showSession(id)).toMatchObject({ status: "paused", turns: 1 });
    expect((await Array.fromAsync(hf.readHistory(id)))[0]?.entries).toMatchObject([
      { outcome: "interrupted" },
    ]);
  });

  it("a turn that has ended refuses further calls, and a paused session's handle begins no turn", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession();
    const turn = await session.beginTurn("x");
    const call = await turn.callTool("t", {});
    await expect(turn.end()).rejects.toMatchObject({ code: "turn_open" });
    await call.returned("ok");
    await expect(call.returned("again")).rejects.toMatchObject({ code: "invalid_data" });
    await turn.end();
    await expect(turn.end()).rejects.toMatchObject({ code: "turn_closed" });
    await expect(turn.addMessage("assistant", "late")).rejects.toMatchObject({ code: "turn_closed" });
    await session.pause();
    await expect(session.beginTurn("y")).rejects.toMatchObject({ code: "session_released" });
    await session.release();
  });

  it("pauses when its budget is reached, and goes on after the budget is raised", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession({ budget: { tokens: 100, usd: 1 } });
    await (await session.beginTurn("a")).end({ inputTokens: 60 });
    await (await session.beginTurn("b")).end({ outputTokens: 50 });
    expect(session.state.status).toBe("paused");
    await expect(session.beginTurn("c")).rejects.toMatchObject({
      code: "budget_reached",
      facts: { limits: ["tokens"] },
    });
    await session.release();
    const before = (await journal(hf.readJournal(session.id))).map(({ type }) => type);
    expect(before.slice(-2)).toEqual(["budget_reached", "session_paused"]);

    await expect(hf.resumeSession(session.id)).rejects.toMatchObject({ code: "budget_reached" });
    expect(await journal(hf.readJournal(session.id))).toHaveLength(before.length);
    await expect(hf.resumeSession(session.id, { budget: { usd: 0.5, tokens: 1000 } })).rejects.toMatchObject({
      code: "invalid_data",
    });
    await using resumed = await hf.resumeSession(session.id, { budget: { tokens: 1000 } });
    expect(resumed.state).toMatchObject({ budget: { tokens: 1000, usd: 1 }, status: "open" });
    await (await resumed.beginTurn("c")).end();
  });

  it("counts its minutes with a monotonic clock, and pauses at their limit", async () => {
    using home = new TestHome();
    let nowMs = 1_000_000;
    const hf = await home.open({ clock: { nowMs: () => 1_000_000_000_000, monotonicMs: () => nowMs } });
    await using session = await hf.openSession({ budget: { minutes: 2 } });
    const turn = await session.beginTurn("a");
    nowMs += 121_000;
    await turn.end();
    expect(session.state).toMatchObject({ status: "paused", spent: { durationMs: 121_000 } });
  });

  it("redaction-1 redacts secrets wherever they appear before anything reaches the disk, and names the rule", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession({ title: `see ${FAKE_TOKEN}` });
    const turn = await session.beginTurn({ text: [`token ${FAKE_TOKEN} end`], [FAKE_TOKEN]: "a key" });
    const call = await turn.callTool("env", { long: `${"x".repeat(9000)} ${FAKE_TOKEN}` });
    await call.returned(`# secretlint-disable\n${FAKE_TOKEN}\n// secretlint-disable-line ${FAKE_TOKEN}`);
    await turn.end();
    // Many at once, so that one run of the rules serves several records.
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        session.append("custom", { name: "n", text: index % 2 ? FAKE_TOKEN : "clean" }),
      ),
    );
    await session.close();
    await hf.search(["token"]);
    const records = await journal(hf.readJournal(session.id));
    expect(
      records.filter(({ redacted }) => redacted).every(({ redacted }) => redacted?.join() === "github"),
    ).toBe(true);
    expect(records.filter(({ redacted }) => redacted)).toHaveLength(4 + 10);
    expect(records.find(({ type }) => type === "turn_started")?.data["input"]).toEqual({
      text: ["token [redacted:github] end"],
      "[redacted:github]": "a key",
    });
    expect(session.state.title).toBe("see [redacted:github]");
    // Nothing under the home has it: journal, blobs, fold, index.
    const { readdirSync, statSync } = await import("node:fs");
    for (const name of readdirSync(home.dir, { recursive: true, encoding: "utf8" })) {
      const path = home.join("home", name);
      if (statSync(path).isFile() && !name.endsWith("owner.lock"))
        expect(readFileSync(path).includes(FAKE_TOKEN), name).toBe(false);
    }
  });

  it("keeps events of a newer version readable, and goes on after them", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const id = await sessionWithTurns(hf, 1);
    // As a newer version would write it: the journal accepts events of any type.
    const { openForTest } = await import("../support/journal.ts");
    const { writer } = await openForTest(home.sessionDir(id));
    await writer.append("session_teleported", { to: "mars", turn: 1 });
    await writer.close({ witness: true });
    await using session = await hf.resumeSession(id);
    expect(session.state).toMatchObject({ unknown: 1, oddities: 0, turns: 1 });
    expect(
      (await journal(hf.readJournal(id))).some(
        ({ type, data }) => type === "session_teleported" && data["to"] === "mars",
      ),
    ).toBe(true);
  });

  it("concurrent appends keep their order, and a refused one does not affect the others", async () => {
    using home = new TestHome();
    const hf = await home.open();
    await using session = await hf.openSession();
    const results = await Promise.allSettled([
      session.append("custom", { name: "1" }),
      session.append("turn_ended", { turn: 9, outcome: "completed", durationMs: 1 }),
      session.append("custom", { name: "2", text: "b".repeat(6000) }),
      session.append("custom", { name: "3" }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect((await journal(hf.readJournal(session.id))).slice(1).map(({ data }) => data["name"])).toEqual([
      "1",
      "2",
      "3",
    ]);
  });
});
