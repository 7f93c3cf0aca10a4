/**
 * Agent definitions in holdfast.yaml: which of their words count, and what a session keeps of them.
 */
import { describe, expect, it } from "vitest";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { commitFiles, gitIn } from "../support/repo.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const yaml = (model: string) => `agents:
  fix-bot:
    adapter: claude
    model: ${model}
    lane: repo-fix
    budget: { usd: 50, turns: 9 }
    env: [BOT_WORD]
`;
const lookForWord = [
  {
    call: { bash: { command: 'test -n "$BOT_WORD" && echo given > given.txt || echo missing > given.txt' } },
  },
  { say: "Done." },
];

describe("an agent definition", () => {
  it("trust-1 counts as far as a person has accepted it, and its session keeps it as it was", async () => {
    await using home = await AgentHome.start({ look: lookForWord });
    const price = "{ input: 1, output: 1 }";
    home.settings(`budget: { usd: 5 }\nprices: { model-one: ${price}, model-two: ${price} }\n`);
    commitFiles(home.main, { "holdfast.yaml": yaml("model-one") }, "an agent");
    home.env["BOT_WORD"] = "a-word-of-the-users";

    const before = await home.run("before", "[[look]]", "--agent", "fix-bot", ...wall);
    expect(before.stderr).toMatch(/^\[agent\] +fix-bot \(claude\), from ANTHROPIC_API_KEY/m);
    expect(before.stderr).toContain("agents.fix-bot.env: BOT_WORD");
    expect(before.status).toBe(0);
    expect(await opened(home, "before")).toMatchObject({
      agent: "fix-bot",
      definition: { name: "fix-bot", adapter: "claude", model: "model-one", lane: "repo-fix", env: [] },
      budget: { usd: 5, turns: 9 },
    });

    expect((await home.holdfast("trust", "--repo", home.main, "--yes")).status).toBe(0);
    expect((await home.run("after", "[[look]]", "--agent", "fix-bot", ...wall)).status).toBe(0);
    expect(await opened(home, "after")).toMatchObject({
      definition: { env: ["BOT_WORD"], budget: { usd: 50, turns: 9 } },
      budget: { usd: 50, turns: 9 },
    });
    expect((await home.holdfast("show", "after")).stdout).toContain(
      "fix-bot: claude, model model-one, lane repo-fix, variables BOT_WORD",
    );

    // A change of the file counts for new sessions only.
    commitFiles(home.main, { "holdfast.yaml": yaml("model-two") }, "another model");
    const again = await home.holdfast("run", "--session", "after", ...wall, "[[look]]");
    expect([again.status, again.stderr]).toEqual([0, expect.stringContaining("fix-bot (claude)")]);
    expect((await home.run("new", "[[look]]", "--agent", "fix-bot", ...wall)).status).toBe(0);
    expect(home.model.requests.map(({ body }) => JSON.parse(body).model)).toEqual(
      [1, 1, 1, 2].flatMap((which) => Array(2).fill(which === 1 ? "model-one" : "model-two")),
    );
    const given = (name: string) => gitIn(home.main, "show", `holdfast/${name}:given.txt`);
    expect([given("before"), given("after")]).toEqual(["missing", "given"]);
  });

  it("that does not exist is refused, and no session is opened", async () => {
    await using home = await AgentHome.start();
    commitFiles(home.main, { "holdfast.yaml": yaml("model-one") }, "an agent");
    const { status, stderr } = await home.run("none", "[[look]]", "--agent", "fix-bo", ...wall);
    expect([status, stderr]).toEqual([
      2,
      expect.stringContaining(
        "unknown agent fix-bo; the known agents are claude, opencode, gemini, goose, fix-bot",
      ),
    ]);
    expect((await home.holdfast("ls", "--json")).stdout).not.toContain("none");
  });
});

async function opened(home: AgentHome, name: string) {
  return (await home.records(name)).find(({ type }) => type === "session_opened")?.data;
}
