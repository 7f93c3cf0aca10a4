#!/usr/bin/env -S node --
/**
 * Owns the command's entrance. The fast paths load nothing; everything else is loaded by the one import
 * below. The -- in the first line is for Node, which would otherwise take an --env-file after our own name
 * for its own option and load that file.
 */
import { existsSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { HoldfastError } from "../contract/index.ts";
import type { Spare } from "../host/index.ts";
import { cacheDir } from "../util/index.ts";
import { complain } from "./complain.ts";
import { fullOverview, overview } from "./overview.ts";

const MIN_NODE = 24;

const [name = "--help", ...rest] = process.argv.slice(2);
const home = process.env["HOLDFAST_HOME"] || join(homedir(), ".holdfast");

if (name === "--version" || name === "-V") process.stdout.write(`${packageJson.version}\n`);
else if (name === "--help" || name === "-h") process.stdout.write(overview());
else if (name === "help" && rest.length === 0) process.stdout.write(fullOverview());
else if (Number(process.versions.node.split(".")[0]) < MIN_NODE) refuseOldNode();
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

/** Before the program is loaded, because loading it fails without the modules that an older Node lacks. */
function refuseOldNode(): void {
  const { code, message, wayOut, exitStatus } = new HoldfastError(
    "node_too_old",
    `holdfast needs Node ${MIN_NODE} or newer, and this is ${process.version}`,
  );
  complain(code, message, wayOut);
  process.exitCode = exitStatus;
}

/** The session process loads its program while this process loads its own. */
async function early(homeDir: string): Promise<Spare> {
  return (await import("../host/early.ts")).startSpare(homeDir);
}

/** A guess from the arguments alone. If it is wrong, the process that was started early just ends. */
function opensSession(words: readonly string[]): boolean {
  const options = words.slice(0, words.includes("--") ? words.indexOf("--") : undefined);
  const others = /^(-h|--help|--session|--home)(=|$)/;
  return words.length > 0 && !options.some((word) => others.test(word));
}

/**
 * Compiled code is cached in the home, if there is one: no other user can write there, and a start is mostly
 * compiling.
 */
function keepCompiledCode(): void {
  if (existsSync(home)) module.enableCompileCache?.(cacheDir(home));
}
