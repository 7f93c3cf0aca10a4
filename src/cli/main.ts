#!/usr/bin/env node
/**
 * Owns the command's entrance. What needs nothing loads nothing; everything else is behind the one import.
 */
import { existsSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { verbs } from "./verbs.ts";

const [name = "--help", ...rest] = process.argv.slice(2);

if (name === "--version" || name === "-V") process.stdout.write(`${packageJson.version}\n`);
else if (name === "--help" || name === "-h" || (name === "help" && rest.length === 0))
  process.stdout.write(overview());
else {
  keepCompiledCode();
  const { runVerb } = await import("./run-verb.ts");
  process.exitCode = await runVerb(name, rest);
}

/** In the home, if there is one: it is nobody else's, and a start is mostly compiling. */
function keepCompiledCode(): void {
  const home = process.env["HOLDFAST_HOME"] || join(homedir(), ".holdfast");
  if (existsSync(home)) module.enableCompileCache?.(join(home, "cache"));
}

function overview(): string {
  const width = Math.max(...verbs.map(({ name }) => name.length));
  const lines = verbs.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return `holdfast: durable, isolated sessions for AI coding agents

Usage: holdfast <verb> [options]

${lines.join("\n")}

holdfast <verb> --help tells more. A session's id may be given by any unambiguous beginning of it.
`;
}
