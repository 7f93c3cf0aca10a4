#!/usr/bin/env -S node --
/**
 * Owns the command's entrance. What needs nothing loads nothing; everything else is behind the one import.
 *
 * The -- above is for Node: it would take an --env-file behind our own name for its own, and do what stands in it.
 */
import { existsSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import type { Spare } from "../host/index.ts";
import { cacheDir } from "../util/index.ts";
import { fullOverview, overview } from "./overview.ts";

const [name = "--help", ...rest] = process.argv.slice(2);
const home = process.env["HOLDFAST_HOME"] || join(homedir(), ".holdfast");

if (name === "--version" || name === "-V") process.stdout.write(`${packageJson.version}\n`);
else if (name === "--help" || name === "-h") process.stdout.write(overview());
else if (name === "help" && rest.length === 0) process.stdout.write(fullOverview());
else if (name === "__complete") {
  keepCompiledCode();
  await (await import("./complete.ts")).complete(rest);
} else {
  keepCompiledCode();
  const spare =
    name === "run" && opensSession(rest) && existsSync(home) ? await early(resolve(home)) : undefined;
  const { runVerb } = await import("./run-verb.ts");
  process.exitCode = await runVerb(name, rest, spare);
}

/** It loads its program while we load ours. */
async function early(homeDir: string): Promise<Spare> {
  return (await import("../host/early.ts")).startSpare(homeDir);
}

/** As far as that can be told at a glance: where it does not, a process is started in vain, and ends. */
function opensSession(words: readonly string[]): boolean {
  const options = words.slice(0, words.includes("--") ? words.indexOf("--") : undefined);
  const others = /^(-h|--help|--session|--home)(=|$)/;
  return words.length > 0 && !options.some((word) => others.test(word));
}

/** In the home, if there is one: it is nobody else's, and a start is mostly compiling. */
function keepCompiledCode(): void {
  if (existsSync(home)) module.enableCompileCache?.(cacheDir(home));
}
