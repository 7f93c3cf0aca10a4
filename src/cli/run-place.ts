/**
 * Owns the options of `run` that say where a task begins.
 */
import type { Command } from "commander";
import type { SubmitOptions } from "../dispatch/index.ts";
import { present } from "../util/index.ts";

export interface PlaceOptions {
  readonly repo?: string;
  readonly cwd?: string;
}

export function withPlace(command: Command): Command {
  return command.option(
    "--cwd <dir>",
    "start in this directory of the repo (default: where you are in it, else its top)",
  );
}

export function placeOf({ repo, cwd }: PlaceOptions): Pick<SubmitOptions, "where"> {
  return { where: { here: process.cwd(), ...present({ repo, cwd }) } };
}
