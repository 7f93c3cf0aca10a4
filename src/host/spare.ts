/**
 * Owns the session process that was started early: it is given to the first session that needs one, or ends.
 */
import { renameSync, rmSync } from "node:fs";
import type { Connected } from "../process/index.ts";
import type { Spare } from "./early.ts";

let spare: Spare | undefined;

export function keepSpare(started: Spare | undefined): void {
  spare = started;
}

/** Its log has this name from now on. */
export async function takeSpare(homeDir: string, logPath: string): Promise<Connected | undefined> {
  if (spare?.homeDir !== homeDir) return undefined;
  const taken = spare;
  spare = undefined;
  const connected = await taken.started;
  if (connected) renameSync(taken.logPath, logPath);
  return connected;
}

/** It ends at that. */
export async function dropSpare(): Promise<void> {
  const dropped = spare;
  spare = undefined;
  (await dropped?.started)?.connection.destroy();
  if (dropped) rmSync(dropped.logPath, { force: true });
}
