#!/usr/bin/env node
/**
 * Owns the command's entrance: finds the verb, loads only that one, and turns every failure into one line on
 * stderr and an exit status.
 */
import { CommanderError } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { exitStatus, HoldfastError, isHoldfastError } from "../contract/index.ts";
import { printable } from "../util/index.ts";
import { verbs } from "./verbs.ts";

const MIN_NODE = 24;

async function main(args: readonly string[]): Promise<number> {
  const [name = "--help", ...rest] = args;
  if (name === "--version" || name === "-V") {
    process.stdout.write(`${packageJson.version}\n`);
    return exitStatus.done;
  }
  if (name === "--help" || name === "-h" || (name === "help" && rest.length === 0)) {
    process.stdout.write(overview());
    return exitStatus.done;
  }
  if (Number(process.versions.node.split(".")[0]) < MIN_NODE) {
    throw new HoldfastError(
      "node_too_old",
      `holdfast needs Node ${MIN_NODE} or newer, this is ${process.version}`,
    );
  }
  const isHelp = name === "help";
  const wanted = isHelp ? rest[0] : name;
  const verb = verbs.find((one) => one.name === wanted);
  if (!verb) throw new HoldfastError("usage", `${JSON.stringify(wanted)} is not a verb`);
  const command = (await verb.load()).command(verbs.map((one) => one.name));
  command.exitOverride().configureOutput({ writeErr: () => {} });
  await command.parseAsync(isHelp ? ["--help"] : rest, { from: "user" });
  return typeof process.exitCode === "number" ? process.exitCode : exitStatus.done;
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

function complain(code: string, message: string, wayOut: string): void {
  process.stderr.write(`holdfast: ${code}: ${printable(message)} (${printable(wayOut)})\n`);
}

function statusOf(error: unknown): number {
  if (isHoldfastError(error)) {
    complain(error.code, error.message, error.wayOut);
    return error.exitStatus;
  }
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitStatus.done;
    const message = error.message.replace(/^error: /, "").replace(/\s*\n\s*/g, " ");
    complain("usage", message, `see holdfast ${process.argv[2] ?? ""} --help`);
    return exitStatus.usage;
  }
  const reason = error instanceof Error ? error.message : String(error);
  complain("bug", reason, "please report it; HOLDFAST_DEBUG=1 shows where it happened");
  if (process.env["HOLDFAST_DEBUG"] && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  return exitStatus.bug;
}

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough closes the pipe: that is no failure.
  if (error.code === "EPIPE") process.exit(exitStatus.done);
  complain("file_unwritable", `the output can't be written: ${error.message}`, "check where it goes");
  process.exit(exitStatus.refused);
});

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.exitCode = statusOf(error);
}
