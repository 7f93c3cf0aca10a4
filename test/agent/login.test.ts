/**
 * The agent's own login: a dummy is put where the agent looks for a login, so that it sends requests as if it
 * were logged in.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const LOOK = "env | grep -oE '^(CLAUDE_CODE_OAUTH_TOKEN|ANTHROPIC_API_KEY)=' > which";

it("an agent gets a dummy login if its task uses a login, and a dummy key if its task uses a key", async () => {
  await using home = await AgentHome.start({
    look: [{ call: { bash: { command: LOOK } } }, { say: "Done." }],
  });
  const which = (name: string) => gitIn(home.main, "show", `holdfast/${name}:which`);
  const dir = home.join("claude");
  mkdirSync(dir, { mode: 0o700 });
  const claudeAiOauth = { accessToken: "sk-ant-oat01-planted", expiresAt: 4_000_000_000_000, scopes: [] };
  writeFileSync(join(dir, ".credentials.json"), JSON.stringify({ claudeAiOauth }), { mode: 0o600 });
  home.env["CLAUDE_CONFIG_DIR"] = dir;
  // A key in the environment takes precedence over the login.
  await home.run("key", "[[look]]", ...wall);
  expect(which("key")).toBe("ANTHROPIC_API_KEY=");
  for (const name of ["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"]) home.env[name] = "";
  const { status, stderr } = await home.run("login", "[[look]]", ...wall);
  expect(status, stderr).toBe(0);
  expect(stderr).toContain("from the login of claude");
  expect(which("login")).toBe("CLAUDE_CODE_OAUTH_TOKEN=");
  const headers = home.model.requests.at(-1)?.headers;
  expect(headers?.["authorization"]).toBe("Bearer sk-ant-oat01-planted");
  expect(headers?.["x-api-key"]).toBeUndefined();
});

it("a task whose login has expired is parked, and says what renews the login", async () => {
  await using home = await AgentHome.start({ hello: [{ say: "Went on." }] });
  home.settings("hold_minutes: 0\n");
  const dir = home.join("claude");
  mkdirSync(dir, { mode: 0o700 });
  const write = (expiresAt: number) => {
    const claudeAiOauth = { accessToken: "sk-ant-oat01-planted", expiresAt, scopes: [] };
    writeFileSync(join(dir, ".credentials.json"), JSON.stringify({ claudeAiOauth }), { mode: 0o600 });
  };
  write(1000);
  home.env["CLAUDE_CONFIG_DIR"] = dir;
  for (const name of ["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"]) home.env[name] = "";
  expect((await home.run("late", "[[hello]]", "--agent", "claude", ...wall)).status).toBe(3);
  const { stdout } = await home.holdfast("show", "late");
  expect(stdout).toMatch(/the login of claude has expired: run claude once.*claude setup-token/);
  // What that says helps.
  write(4_000_000_000_000);
  await home.holdfast("resume", "late");
  expect((await home.holdfast("wait", "late")).status).toBe(0);
});

it.skipIf(!hasSandbox)(
  "a task uses the login and the instructions of the person who gave it, whoever starts its process",
  async () => {
    const look = "cat ~/.claude/CLAUDE.md > who; until [ -e ~/released ]; do sleep 0.05; done";
    await using home = await AgentHome.start({
      look: [{ call: { bash: { command: look } } }, { say: "Done." }],
    });
    for (const name of ["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"]) home.env[name] = "";
    for (const who of ["first", "second"]) {
      const dir = home.join(`claude-${who}`);
      mkdirSync(dir, { mode: 0o700 });
      const claudeAiOauth = { accessToken: `sk-ant-oat01-${who}`, expiresAt: 4_000_000_000_000 };
      writeFileSync(join(dir, ".credentials.json"), JSON.stringify({ claudeAiOauth }), { mode: 0o600 });
      writeFileSync(join(dir, "CLAUDE.md"), who);
      home.env["CLAUDE_CONFIG_DIR"] = dir;
      await home.run(who, `[[look]] for ${who}.`, "--detach", "--max-sessions", "1");
    }
    expect(home.hostPid(home.idOf("second"))).toBeUndefined();
    delete home.env["CLAUDE_CONFIG_DIR"];
    // When it leaves, its process has the next session of the line started.
    for (const who of ["first", "second"]) {
      const id = home.idOf(who);
      await until(async () => (await home.records(who)).some(({ type }) => type === "tool_called"));
      writeFileSync(home.sessionDir(id, "home", "released"), "");
      await until(() => home.hostPid(id) === undefined);
    }
    for (const who of ["first", "second"]) {
      const asked = home.model.requests.filter(({ body }) => body.includes(`for ${who}.`));
      const tokens = new Set(asked.map(({ headers }) => headers["authorization"]));
      expect(tokens).toEqual(new Set([`Bearer sk-ant-oat01-${who}`]));
      expect(gitIn(home.main, "show", `holdfast/${who}:who`)).toBe(who);
    }
  },
);
