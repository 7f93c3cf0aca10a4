/**
 * Owns `host.json`: which process has a session now, and where its sockets are. It is only a hint, as
 * owner.json is: a reader checks whether the process is alive.
 */
import { rmSync } from "node:fs";
import { type ProcessIdentity, processRecordPath, readProcessFile, writeProcessFile } from "../util/index.ts";

export interface ProcessRecord extends ProcessIdentity {
  /** The epoch of the journal's owner. */
  readonly epoch: number;
  readonly bell: string | null;
  /** The terminal's socket; set while the command has a terminal. */
  readonly terminal: string | null;
}

export function writeProcessRecord(
  sessionDir: string,
  record: Omit<ProcessRecord, keyof ProcessIdentity>,
): Promise<void> {
  return writeProcessFile(processRecordPath(sessionDir), record);
}

export function removeProcessRecord(sessionDir: string): void {
  rmSync(processRecordPath(sessionDir), { force: true });
}

/** The session process, if it is alive. */
export function readProcessRecord(sessionDir: string): ProcessRecord | undefined {
  const { identity, facts } = readProcessFile(processRecordPath(sessionDir)) ?? {};
  if (!identity || !facts) return undefined;
  const path = (name: string) => (typeof facts[name] === "string" ? (facts[name] as string) : null);
  const epoch = typeof facts["epoch"] === "number" ? facts["epoch"] : 0;
  return { ...identity, epoch, bell: path("bell"), terminal: path("terminal") };
}
