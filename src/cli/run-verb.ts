/**
 * Owns the running of a verb: finds it, loads only that one, and turns every failure into one line on stderr
 * and an exit status.
 */
import { CommanderError } from "commander";
import { exitStatus, HoldfastError, isHoldfastError } from "../contract/index.ts";
import { dropSpare, keepSpare, type Spare } from "../host/index.ts";
import { isDiskFull } from "../util/index.ts";
import { closest } from "./closest.ts";
import { complain } from "./complain.ts";
import { progress } from "./progress.ts";
import { verbs } from "./verbs.ts";

/**
 * Resolves to the exit status. `spare`: a session process that was started early because the verb may need
 * one.
 */
export async function runVerb(name: string, args: readonly string[], spare?: Spare): Promise<number> {
  process.stdout.on("error", onBrokenOutput);
  keepSpare(spare);
  try {
    return await run(name, args);
  } catch (error) {
    progress.end();
    return statusOf(error);
  } finally {
    progress.end();
    await dropSpare();
  }
}

async function run(name: string, rest: readonly string[]): Promise<number> {
  const isHelp = name === "help";
  const wanted = isHelp ? rest[0] : name;
  const verb = verbs.find((one) => one.name === wanted);
  if (!verb) throw noVerb(wanted ?? "");
  const command = (await verb.load()).command();
  command.exitOverride().configureOutput({ writeErr: () => {} });
  await command.parseAsync(isHelp ? ["--help"] : [...rest], { from: "user" });
  return typeof process.exitCode === "number" ? process.exitCode : exitStatus.done;
}

function noVerb(wanted: string): HoldfastError {
  const meant = closest(
    wanted,
    verbs.map(({ name }) => name),
  );
  const guess = meant.length > 0 ? `: did you mean ${meant.join(" or ")}?` : "";
  return new HoldfastError("usage", `${JSON.stringify(wanted)} is not a verb${guess}`);
}

function statusOf(error: unknown): number {
  if (isHoldfastError(error)) {
    complain(error.code, error.message, error.wayOut);
    return error.exitStatus;
  }
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitStatus.done;
    const message = error.message
      .replace(/^error: /, "")
      .replace(/\n\(Did you mean (?:one of )?(.*)\?\)$/, ": did you mean $1?")
      .replace(/\s*\n\s*/g, " ");
    complain("usage", message, `see holdfast ${process.argv[2] ?? ""} --help`);
    return exitStatus.usage;
  }
  if (isDiskFull(error)) return statusOf(new HoldfastError("disk_full", "the disk is full"));
  if (error instanceof Error && "syscall" in error && error.syscall === "uv_cwd")
    return statusOf(new HoldfastError("directory_gone", "the directory that you are in was removed"));
  const reason = error instanceof Error ? error.message : String(error);
  complain("bug", reason, "please report it; HOLDFAST_DEBUG=1 shows where it happened");
  if (process.env["HOLDFAST_DEBUG"] && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  return exitStatus.bug;
}

/** A reader that has read enough closes the pipe. That is no failure. */
function onBrokenOutput(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit(exitStatus.done);
  complain("file_unwritable", `the output can't be written: ${error.message}`, "check where it goes");
  process.exit(exitStatus.refused);
}
