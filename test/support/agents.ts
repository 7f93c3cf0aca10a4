/**
 * A home with a scripted model as its provider, and agents on PATH: one that speaks Claude Code's protocol, and one
 * that speaks the Agent Client Protocol in the place of opencode.
 */
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { manifestOf } from "../../src/agent/index.ts";
import type { JournalRecord } from "../../src/contract/index.ts";
import { type ScriptedModel, type Scripts, startScriptedModel } from "../../src/testing/index.ts";
import { readTextOr } from "../../src/util/index.ts";
import { type CliResult, runCli } from "./cli.ts";
import { HostHome } from "./hosts.ts";

export const PLANTED_KEY = "sk-ant-api03-planted-4f1d9c27ab";

/** The model's name selects an agent that misbehaves; without --print it is the agent's own interface. */
const CLAUDE = `#!/bin/sh
case "$*" in
  --version) echo "${manifestOf("claude")?.version} (Claude Code)"; exit ;;
  *"--model hostile-"*) program=hostile.ts ;;
  *--print*) program=claude.ts ;;
  *) program=terminal.ts ;;
esac
exec node "$(dirname "$0")/$program" "$@"
`;

const OPENCODE = `#!/bin/sh
[ "$*" != --version ] || exec echo ${manifestOf("opencode")?.version}
exec node "$(dirname "$0")/acp.ts" "$@"
`;

export class AgentHome extends HostHome {
  readonly model: ScriptedModel;
  readonly env: Record<string, string>;

  private constructor(model: ScriptedModel) {
    super();
    this.model = model;
    const bin = this.join("bin");
    mkdirSync(bin);
    const fixtures = join(import.meta.dirname, "..", "fixtures", "agents");
    for (const name of ["claude.ts", "hostile.ts", "terminal.ts", "acp.ts"])
      copyFileSync(join(fixtures, name), join(bin, name));
    writeFileSync(join(bin, "claude"), CLAUDE, { mode: 0o755 });
    writeFileSync(join(bin, "opencode"), OPENCODE, { mode: 0o755 });
    this.env = {
      PATH: [bin, process.env["PATH"]].join(delimiter),
      ANTHROPIC_API_KEY: PLANTED_KEY,
      GEMINI_API_KEY: PLANTED_KEY,
      OPENAI_API_KEY: PLANTED_KEY,
    };
    this.settings();
  }

  static async start(scripts: Scripts = {}): Promise<AgentHome> {
    return new AgentHome(await startScriptedModel({ scripts }));
  }

  settings(more = ""): void {
    mkdirSync(this.dir, { recursive: true, mode: 0o700 });
    const { url } = this.model;
    const all = Object.entries({ anthropic: url, openai: `${url}/v1`, gemini: url });
    const text = `providers:\n${all.map(([name, base]) => `  ${name}: { base_url: "${base}" }\n`).join("")}${more}`;
    writeFileSync(join(this.dir, "settings.yaml"), text, { mode: 0o600 });
  }

  holdfast(...args: string[]): Promise<CliResult> {
    return runCli(this.dir, args, this.env);
  }

  override spawnCli(...[args, options = {}]: Parameters<HostHome["spawnCli"]>) {
    return super.spawnCli(args, { ...options, env: { ...this.env, ...options.env } });
  }

  /** Runs a prompt as a task, in a new session of this name. */
  run(name: string, prompt: string, ...options: string[]): Promise<CliResult> {
    return this.holdfast("run", "--repo", this.main, "--name", name, ...options, prompt);
  }

  /** The pids of the broker, or of agents: of all, or of the one that has a conversation. */
  pidsOf(which: "agent" | "broker", conversation?: string): number[] {
    const isIt = (words: readonly string[]) =>
      which === "agent"
        ? words.includes(this.join("bin", "claude.ts")) && words.includes(conversation ?? "--verbose")
        : words.includes(this.dir) && words.some((word) => word.endsWith("/broker/main.js"));
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => isIt(readTextOr(`/proc/${pid}/cmdline`, "").split("\0")))
      .map(Number);
  }

  async records(name: string): Promise<JournalRecord[]> {
    const { stdout } = await this.holdfast("log", "--json", name);
    return stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.model[Symbol.asyncDispose]();
    this[Symbol.dispose]();
  }
}
