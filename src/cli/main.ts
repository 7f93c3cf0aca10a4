#!/usr/bin/env -S node --
/**
 * Owns the command's entrance. What needs nothing loads nothing; everything else is behind the one import.
 *
 * The -- above is for Node: it would take an --env-file behind our own name for its own, and do what stands in it.
 */
import { existsSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { cacheDir } from "../util/index.ts";
import { fullOverview, overview } from "./overview.ts";

const [name = "--help", ...rest] = process.argv.slice(2);

if (name === "--version" || name === "-V") process.stdout.write(`${packageJson.version}\n`);
else if (name === "--help" || name === "-h") process.stdout.write(overview());
else if (name === "help" && rest.length === 0) process.stdout.write(fullOverview());
else if (name === "__complete") {
  keepCompiledCode();
  await (await import("./complete.ts")).complete(rest);
} else {
  keepCompiledCode();
  const { runVerb } = await import("./run-verb.ts");
  process.exitCode = await runVerb(name, rest);
}

/** In the home, if there is one: it is nobody else's, and a start is mostly compiling. */
function keepCompiledCode(): void {
  const home = process.env["HOLDFAST_HOME"] || join(homedir(), ".holdfast");
  if (existsSync(home)) module.enableCompileCache?.(cacheDir(home));
}
