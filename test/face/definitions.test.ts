/**
 * Agent definitions and variables, as programs ask for them: over the library and over the API, what a task and its
 * session get is what they get from `holdfast run`.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { openHoldfast } from "../support/library.ts";
import { commitFiles, gitIn } from "../support/repo.ts";
import { idIn, Served } from "../support/served.ts";
import { acceptFile } from "../support/trust.ts";

if (!hasSandbox) console.log("left out: tasks of programs: they run in a sandbox alone");

const FILE = `agents:
  fix-bot:
    adapter: claude
    model: model-one
    budget: { usd: 5 }
    env: [BOT_WORD]
`;
/** How long the value of each variable is, with the end of its line; 0 for one that is not there. */
const LOOK =
  "for name in BOT_WORD EVERY_WORD GIVEN_WORD; do echo $name $(printenv $name | wc -c); done > given.txt";
const SCRIPT = JSON.stringify({ steps: [{ tool: "run_command", with: { command: LOOK } }] });

async function start(): Promise<AgentHome> {
  const home = await AgentHome.start({ look: [{ call: { bash: { command: LOOK } } }, { say: "Done." }] });
  home.settings(
    "budget: { turns: 9 }\nenv: [EVERY_WORD, MISSING_WORD]\nprices: { model-one: { input: 1, output: 1 } }\n",
  );
  commitFiles(home.main, { "holdfast.yaml": FILE }, "an agent");
  await acceptFile(home);
  Object.assign(home.env, { BOT_WORD: "bot-word", EVERY_WORD: "every-word" });
  return home;
}

interface Begun {
  readonly id: string;
  readonly name: string | null;
}
type Begin = (task: object, session: object) => Promise<Begun>;

async function overLibrary(home: AgentHome): Promise<Begin> {
  for (const [name, value] of Object.entries(home.env)) vi.stubEnv(name, value);
  const hf = await openHoldfast({ home: home.dir });
  return async (task, session) => {
    const begun = await hf.begin(task, session);
    await begun.session.wait();
    return begun.session.view();
  };
}

const overHttp =
  (served: Served): Begin =>
  async (task, session) => {
    const answer = await served.ask("/v1/tasks", { method: "POST", body: JSON.stringify({ session, task }) });
    expect(answer).toMatchObject({ status: 200 });
    const id = idIn(answer.body["session"] as Record<string, unknown>);
    const { body } = await until(
      () => served.ask(`/v1/sessions/${id}`),
      ({ body: { pid, task: last } }) =>
        pid === null && typeof (last as { outcome?: string | null } | null)?.outcome === "string",
    );
    return { id, name: String(body["name"]) };
  };

const given = (home: AgentHome, { name }: Begun) => gitIn(home.main, "show", `holdfast/${name}:given.txt`);

async function opened(home: AgentHome, id: string) {
  return (await home.records(id)).find(({ type }) => type === "session_opened")?.data;
}

async function isApplied(home: AgentHome, begin: Begin): Promise<void> {
  const session = { repo: home.main, agent: "fix-bot" };
  const prompted = await begin({ prompt: "[[look]]" }, session);
  expect(await opened(home, prompted.id)).toMatchObject({
    agent: "fix-bot",
    definition: { name: "fix-bot", model: "model-one", env: ["BOT_WORD"], budget: { usd: 5 } },
    budget: { usd: 5, turns: 9 },
  });
  expect(given(home, prompted)).toBe("BOT_WORD 9\nEVERY_WORD 11\nGIVEN_WORD 0");

  // The agent of the first task is the session's, as with `holdfast run --agent`. A limit that is given counts.
  const env = { BOT_WORD: "another", GIVEN_WORD: "given" };
  const own = { prompt: "[[look]]", agent: "fix-bot", env };
  const named = await begin(own, { repo: home.main, budget: { usd: 2 } });
  expect(await opened(home, named.id)).toMatchObject({
    ...{ agent: "fix-bot", definition: { name: "fix-bot" }, budget: { usd: 2, turns: 9 } },
  });
  expect(given(home, named)).toBe("BOT_WORD 8\nEVERY_WORD 11\nGIVEN_WORD 6");

  for (const task of [{ script: SCRIPT }, { command: ["sh", "-c", LOOK] }]) {
    const begun = await begin({ ...task, env: { GIVEN_WORD: "given" } }, session);
    expect(await opened(home, begun.id)).toMatchObject({
      definition: { name: "fix-bot" },
      budget: { usd: 5 },
    });
    expect(given(home, begun)).toBe("BOT_WORD 0\nEVERY_WORD 11\nGIVEN_WORD 6");
  }
}

describe.runIf(hasSandbox)("an agent definition", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("counts whole for a session that the library begins, and every task gets the variables of the settings", async () => {
    await using home = await start();
    await isApplied(home, await overLibrary(home));
  });

  it("counts whole for a session that the API begins, and every task gets the variables of the settings", async () => {
    await using home = await start();
    await using served = await Served.start(home);
    await isApplied(home, overHttp(served));
  });

  it("counts for a session that is only opened, and for the tasks that it gets later", async () => {
    await using home = await start();
    const begin = await overLibrary(home);
    const hf = await openHoldfast({ home: home.dir });
    const own = await hf.openSession({ repo: home.main, agent: "fix-bot", name: "later" });
    await own.release();
    // The session keeps the definition as it was.
    commitFiles(home.main, { "holdfast.yaml": "agents: {}\n" }, "no agent");
    const handle = await hf.session("later");
    expect((await handle.view()).budget).toEqual({ usd: 5, turns: 9 });
    await handle.run({ prompt: "[[look]]" });
    expect(await handle.wait()).toMatchObject({ outcome: "unverified" });
    expect(given(home, { id: own.id, name: "later" })).toContain("BOT_WORD 9");
    await expect(begin({ prompt: "x" }, { repo: home.main, agent: "fix-bot" })).rejects.toMatchObject({
      code: "unknown_agent",
    });
    const before = { prompt: "[[look]]", agent: "fix-bot", base: "HEAD^" };
    expect(given(home, await begin(before, { repo: home.main, name: "before" }))).toContain("BOT_WORD 9");
  });

  it("begins no task without a variable that it names", async () => {
    await using home = await start();
    delete home.env["BOT_WORD"];
    const begin = await overLibrary(home);
    await expect(begin({ prompt: "[[look]]" }, { repo: home.main, agent: "fix-bot" })).rejects.toMatchObject({
      code: "env_missing",
      message: expect.stringContaining("BOT_WORD"),
    });
    expect((await home.holdfast("ls", "--json")).stdout).not.toContain("sess_");
  });
});
