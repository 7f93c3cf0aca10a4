/**
 * `holdfast agents`: which agents are installed, and what each was seen to do when it was tried.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { manifestOf } from "../../src/agent/index.ts";
import { runCli } from "../support/cli.ts";
import { TestHome } from "../support/home.ts";

/** Puts programs on PATH that only print a version. */
function withAgents(home: TestHome, versions: Readonly<Record<string, string>>): Record<string, string> {
  const bin = home.join("bin");
  mkdirSync(bin);
  for (const [name, says] of Object.entries(versions))
    writeFileSync(`${bin}/${name}`, `#!/bin/sh\necho '${says}'\n`, { mode: 0o755 });
  return { PATH: `${bin}:/usr/bin:/bin`, HOME: home.path };
}

describe("holdfast agents", () => {
  it("says what each agent can do, and whether that was tried with the installed version", async () => {
    using home = new TestHome();
    const tried = manifestOf("claude");
    const env = withAgents(home, {
      claude: `${tried?.version} (Claude Code)`,
      gemini: "0.0.1",
      goose: "none",
    });
    const { stdout } = await runCli(home.dir, ["agents"], env);
    const parts = stdout.split(/^(?=\S)/m);
    const [claude, gemini, goose] = ["claude", "gemini", "goose"].map((name) =>
      parts.find((part) => part.startsWith(name)),
    );
    expect(claude).toContain(`version ${tried?.version}, tried on ${tried?.triedOn}`);
    expect(claude).toMatch(/^ +can .*hear a message in the middle of a turn/m);
    expect(gemini).toMatch(/version 0\.0\.1; version \S+ was tried on \S+, and this one may differ/);
    expect(gemini).toMatch(/^ +can't .*hear a message in the middle of a turn/m);
    expect(goose).toContain("version unknown");
    expect(stdout).toMatch(/^opencode +not on PATH$/m);
  });

  it("--json has the version and the manifest of each agent", async () => {
    using home = new TestHome();
    const env = withAgents(home, { gemini: "0.0.1" });
    const { stdout } = await runCli(home.dir, ["agents", "--json"], env);
    const found = JSON.parse(stdout).find(({ name }: { name: string }) => name === "gemini");
    expect(found).toMatchObject({ version: "0.0.1", tried: { agent: "gemini", can: { refuseCalls: true } } });
  });
});
