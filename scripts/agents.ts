/**
 * Installs the agents that test/agents drives, each in the version that it was tried with, and runs these
 * tests. They go into a cache folder outside the project and are no dependency of it: some are not free
 * software, and all are large. Agents that can't be installed are left out, and named. Arguments are names of
 * agents; without any, all are used. With --write, what is seen of them becomes their manifest
 * (src/agent/manifests.json); otherwise it has to match the manifest. With --install-only no tests are run.
 * HOLDFAST_AGENTS is the folder; it must not be below /tmp, which is another directory inside a sandbox.
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
  /** The version that it reports, if that is not the version of its package. */
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
  say(`${unknown.join(", ")}: no such agent; the agents are ${agents.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

mkdirSync(folder, { recursive: true });
// Without a package.json here, npm would install into a folder above.
if (!existsSync(join(folder, "package.json")))
  writeFileSync(join(folder, "package.json"), '{"private":true}\n');
for (const agent of agents) {
  if (names.length === 0 || names.includes(agent.name)) install(agent);
  else say(`left out: ${agent.name} (${agent.license}): it was not named`);
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
    say(`${name} ${version} is installed`);
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
  else if (!isThere(agent)) say(`left out: ${name}: it was installed, but does not start`);
}

/**
 * Starts it to find out: if install scripts are switched off or were cut short, the package is there but does
 * nothing.
 */
function isThere({ name, version, says = version }: Agent): boolean {
  const program = join(folder, "node_modules", ".bin", name);
  // With a HOME of its own, because some agents write there even for this.
  const env = { ...process.env, HOME: folder };
  const { stdout } = spawnSync(program, ["--version"], { encoding: "utf8", env });
  return stdout?.includes(says) ?? false;
}

function firstLine(text: string): string {
  return text.split("\n").find((line) => /error/i.test(line)) ?? "it reported nothing";
}

function say(text: string): void {
  process.stderr.write(`agents: ${text}\n`);
}
