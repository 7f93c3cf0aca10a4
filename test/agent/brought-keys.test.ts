/**
 * A person who lets an agent's task go on passes on the key in their environment: by `resume`, `budget`,
 * `wait`, `approve` and `serve`, after the broker that had the first key was killed.
 */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { signalIfThere } from "../../src/util/index.ts";
import { AgentHome } from "../support/agents.ts";
import { type Asked, askFor } from "../support/approvals.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const bash = (command: string) => ({ call: { bash: { command } } });
/** A tool runs until the test creates a file in its HOME. */
const UNTIL_RELEASED = "until [ -e ~/released ]; do sleep 0.1; done";
if (!hasSandbox)
  console.log("left out: a request that waits for a key: without a sandbox HOME is the user's own");
const BEFORE = "2026-01-01T00:00:00.000Z";

/** Ends the broker, which forgets all keys: from then on this is the only key. */
async function bringOnly(home: AgentHome, key: string): Promise<void> {
  for (const pid of home.pidsOf("broker")) signalIfThere(pid, "SIGKILL");
  await until(() => home.pidsOf("broker").length === 0);
  home.env["ANTHROPIC_API_KEY"] = key;
}

/** The keys that the model was asked with for a session, in order. */
const keysOf = (home: AgentHome, session: string) =>
  home.model.requests
    .filter(({ body }) => body.includes(`for ${session}.`))
    .map(({ headers }) => headers["x-api-key"]);

const ofType = async (home: AgentHome, session: string, type: string) =>
  (await home.records(session)).filter((record) => record.type === type).map(({ data }) => data);

/** Records that the provider's usage limit is over by now. */
async function letTimeCome(home: AgentHome, session: string): Promise<void> {
  const owned = await (await home.open()).resumeSession(home.idOf(session), { files: false });
  await owned.append("task_unparked", { task: 1, by: "user:test" });
  await owned.append("task_parked", { task: 1, reason: "usage_limit", until: BEFORE });
  await owned.pause("idle");
}

/** Records that the task waits for an approval, and not for the provider. */
async function letAsk(home: AgentHome, session: string): Promise<Asked> {
  const owned = await (await home.open()).resumeSession(home.idOf(session), { files: false });
  await owned.append("task_unparked", { task: 1, by: "user:test" });
  const asked = await askFor(home, owned, { tree: null });
  await owned.append("task_parked", { task: 1, reason: "approval", requests: [asked.approval] });
  await owned.pause("idle");
  return asked;
}

const limited = () => {
  const headers = { "anthropic-ratelimit-unified-reset": String(Math.ceil(Date.now() / 1000) + 3600) };
  return [bash("true"), { fault: "error" as const, status: 429, headers, say: "Went on." }];
};

describe("a key that a person brings", () => {
  it("is used for a parked task that they let go on by budget, wait, approve or serve", async () => {
    await using home = await AgentHome.start({
      slow: [bash("sleep 1"), { say: "Went on." }],
      limited: limited(),
    });
    home.settings("hold_minutes: 0\n");
    home.env["ANTHROPIC_API_KEY"] = "of-the-first";
    const parked = await Promise.all([
      home.run("raised", "[[slow]] for raised.", "--budget-minutes", "0.01", ...wall),
      home.run("waited", "[[limited]] for waited.", ...wall),
      home.run("asked", "[[limited]] for asked.", ...wall),
      home.run("served", "[[limited]] for served.", ...wall),
    ]);
    for (const { status, stderr } of parked) expect(status, stderr).toBe(7);
    expect(await ofType(home, "raised", "task_parked")).toMatchObject([
      { reason: "budget", detail: "the budget is reached: minutes" },
    ]);

    await bringOnly(home, "of-the-second");
    await home.holdfast("budget", "raised", "--raise", "minutes=60");
    expect(await home.holdfast("wait", "raised")).toMatchObject({ status: 0 });
    // Only the last key: on a slow machine its minutes are over before its first request.
    expect(keysOf(home, "raised").at(-1)).toBe("of-the-second");

    await letTimeCome(home, "waited");
    expect(await home.holdfast("wait", "waited")).toMatchObject({ status: 0 });
    expect(keysOf(home, "waited")).toEqual(["of-the-first", "of-the-first", "of-the-second"]);

    const { approval, fingerprint } = await letAsk(home, "asked");
    const yes = ["--yes", "--fingerprint", fingerprint];
    expect(await home.holdfast("approve", approval, ...yes)).toMatchObject({ status: 0 });
    expect(await home.holdfast("wait", "asked")).toMatchObject({ status: 0 });
    expect(new Set(keysOf(home, "asked"))).toEqual(new Set(["of-the-first", "of-the-second"]));
    expect(keysOf(home, "asked").at(-1)).toBe("of-the-second");

    await letTimeCome(home, "served");
    const env = { ...home.env, ANTHROPIC_API_KEY: "of-serve" };
    const serve = home.spawnCli(["serve", "--listen", "127.0.0.1:0"], { env });
    await until(async () => (await ofType(home, "served", "task_ended")).length > 0);
    serve.kill("SIGTERM");
    expect(keysOf(home, "served")).toEqual(["of-the-first", "of-the-first", "of-serve"]);
    for (const session of ["raised", "waited", "asked", "served"])
      expect(await ofType(home, session, "task_ended")).toMatchObject([{ outcome: "done" }]);
    for (const session of ["waited", "served"])
      expect((await ofType(home, session, "conversation_begun")).at(-1)).toMatchObject({ how: "resumed" });
  });

  it("is kept when serve, which has another one, resumes the session after a crash", async () => {
    await using home = await AgentHome.start({ long: [bash("sleep 600"), { say: "Went on." }] });
    home.env["ANTHROPIC_API_KEY"] = "of-a-person";
    await home.run("crashed", "[[long]] for crashed.", "--detach", ...wall);
    await until(async () => (await ofType(home, "crashed", "tool_called")).length > 0);
    const env = { ...home.env, ANTHROPIC_API_KEY: "of-serve" };
    const serve = home.spawnCli(["serve", "--listen", "127.0.0.1:0"], { env });
    await once(serve.stdout, "data");
    signalIfThere(home.hostPid(home.idOf("crashed")) ?? 0, "SIGKILL");
    await until(async () => (await ofType(home, "crashed", "task_ended")).length > 0);
    serve.kill("SIGTERM");
    expect(keysOf(home, "crashed")).toEqual(["of-a-person", "of-a-person"]);
  });

  it.skipIf(!hasSandbox)(
    "is used for a request held since the broker was killed, and for a queued task; usage is summed by agent",
    async () => {
      await using home = await AgentHome.start({
        long: [bash(UNTIL_RELEASED), { say: "Went on." }],
        hello: [{ say: "Hello." }],
      });
      home.env["ANTHROPIC_API_KEY"] = "of-the-first";
      await home.run("long", "[[long]] for long.", "--detach", ...wall);
      await until(async () => (await ofType(home, "long", "tool_called")).length > 0);
      await bringOnly(home, "of-the-second");
      writeFileSync(home.sessionDir(home.idOf("long"), "home", "released"), "");
      const output = await until(
        async () => (await home.holdfast("output", "long")).stdout,
        (text) => text.includes("[waits]"),
      );
      expect(output).toMatch(/there is no key for anthropic: set ANTHROPIC_API_KEY/);
      expect(keysOf(home, "long")).toEqual(["of-the-first"]);
      await home.holdfast("resume", "long");
      expect(await home.holdfast("wait", "long")).toMatchObject({ status: 0 });
      expect(keysOf(home, "long")).toEqual(["of-the-first", "of-the-second"]);
      expect(await ofType(home, "long", "task_parked")).toEqual([]);

      home.settings("hold_minutes: 0\n");
      const spec = {
        agent: { adapter: "claude", prompt: "[[hello]] for waiting.", continues: false, input: "messages" },
        definition: "agent:claude",
        sandbox: hasSandbox,
      };
      const waiting = await (await home.open()).openSession({ repo: home.main, name: "waiting" });
      await waiting.append("task_queued", { request: "task_1", spec });
      await waiting.pause("idle");
      await home.holdfast("resume", "waiting");
      expect(await home.holdfast("wait", "waiting")).toMatchObject({ status: 0 });
      expect(keysOf(home, "waiting")).toEqual(["of-the-second"]);

      await home.holdfast(
        "run",
        "--session",
        "waiting",
        "--agent",
        "opencode",
        ...wall,
        "[[hello]] and more",
      );
      const sums = JSON.parse((await home.holdfast("usage", "--by", "agent", "--json")).stdout);
      expect(sums).toEqual([
        expect.objectContaining({ agent: "claude", sessions: 2, outputTokens: 60, turns: 2 }),
        expect.objectContaining({ agent: "opencode", sessions: 1, outputTokens: 20, turns: 1 }),
      ]);
    },
  );
});
