/**
 * Parked tasks: how they are shown, and how a person, `wait` or `serve` lets them go on. And the verbs
 * `budget` and `usage`.
 */
import { describe, expect, it } from "vitest";
import { HostHome, reaches, script, typesOf, until } from "../support/hosts.ts";
import { parkedSession, queued, usage } from "../support/parking.ts";

const LATER = "2126-01-01T00:00:00.000Z";
const BEFORE = "2026-01-01T00:00:00.000Z";
const soon = () => new Date(Date.now() + 1500).toISOString();

async function endedAs(home: HostHome, id: string) {
  const dispatcher = await home.dispatcher();
  const { task } = await until(
    () => dispatcher.show(id),
    ({ task: one, pid }) => one?.outcome !== null && pid === null,
  );
  return { outcome: task?.outcome, insertions: task?.changed?.insertions };
}

describe("a parked task", () => {
  it("is shown with its reason and time, keeps the next task waiting, and can be cancelled", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const id = await parkedSession(home, { reason: "usage_limit", until: LATER, detail: "anthropic" });
    const why = "the provider's usage limit is reached until 2126-01-01";
    expect(await dispatcher.show(id)).toMatchObject({ standing: "parked", status: "paused", due: "nothing" });
    expect((await home.cli("ls")).stdout).toContain("parked (the provider's usage limit");
    expect((await home.cli("ls", "--standing", "parked")).stdout).toContain("park");
    const shown = await home.cli("show", id);
    expect(shown.stdout).toContain(`parked (${why}`);
    expect(shown.stdout).toContain("holdfast wait park");
    expect((await home.cli("log", id)).stdout).toContain(`task 1 parked  ${why}`);
    expect((await home.cli("attach", id)).stdout).toContain(`task 1 of park is parked: ${why}`);

    // A session process takes the second task in, and leaves it in the queue.
    const second = await home.cli(
      "run",
      "-d",
      "--no-sandbox",
      "--session",
      id,
      "--",
      "sh",
      "-c",
      "echo second",
    );
    expect(second).toMatchObject({ status: 0 });
    expect(second.stderr).toContain(`after task 1, which is parked: ${why}`);
    await until(() => home.hostPid(id) === undefined);
    const queue = await home.cli("queue", id);
    expect(queue.stdout).toContain(`after task 1, which is parked: ${why}`);
    expect(await home.cli("retry", id)).toMatchObject({
      status: 5,
      stderr: expect.stringContaining("is parked"),
    });
    expect(await dispatcher.show(id)).toMatchObject({ standing: "parked", queue: 1, crashes: 0 });

    expect(queue.stderr).toContain("holdfast cancel park task_1 ends it");
    const cancelled = await home.cli("cancel", id, "task_1");
    expect(cancelled.stdout, cancelled.stderr).toContain("was parked and is now cancelled");
    expect((await dispatcher.show(id)).task).toMatchObject({
      outcome: "cancelled",
      changed: { insertions: 1 },
    });
    // Then the task after it may begin.
    await home.cli("resume", id);
    expect(await home.cli("wait", id)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("task 2 unverified"),
    });
  });

  it("ends as cancelled when its session is closed", async () => {
    using home = new HostHome();
    const id = await parkedSession(home, { reason: "key", detail: "no key for anthropic" });
    expect(await home.cli("close", id)).toMatchObject({ status: 0 });
    const { status, task, due } = await (await home.dispatcher()).show(id);
    expect([status, task?.outcome, task?.parked, due]).toEqual(["closed", "cancelled", null, "nothing"]);
  });

  it("goes on when a person resumes it, and the status of wait says what it is parked for", async () => {
    using home = new HostHome();
    const id = await parkedSession(home, { reason: "key", detail: "no key for anthropic" });
    expect(await home.cli("wait", id)).toMatchObject({
      status: 3,
      stdout: expect.stringContaining("task 1 parked, it has no key (no key for anthropic)"),
    });
    expect(await home.cli("resume", id)).toMatchObject({ status: 0 });
    expect(await home.cli("wait", id)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("task 1 unverified"),
    });
    expect(await endedAs(home, id)).toEqual({ outcome: "unverified", insertions: 2 });
    const { stdout } = await home.cli("log", id, "--json");
    expect(stdout).toMatch(/"type":"task_unparked","data":\{"task":1,"by":"user:/);
  });

  it("goes on under wait or serve when its time has come, but not before, and not after a person's pause", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const [waited, due, later, paused, killed, reached] = await Promise.all([
      parkedSession(home, { reason: "usage_limit", until: soon() }),
      parkedSession(home, { reason: "usage_limit", until: BEFORE }),
      parkedSession(home, { reason: "usage_limit", until: LATER }),
      parkedSession(home, { reason: "usage_limit", until: BEFORE }),
      parkedSession(home, { reason: "key" }, { isKilled: true }),
      parkedSession(
        home,
        { reason: "usage_limit", until: BEFORE },
        { budget: { usd: 1 }, metered: { usd: 2 } },
      ),
    ]);
    expect(await home.cli("pause", paused)).toMatchObject({ status: 0 });
    expect(await home.cli("wait", waited)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("unverified"),
    });
    expect(await home.cli("wait", paused)).toMatchObject({ status: 7 });
    expect(await home.cli("wait", reached)).toMatchObject({ status: 7 });
    expect(await home.cli("wait", later, "--timeout", "1")).toMatchObject({ status: 130 });

    // A session that was cut off with its budget reached would be refused again and again.
    const cut = await queued(home, { usd: 1 });
    await cut.append("task_started", { task: 1, request: "task_1" });
    await cut.append("usage_metered", { ...usage, usd: 2 });
    await cut.abandon();
    expect(await dispatcher.show(cut.id)).toMatchObject({ standing: "interrupted" });

    const serve = home.spawnCli(["serve", "--listen", "127.0.0.1:0"]);
    let said = "";
    serve.stdout?.on("data", (data: Buffer) => {
      said += data.toString();
    });
    serve.stderr?.on("data", (data: Buffer) => {
      said += data.toString();
    });
    expect(await endedAs(home, due)).toEqual({ outcome: "unverified", insertions: 2 });
    await until(() => said.includes(`${due} was parked until now, and continues`));
    for (const id of [later, paused, killed, reached])
      expect(await dispatcher.show(id), said).toMatchObject({ standing: "parked", pid: null, crashes: 0 });
    expect(said).not.toMatch(/crash|can't be started/);
    expect(await dispatcher.show(cut.id)).toMatchObject({ standing: "interrupted", crashes: 0 });
    serve.kill("SIGTERM");
  });
});

const REACHED = "the budget is reached: usd";

describe("holdfast budget", () => {
  const budget = { usd: 1, turns: 10 };
  const metered = { usd: 1.25, inputTokens: 100, cacheReadTokens: 900 };

  it("shows what is left, and a task that is parked for it goes on only if it is raised enough", async () => {
    using home = new HostHome();
    const id = await parkedSession(home, { reason: "budget", detail: REACHED }, { budget, metered });
    const shown = await home.cli("budget", id);
    expect(shown.stdout).toMatch(/^usd +1\.0000 +1\.2500 +0\.0000$/m);
    expect(shown.stdout).toMatch(/^tokens +- +1000 +-$/m);
    expect(shown.stdout).toMatch(/^turns +10 +1 +9$/m);
    expect(shown.stdout).toContain("task 1 is parked: the budget is reached: usd");
    expect(shown.stderr).toContain("--raise usd=AMOUNT");
    for (const verb of ["resume", "wait"]) expect(await home.cli(verb, id)).toMatchObject({ status: 7 });
    for (const wrong of ["usd", "usd=0", "usd=-1", "pounds=3", "usd=1,usd=2", "minutes=5"])
      expect(await home.cli("budget", id, "--raise", wrong), wrong).toMatchObject({ status: 2 });
    // Not enough, so the task stays parked.
    expect(await home.cli("budget", id, "--raise", "usd=0.1")).toMatchObject({ status: 0 });
    expect(await (await home.dispatcher()).show(id)).toMatchObject({
      standing: "parked",
      budget: { usd: 1.1 },
    });
    const raised = await home.cli("budget", id, "--raise", "usd=5,turns=2", "--json");
    expect(JSON.parse(raised.stdout)).toMatchObject({ budget: { usd: 6.1, turns: 12 }, reached: [] });
    const waited = await home.cli("wait", id);
    expect(waited.status, `${waited.stdout}${waited.stderr}`).toBe(0);
    expect(await endedAs(home, id)).toEqual({ outcome: "unverified", insertions: 2 });
  });

  it("is of no use for a model without a price, and the next step names what is", async () => {
    using home = new HostHome();
    const id = await parkedSession(home, { reason: "price", detail: "no price" }, { budget: { usd: 5 } });
    const { stdout } = await home.cli("show", id);
    expect(stdout).toContain("holdfast resume park, when prices in settings.yaml has the model");
    expect(stdout).not.toContain("--raise");
  });

  it("is raised exactly once by each --raise, while the session runs and at rest", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main, budget: { turns: 5 } }, script("sleep 60"));
    await reaches(dispatcher, id, "running");
    const raises = await Promise.all(
      Array.from({ length: 4 }, () => home.cli("budget", id, "--raise", "turns=2", "--json")),
    );
    for (const { status, stderr } of raises) expect(status, stderr).toBe(0);
    expect((await dispatcher.show(id)).budget).toEqual({ turns: 13 });
    await home.cli("interrupt", id);
    await home.cli("wait", id);
    await home.quiet();
    expect(await home.cli("budget", id, "--raise", "turns=1")).toMatchObject({ status: 0 });
    await home.cli("close", id);
    expect(await home.cli("budget", id, "--raise", "turns=1")).toMatchObject({ status: 0 });
    expect(await dispatcher.show(id)).toMatchObject({ budget: { turns: 15 }, status: "closed" });
    expect((await typesOf(dispatcher, id)).filter((type) => type === "budget_raised")).toHaveLength(6);
  });
});

describe("holdfast usage", () => {
  it("adds up by session, user, agent, repo, model and day, and says what has no known price", async () => {
    using home = new HostHome();
    const hf = await home.open();
    const id = await parkedSession(
      home,
      { reason: "key" },
      { metered: { usd: 0.5, inputTokens: 10, outputTokens: 5 } },
    );
    const session = await hf.resumeSession(id, { files: false });
    const other = {
      task: 1,
      request: "req_2",
      provider: "local",
      model: "llama",
      inputTokens: 7,
      outputTokens: 0,
    };
    await session.append("usage_metered", {
      ...other,
      cacheReadTokens: 3,
      cacheWriteTokens: 0,
      isPriced: false,
    });
    await session.pause("idle");
    const fork = await hf.forkSession(id);
    await fork.pause("idle");
    const sumsBy = async (by: string) => JSON.parse((await home.cli("usage", "--by", by, "--json")).stdout);
    expect(await sumsBy("session")).toMatchObject([
      { session: id, sessions: 1, turns: 1, tokens: 25, cacheReadTokens: 3, usd: 0.5 },
      { session: fork.id, tokens: 0, usd: 0 },
    ]);
    for (const by of ["user", "repo"])
      expect(await sumsBy(by), by).toMatchObject([{ sessions: 2, tokens: 25, usd: 0.5 }]);
    expect(await sumsBy("agent")).toMatchObject([{ agent: "-", sessions: 2, tokens: 25, usd: 0.5 }]);
    const models = await sumsBy("model");
    expect(models).toContainEqual(
      expect.objectContaining({ model: "claude-haiku-4-5", tokens: 15, usd: 0.5, unpriced: 0 }),
    );
    expect(models).toContainEqual(
      expect.objectContaining({ model: "llama", tokens: 10, usd: 0, unpriced: 1 }),
    );
    expect(await sumsBy("day")).toMatchObject([
      { day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), sessions: 1, turns: 1, tokens: 25, usd: 0.5 },
    ]);
    const table = await home.cli("usage", "--by", "model");
    expect(table.stdout).toMatch(/^llama +1 +0 +10 +0\.0000/m);
    expect(table.stderr).toContain("without a known price");
  });
});
