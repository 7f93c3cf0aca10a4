/**
 * A lane in which an agent may edit files and run no commands. Agents that can be kept from running commands
 * are held to it; other agents, and tasks that are commands, are refused. A model whose API the agent does
 * not speak is refused, too.
 */
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { assertHeld } from "../../src/agent/holding.ts";
import { manifestOf } from "../../src/agent/index.ts";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { commitFiles } from "../support/repo.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const FILE = `lanes:
  edits: { write: [edit_file] }
agents:
  stranger: { adapter: acp, command: [stranger] }
`;

const telling = (version = "") => `#!/bin/sh
[ "$*" != --version ] || exec echo "${version}"
exec node "$(dirname "$0")/telling.ts" "$@"
`;

async function start(...given: Parameters<typeof AgentHome.start>): Promise<AgentHome> {
  const home = await AgentHome.start(...given);
  const bin = home.join("bin");
  copyFileSync(join(import.meta.dirname, "..", "fixtures", "agents", "telling.ts"), join(bin, "telling.ts"));
  for (const name of ["gemini", "goose", "stranger"])
    writeFileSync(join(bin, name), telling(manifestOf(name)?.version), { mode: 0o755 });
  commitFiles(home.main, { "holdfast.yaml": FILE }, "lanes");
  return home;
}

const outcomesIn = async (home: AgentHome, session: string) =>
  (await home.records(session))
    .filter(({ type }) => type === "tool_returned")
    .map(({ data }) => data["outcome"]);

describe("a lane without commands", () => {
  it.skipIf(!hasSandbox)("keeps claude, opencode and gemini from running commands", async () => {
    await using home = await start({
      write: [{ call: { write: { path: "made.txt", content: "made\n" } } }, { say: "Done." }],
      bash: [{ call: { bash: { command: "echo ran > ran.txt" } } }, { say: "Done." }],
    });
    const inLane = (agent: string, prompt: string) =>
      home.run(agent, prompt, "--agent", agent, "--lane", "edits");
    await Promise.all([
      inLane("claude", "[[write]]"),
      inLane("opencode", "[[bash]]"),
      inLane("gemini", "ask read, ask edit, ask execute, ask other"),
    ]);
    expect(await outcomesIn(home, "claude")).toEqual(["ok"]);
    const offered = home.model.requests.map(({ body }) => body).find((body) => body.includes('"Write"'));
    expect(offered).not.toContain('"Bash"');
    expect(await outcomesIn(home, "opencode")).toEqual(["refused"]);
    expect(await outcomesIn(home, "gemini")).toEqual(["ok", "ok", "refused", "refused"]);
    expect((await home.holdfast("diff", "opencode")).stdout).not.toContain("ran.txt");
    // Their own settings say so, too: a model does not try what it isn't offered.
    const told = (session: string, ...path: string[]) =>
      readFileSync(home.sessionDir(home.idOf(session), "home", ...path), "utf8");
    const { permission } = JSON.parse(told("opencode", ".config", "opencode", "opencode.json"));
    expect(permission).toMatchObject({ "*": "ask", bash: "deny" });
    expect(permission).not.toHaveProperty("edit");
    expect(told("gemini", ".gemini", "policies", "holdfast.toml")).toContain('"run_shell_command"');
    expect((await home.holdfast("show", "claude")).stdout).toContain("runs no commands");
  });

  it("refuses a command, and agents that can't be kept from commands, before a session is opened", async () => {
    await using home = await start();
    const refused = async (asked: string[], reason: string) => {
      const { status, stderr } = await home.holdfast(
        ...["run", "--repo", home.main, ...wall, "--lane", "edits"],
        ...asked,
      );
      expect([status, stderr]).toEqual([5, expect.stringContaining(`lane_not_held: ${reason}`)]);
    };
    const lacks = "lane edits allows no commands, and";
    await refused(
      ["--", "touch", "ran.txt"],
      `${lacks} this task is a command; agents that can be kept from commands: claude, opencode, gemini`,
    );
    await refused(["--agent", "goose", "do"], `${lacks} goose can't be kept from running them`);
    await refused(["--agent", "stranger", "do"], `${lacks} stranger can't be kept from running them`);
    const gemini = home.join("bin", "gemini");
    writeFileSync(gemini, telling("99.1.0"));
    const tried = `version ${manifestOf("gemini")?.version} can be kept from them`;
    await refused(["--agent", "gemini", "do"], `${lacks} version 99.1.0 of gemini was never tried: ${tried}`);
    writeFileSync(gemini, telling());
    await refused(["--agent", "gemini", "do"], `${lacks} the version of gemini is not known`);
    expect(JSON.parse((await home.holdfast("ls", "--all", "--json")).stdout || "[]")).toEqual([]);
  });
});

describe("an agent that is known by name", () => {
  it("is recognized only when its own program is started", async () => {
    await using home = await AgentHome.start();
    vi.stubEnv("PATH", home.env["PATH"]);
    onTestFinished(() => void vi.unstubAllEnvs());
    const lane = { name: "edits", isWithoutCommands: true };
    const talk = { prompt: "", continues: false, input: "messages" } as const;
    const held = (program: string) =>
      assertHeld({ adapter: "acp", agent: "opencode", command: [program, "acp"], ...talk }, lane);
    await expect(held("opencode")).resolves.toBeUndefined();
    await expect(held("./opencode")).rejects.toThrow("./opencode may be any program");
  });

  it("can be limited to the gate's tools only if its own tools can be removed", async () => {
    const lane = { name: "repo-fix", isWithoutCommands: false };
    const talk = { prompt: "", continues: false, input: "messages", tools: "gateway" } as const;
    const acp = { adapter: "acp", agent: "opencode", command: ["opencode", "acp"] } as const;
    const own = assertHeld({ ...acp, command: [...acp.command], ...talk }, lane);
    await expect(own).rejects.toThrow("its own tools");
    await expect(assertHeld({ adapter: "claude", ...talk }, lane)).resolves.toBeUndefined();
  });
});

describe("the model of an agent", () => {
  it("is refused if the agent does not speak its provider's API, even if the provider is the user's own", async () => {
    await using home = await start({ hello: [{ say: "Done." }] });
    home.settings(`  corp: { api: anthropic, base_url: "${home.model.url}", key_env: ANTHROPIC_API_KEY }\n`);
    const run = (agent: string, model: string) =>
      home.run(agent, "[[hello]]", ...wall, "--agent", agent, "--model", model);
    expect((await run("goose", "anthropic/x")).stderr).toContain(
      "model_not_spoken: goose can only use models with the API of openai, but anthropic has that of anthropic",
    );
    expect((await run("gemini", "corp/x")).stderr).toContain("model_not_spoken: gemini ");
    expect((await run("opencode", "nowhere/x")).stderr).toContain("unknown_provider: ");
    expect(await run("opencode", "corp/x")).toMatchObject({ status: 0 });
    if (!hasSandbox) return;
    const path = home.sessionDir(home.idOf("opencode"), "home", ".config", "opencode", "opencode.json");
    expect(JSON.parse(readFileSync(path, "utf8")).provider.holdfast.npm).toBe("@ai-sdk/anthropic");
  });
});
