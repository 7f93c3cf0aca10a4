/**
 * Installs the agents that test/agents drives, each in the version that it was tried with, and runs these tests. They
 * go into a cache folder outside of the project and are no dependency of it: some are not free software, and all are
 * large. What can't be installed is left out, and said.
 *
 * Arguments are names of agents, all without any. With --write, what is seen of them becomes their manifest
 * (src/agent/manifests.json); else it has to be what stands there. With --install-only nothing is run. HOLDFAST_AGENTS is
 * the folder; not below /tmp, which is another one in a sandbox.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

interface Agent {
  readonly name: string;
  readonly package: string;
  readonly version: string;
  /** What it calls itself, where that is not the version of its package. */
  readonly says?: string;
  readonly license: string;
}

const agents: readonly Agent[] = [
  { name: "gemini", package: "@google/gemini-cli", version: "0.61.0", license: "Apache-2.0" },
  { name: "opencode", package: "opencode-ai", version: "1.18.33", license: "MIT" },
  { name: "goose", package: "@aaif/goose", version: "0.20.1", says: "1.34.0", license: "Apache-2.0" },
  { name: "codex", package: "@openai/codex", version: "0.166.0", license: "Apache-2.0" },
  { name: "pi", package: "@earendil-works/pi-coding-agent", version: "0.87.1", license: "MIT" },
  { name: "claude", package: "@anthropic-ai/claude-code", version: "2.1.325", license: "proprietary" },
];

const root = join(import.meta.dirname, "..");
const folder = process.env["HOLDFAST_AGENTS"] ?? join(homedir(), ".cache", "holdfast-agents");
const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: { write: { type: "boolean" }, "install-only": { type: "boolean" } },
});
const unknown = names.filter((name) => !agents.some((agent) => agent.name === name));
if (unknown.length > 0) {
  say(`${unknown.join(", ")}: no such agent; there are ${agents.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

mkdirSync(folder, { recursive: true });
// Without one, npm would install into a folder above.
if (!existsSync(join(folder, "package.json")))
  writeFileSync(join(folder, "package.json"), '{"private":true}\n');
for (const agent of agents) {
  if (names.length === 0 || names.includes(agent.name)) install(agent);
  else say(`left out: ${agent.name} (${agent.license}): it was not asked for`);
}
if (options["install-only"]) process.exit(0);
const wanted = names.length > 0 ? ["-t", `(?:^| )(?:${names.join("|")})[ :]`] : [];
const { status } = spawnSync("vitest", ["run", "test/agents", ...wanted], {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, HOLDFAST_AGENTS: folder, ...(options.write && { HOLDFAST_MANIFEST: "write" }) },
});
if (options.write) spawnSync("biome", ["format", "--write", "src/agent/manifests.json"], { cwd: root });
process.exit(status ?? 1);

function install(agent: Agent): void {
  const { name, version, license } = agent;
  if (isThere(agent)) {
    say(`${name} ${version} is there`);
    return;
  }
  say(`installing ${name} ${version} (${license}) into ${folder} …`);
  const args = ["install", "--save-exact", "--no-audit", "--no-fund", "--loglevel", "error"];
  const { status, stderr, error } = spawnSync("npm", [...args, `${agent.package}@${version}`], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (status !== 0) say(`left out: ${name}: npm failed: ${error?.message ?? firstLine(stderr)}`);
  else if (!isThere(agent)) say(`left out: ${name}: it was installed, and does not start`);
}

/** Asks it: where install scripts are switched off or were cut short, there is a package that does nothing. */
function isThere({ name, version, says = version }: Agent): boolean {
  const program = join(folder, "node_modules", ".bin", name);
  // With a HOME of its own, because some write there even now.
  const env = { ...process.env, HOME: folder };
  const { stdout } = spawnSync(program, ["--version"], { encoding: "utf8", env });
  return stdout?.includes(says) ?? false;
}

function firstLine(text: string): string {
  return text.split("\n").find((line) => /error/i.test(line)) ?? "it said nothing";
}

function say(text: string): void {
  process.stderr.write(`agents: ${text}\n`);
}
