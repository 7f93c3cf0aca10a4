/**
 * What the command line says about keys: where they come from, and never the keys themselves.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runCli } from "../support/cli.ts";
import { TestHome } from "../support/home.ts";

const PLANTED = "sk-ant-api03-planted-on-the-command-line";

describe("keys on the command line", () => {
  it("doctor says for each provider whether it has a usable key, and shows no key", async () => {
    using home = new TestHome();
    mkdirSync(home.dir, { mode: 0o700 });
    writeFileSync(home.join("home", "settings.yaml"), "keys: { openai: { file: ~/openai.key } }\n");
    writeFileSync(home.join("openai.key"), PLANTED, { mode: 0o644 });
    const env = { HOME: home.path, GEMINI_API_KEY: PLANTED, ANTHROPIC_API_KEY: "" };
    const { stdout, stderr } = await runCli(home.dir, ["doctor"], env);
    expect(stdout).toMatch(/^note +keys +anthropic: no key: set ANTHROPIC_API_KEY.*log in with claude$/m);
    expect(stdout).toMatch(/^note +keys +openai: .*openai\.key has mode 644: other users can access it$/m);
    expect(stdout).toMatch(/^ok +keys +gemini: from GEMINI_API_KEY of your environment$/m);
    expect(stdout + stderr).not.toContain(PLANTED);
  });

  it("run warns about each key that is given to a task, and about no other variable", async () => {
    using home = new TestHome();
    mkdirSync(home.dir, { mode: 0o700 });
    const own = 'providers: { local: { api: openai, base_url: "http://127.0.0.1:1", key_env: LOCAL_KEY } }\n';
    writeFileSync(home.join("home", "settings.yaml"), own);
    const given = [
      "--env",
      "OPENAI_API_KEY",
      "--env",
      "LOCAL_KEY",
      "--env",
      "HARMLESS=x",
      "--env",
      "UNSET_HERE",
    ];
    const env = { OPENAI_API_KEY: PLANTED, LOCAL_KEY: PLANTED };
    const { stderr } = await runCli(home.dir, ["run", "--no-repo", ...given, "--", "true"], env);
    const warned = [...stderr.matchAll(/warning: the task can read (\w+)/g)].map(([, name]) => name);
    expect(warned).toEqual(["OPENAI_API_KEY", "LOCAL_KEY"]);
    expect(stderr).not.toContain(PLANTED);
  });
});
