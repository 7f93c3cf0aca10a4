/**
 * One grant permits one action, once. A different action asks again, and only the operator's key permits
 * anything.
 */
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { spend } from "../../src/approval/index.ts";
import type { GrantTerms, JsonObject } from "../../src/contract/index.ts";
import { Gate } from "../../src/gateway/index.ts";
import { ModelHold } from "../../src/host/model-hold.ts";
import { Questions } from "../../src/host/questions.ts";
import { keyPair } from "../support/approvals.ts";
import { GateHome } from "../support/gates.ts";
import { CountedTool, Operator } from "../support/granting.ts";
import { until } from "../support/hosts.ts";

async function begun(holdMs = 10_000) {
  const home = new GateHome();
  const tool = new CountedTool(home.dir);
  await home.begin({ tools: { external: ["*"] }, more: [tool], holdMs });
  const operator = new Operator(home);
  const call = (args: JsonObject = { title: "news", deep: { b: 1, a: [null] } }) =>
    home.gate.call("publish_page", args);
  return { home, tool, operator, call };
}

describe("an action that needs an approval", () => {
  it("gate-3 runs once, after a person approved exactly this action, with a record of every step", async () => {
    const { home, tool, operator, call } = await begun();
    using _ = home;
    const calling = call();
    const { data } = await operator.request();
    expect(tool.effects).toEqual([]);
    expect(data).toMatchObject({ tool: "publish_page", class: "external", lane: "repo-fix", task: 1 });
    const fingerprint = operator.fingerprintOf(data["action"] as never);
    expect(data["fingerprint"]).toBe(fingerprint);
    await operator.approve();
    expect(await calling).toMatchObject({ outcome: "ok", text: "published" });
    expect(tool.effects).toHaveLength(1);
    expect(await home.records("action_begun")).toHaveLength(1);
    expect(await home.records("approval_spent")).toHaveLength(1);
    expect(await home.records("action_ended")).toMatchObject([{ outcome: "ok" }]);
    expect(home.session.state.grants).toEqual({});
    await home.end();
  });

  it("gate-4 makes one approval request for identical calls, whatever the order of their keys", async () => {
    const { home, tool, operator, call } = await begun();
    using _ = home;
    const both = [call(), call({ deep: { a: [null], b: 1 }, title: "news" })];
    await operator.request();
    const third = call();
    expect(await home.gate.call("list_files", {})).toMatchObject({ outcome: "ok" });
    expect(await home.records("approval_requested")).toHaveLength(1);
    both.push(third);
    await operator.approve();
    // One call spends the grant; the others ask again, because the granted action is done.
    const { data } = await operator.request(2);
    const { data: first } = await operator.request(1);
    expect(data["fingerprint"]).toBe(first["fingerprint"]);
    expect(data).toMatchObject({ previous: first["approval"], previousOutcome: "ok" });
    expect(tool.effects).toHaveLength(1);
    await home.session.append("approval_denied", { approval: String(data["approval"]), by: "user:ani" });
    const outcomes = (await Promise.all(both)).map(({ outcome }) => outcome).sort();
    expect(outcomes).toEqual(["ok", "refused", "refused"]);
    await home.end();
  });

  it("does not run when it is denied, and the agent is told the reason", async () => {
    const { home, tool, operator, call } = await begun();
    using _ = home;
    const calling = call();
    const approval = String((await operator.request()).data["approval"]);
    await home.session.append("approval_denied", { approval, by: "user:ani", reason: "not on a Friday" });
    expect(await calling).toMatchObject({
      outcome: "refused",
      text: expect.stringContaining("not on a Friday"),
    });
    expect(tool.effects).toEqual([]);
    await home.end();
  });

  it("returns held after the wait; once it is granted, the agent gets a message and the same call runs", async () => {
    const { home, tool, operator, call } = await begun(50);
    using _ = home;
    expect(await call()).toMatchObject({
      outcome: "held",
      text: expect.stringContaining("Nothing was done"),
    });
    expect(await home.records("tool_returned")).toMatchObject([{ outcome: "refused" }]);
    await operator.decide({ kind: "grant", grant: { ...(await operator.sign()) } });
    expect(await home.records("message_received")).toMatchObject([
      { from: "user:ani", text: expect.stringContaining("was granted") },
    ]);
    expect(home.session.state.unread).toHaveLength(1);
    expect(await call()).toMatchObject({ outcome: "ok" });
    // The call has acted on it: nothing invites the agent to do it again.
    expect(home.session.state.unread).toEqual([]);
    expect(await call()).toMatchObject({ outcome: "held" });
    expect(tool.effects).toHaveLength(1);
    await home.end();
  });

  it("decision-3 sends the agent a message only if no call waits when the decision is on disk", async () => {
    const { home, operator, call } = await begun(60_000);
    using _ = home;
    const asks = async (which: number, title: string, signal: AbortSignal) => {
      const calling = home.gate.call("publish_page", { title }, { signal });
      return { calling, approval: String((await operator.request(which)).data["approval"]) };
    };
    const waits = await asks(1, "one", new AbortController().signal);
    await until(() => home.gate.isAwaited(waits.approval));
    await operator.decide({ kind: "deny", approval: waits.approval, reason: "no" });
    expect(await waits.calling).toMatchObject({ outcome: "refused", text: expect.stringContaining("no") });
    expect(await home.records("message_received")).toEqual([]);
    // The client gives up while the decision is on its way to the disk.
    const leaving = new AbortController();
    const leaves = await asks(2, "two", leaving.signal);
    await until(() => home.gate.isAwaited(leaves.approval));
    const append = home.session.append.bind(home.session);
    home.session.append = (type, data) => {
      if (type === "approval_denied") leaving.abort();
      return append(type, data);
    };
    await operator.decide({ kind: "deny", approval: leaves.approval, reason: "not now" });
    expect(await leaves.calling).toMatchObject({ outcome: "held" });
    expect(await home.records("message_received")).toMatchObject([
      { about: leaves.approval, text: expect.stringMatching(/was denied by user:ani: not now$/) },
    ]);
    // The same call again gets the denial, and then the message has nothing new to tell.
    expect(await call({ title: "two" })).toMatchObject({ outcome: "refused" });
    expect(home.session.state.unread).toEqual([]);
    await home.end();
  });

  it("gate-3 is still permitted, once, after a refusal that did nothing and spent no grant", async () => {
    const { home, tool, operator, call } = await begun(1);
    using _ = home;
    expect(await call()).toMatchObject({ outcome: "held" });
    const { approval } = await operator.approve();
    tool.isAway = true;
    expect(await call()).toMatchObject({ outcome: "refused", text: expect.stringContaining("away") });
    expect(await home.records("approval_spent")).toEqual([]);
    tool.isAway = false;
    expect(await call({ title: "other" })).toMatchObject({ outcome: "held" });
    expect(await call()).toMatchObject({ outcome: "ok" });
    expect(await home.records("action_begun")).toMatchObject([{ approval }, { approval }]);
    expect(await home.records("approval_spent")).toEqual([{ approval }]);
    expect(home.session.state.grants).toEqual({});
    expect(await call()).toMatchObject({ outcome: "held" });
    expect(tool.effects).toHaveLength(1);
    await home.end();
  });

  it("is of no concern to a gate whose task is over: it follows the session no longer", async () => {
    const home = new GateHome();
    using _ = home;
    await home.begin({ holdMs: 50 });
    const { session, task } = home;
    const io = { ...task.room.io, redact: session.redact };
    const observe = session.observe.bind(session);
    let observers = 0;
    session.observe = (observer) => {
      const end = observe(observer);
      observers += 1;
      return () => {
        observers -= 1;
        end();
      };
    };
    const gate = new Gate({
      ...{ home: { dir: home.dir, id: home.homeId, io }, session, task, holdMs: 50 },
      newId: (prefix) => `${prefix}_1`,
      stop: new AbortController().signal,
      tools: async () => [],
      outcomeOf: async () => ({ kind: "not_begun" }),
      waits: () => {},
    });
    const { clock } = task.room.io;
    const questions = new Questions({
      ...{ session, sessionDir: task.room.sessionDir, task: 1, clock, holdMs: 50 },
      newId: (prefix) => `${prefix}_1`,
      waits: () => {},
    });
    const hold = new ModelHold(session, { clock, holdMs: 50, onHeld: () => {} });
    expect(observers).toBe(4);
    for (const one of [gate, questions, hold]) one.close();
    expect(observers).toBe(0);
    await home.end();
  });

  it("does not keep other tools from working while it waits", async () => {
    const { home, operator, call } = await begun(5000);
    using _ = home;
    const calling = call();
    await operator.request();
    expect(await home.gate.call("run_command", { command: "echo on" })).toMatchObject({ text: "on\n" });
    await operator.approve();
    await calling;
    await home.end();
  });

  it("gate-8 finds the task's processes still, and nothing begins in its files before it is done", async () => {
    const { home, tool, operator, call } = await begun();
    using _ = home;
    const { root } = await home.task.capsule.attach();
    const sizeOf = (name: string) => statSync(join(root, name), { throwIfNoEntry: false })?.size ?? 0;
    const writer = await home.task.workplace().start(["sh", "-c", "while :; do echo x >> ticks; done"]);
    await until(() => sizeOf("ticks"));
    const besides: Promise<unknown>[] = [];
    tool.onAct = async () => {
      const before = sizeOf("ticks");
      besides.push(
        home.gate.call("write_file", { path: "late", content: "late" }),
        home.gate.call("run_command", { command: "echo later > later" }),
      );
      await sleep(300);
      expect([sizeOf("ticks") - before, sizeOf("late"), sizeOf("later")]).toEqual([0, 0, 0]);
    };
    const calling = call();
    await operator.approve();
    expect(await calling).toMatchObject({ outcome: "ok" });
    const after = sizeOf("ticks");
    await until(() => sizeOf("ticks") > after);
    await Promise.all(besides);
    expect([sizeOf("late"), sizeOf("later")]).toEqual([4, 6]);
    writer.end();
    await writer.ended;
    await home.end();
  });

  it("gate-8 an agent that its adapter lets go on during an action goes on after it", async () => {
    const { home, tool, operator, call } = await begun();
    using _ = home;
    const { root } = await home.task.capsule.attach();
    const sizeOf = () => statSync(join(root, "ticks"), { throwIfNoEntry: false })?.size ?? 0;
    const writer = await home.task.workplace().start(["sh", "-c", "while :; do echo x >> ticks; done"]);
    await until(sizeOf);
    tool.onAct = async () => {
      writer.freeze();
      const before = sizeOf();
      writer.thaw();
      await sleep(300);
      expect(sizeOf()).toBe(before);
    };
    const calling = call();
    await operator.approve();
    expect(await calling).toMatchObject({ outcome: "ok" });
    const after = sizeOf();
    await until(() => sizeOf() > after);
    writer.end();
    await writer.ended;
    await home.end();
  });

  it("an approved command that is still running keeps no other action from being asked for and done", async () => {
    using home = new GateHome();
    const tool = new CountedTool(home.dir);
    const asked = { approval: ["write", "external"] as const, external: ["*"] };
    await home.begin({ tools: asked, more: [tool], holdMs: 10_000 });
    const operator = new Operator(home);
    const command = "echo begun > begun; while [ ! -e go ]; do sleep 0.02; done; echo ended";
    const running = home.gate.call("run_command", { command });
    await operator.approve();
    const { root } = await home.task.capsule.attach();
    await until(() => statSync(join(root, "begun"), { throwIfNoEntry: false }));
    const calling = home.gate.call("publish_page", { title: "x" });
    await operator.approve(2);
    expect(await calling).toMatchObject({ outcome: "ok" });
    writeFileSync(join(root, "go"), "");
    expect(await running).toMatchObject({ outcome: "ok", text: "ended\n" });
    await home.end();
  });

  it("in a lane that asks about writes, a write tool waits for approval, and asks again once files changed", async () => {
    using home = new GateHome();
    await home.begin({ tools: { approval: ["write"] }, holdMs: 10_000 });
    const operator = new Operator(home);
    const calling = home.gate.call("run_command", { command: "echo ran >> log; cat log" });
    await operator.approve();
    expect(await calling).toMatchObject({ outcome: "ok", text: "ran\n" });
    // The files have changed, so the same arguments are another action.
    const again = home.gate.call("run_command", { command: "echo ran >> log; cat log" });
    const { data } = await operator.request(2);
    expect(data["fingerprint"]).not.toBe((await operator.request(1)).data["fingerprint"]);
    await home.session.append("approval_denied", { approval: String(data["approval"]), by: "user:ani" });
    expect(await again).toMatchObject({ outcome: "refused" });
    await home.end();
  });
});

describe("a grant that was already spent in this home", () => {
  it("spend-1 lets no tool of the session itself run in a lane that asks about writes", async () => {
    using home = new GateHome();
    await home.begin({ tools: { approval: ["write"] }, holdMs: 1 });
    const operator = new Operator(home);
    const call = () => home.gate.call("run_command", { command: "echo ran > ran" });
    expect(await call()).toMatchObject({ outcome: "held" });
    const { approval } = await operator.approve();
    spend(home.dir, approval, {});
    expect(await call()).toMatchObject({
      outcome: "refused",
      text: expect.stringContaining("already spent"),
    });
    const { root } = await home.task.capsule.attach();
    expect(existsSync(join(root, "ran"))).toBe(false);
    await home.end();
  });
});

/** All tests below share one task; each gets a grant of its own. */
const shared = Promise.withResolvers<Awaited<ReturnType<typeof begun>>>();
beforeAll(async () => shared.resolve(await begun(1)));
/** Denies what is still pending: only a limited number of approvals may be pending at once. */
afterEach(async () => {
  const { session } = (await shared.promise).home;
  for (const approval of Object.keys(session.state.pending))
    await session.append("approval_denied", { approval, by: "user:ani" });
});
afterAll(async () => {
  const { home } = await shared.promise;
  await home.end();
  home[Symbol.dispose]();
});

describe("an action that differs from the granted one asks again", () => {
  const args = (): JsonObject => ({ title: "news", deep: { b: 1, a: [null] } });
  const others: Record<string, JsonObject> = {
    "another argument": { ...args(), title: "old" },
    "white space": { ...args(), title: "news " },
    "a line feed": { ...args(), title: "news\n" },
    "a capital letter": { ...args(), title: "News" },
    "a look-alike letter": { ...args(), title: "nеws" },
    "a combining accent": { ...args(), title: "news\u0301" },
    "an invisible mark": { ...args(), title: "news\u200b" },
    "a mark that reverses the text": { ...args(), title: "\u202enews" },
    "an additional argument": { ...args(), count: 1 },
    "a missing argument": { title: "news" },
    "a list without its null": { title: "news", deep: { b: 1, a: [] } },
    "a string instead of a number": { title: "news", deep: { b: "1", a: [null] } },
    "true instead of 1": { title: "news", deep: { b: true, a: [null] } },
    "a longer list": { title: "news", deep: { b: 1, a: [null, null] } },
    "an additional nested key": { title: "news", deep: { b: 1, a: [null], c: {} } },
    "a key in another case": { title: "news", deep: { B: 1, a: [null] } },
  };
  const around: Record<string, Partial<Pick<CountedTool, "target" | "tree" | "declaration" | "input">>> = {
    "another port": { target: { url: "https://example.org:444/pages" } },
    "another host": { target: { url: "https://example.com:443/pages" } },
    "another scheme": { target: { url: "http://example.org:443/pages" } },
    "another executable": { target: { url: "https://example.org:443/pages", executable: "0".repeat(64) } },
    "another tree": { tree: "0".repeat(40) },
    "no tree": { tree: null },
    "other command words": { declaration: { run: ["publish", "--force"], env: ["TOKEN"] } },
    "other environment variables": { declaration: { run: ["publish"], env: ["TOKEN", "MORE"] } },
    "another input schema": { input: { type: "object", description: "now it deletes" } },
  };

  async function asksAgain(change: (tool: CountedTool) => JsonObject): Promise<void> {
    const { tool, operator, call } = await shared.promise;
    const before = { ...tool };
    const done = tool.effects.length;
    expect(await call(args())).toMatchObject({ outcome: "held" });
    const granted = await operator.request("last");
    await operator.approve("last");
    expect(await call(change(tool))).toMatchObject({ outcome: "held" });
    expect(tool.effects).toHaveLength(done);
    expect((await operator.request("last")).data["fingerprint"]).not.toBe(granted.data["fingerprint"]);
    // The action that was granted runs.
    Object.assign(tool, before);
    expect(await call(args())).toMatchObject({ outcome: "ok" });
    expect(tool.effects).toHaveLength(done + 1);
  }

  it.each(Object.entries(others))("gate-3 %s", async (_name, other) => asksAgain(() => other));
  it.each(Object.entries(around))("gate-3 %s", async (_name, other) =>
    asksAgain((tool) => {
      Object.assign(tool, other);
      return args();
    }),
  );
});

describe("a grant that is not the operator's for exactly this request permits nothing", () => {
  const wrong: Record<string, Partial<GrantTerms>> = {
    "another approval": { approval: "appr_other" },
    "another record": { request: { seq: 1, hash: "a".repeat(64) } },
    "another home": { home: "home_other" },
    "another session": { session: "sess_other" },
    "another fingerprint": { fingerprint: "0".repeat(64) },
    "a longer life": { expiresAt: "2099-01-01T00:00:00.000Z" },
    "a time before": { grantedAt: "2020-01-01T00:00:00.000Z", expiresAt: "2020-01-01T00:10:00.000Z" },
  };
  it.each(Object.entries(wrong))("gate-5 with %s", async (name, changed) => {
    const { home, tool, operator, call } = await shared.promise;
    const done = tool.effects.length;
    const begunBefore = (await home.records("action_begun")).length;
    await call({ title: name });
    await operator.approve("last", changed);
    const answer = await call({ title: name });
    expect(["error", "held"]).toContain(answer.outcome);
    expect(tool.effects).toHaveLength(done);
    expect(await home.records("action_begun")).toHaveLength(begunBefore);
  });

  it("gate-5 with another key's signature, an altered one or none", async () => {
    for (const forge of ["key", "altered", "cut"] as const) {
      const { home, tool, operator, call } = await shared.promise;
      const done = tool.effects.length;
      const args = { title: `forged: ${forge}` };
      await call(args);
      if (forge === "key") await operator.approve("last", {}, keyPair().privateKey);
      else {
        const { data, seq, hash } = await operator.request("last");
        const approval = String(data["approval"]);
        const at = new Date(home.task.room.io.clock.nowMs());
        const signature = forge === "cut" ? "" : Buffer.alloc(64, 7).toString("base64");
        await operator.record(approval, {
          version: 1,
          approval,
          request: { seq, hash },
          home: home.homeId,
          session: home.session.id,
          fingerprint: String(data["fingerprint"]),
          by: "user:ani",
          grantedAt: at.toISOString(),
          expiresAt: new Date(at.getTime() + 60_000).toISOString(),
          signature,
        });
      }
      expect(await call(args)).toMatchObject({
        outcome: "error",
        text: expect.stringContaining("grant_invalid"),
      });
      expect(tool.effects).toHaveLength(done);
    }
  });

  it("when it was already spent in this home, as by an older copy of the session", async () => {
    const { home, tool, operator, call } = await shared.promise;
    const done = tool.effects.length;
    await call({ title: "copied" });
    const { approval } = await operator.approve("last");
    spend(home.dir, approval, {});
    expect(await call({ title: "copied" })).toMatchObject({
      outcome: "refused",
      text: expect.stringContaining("already spent"),
    });
    expect(tool.effects).toHaveLength(done);
  });
});
