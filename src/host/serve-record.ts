/**
 * Owns `serve.json`: which process serves a home now, and how to reach it.
 */
import { rmSync } from "node:fs";
import { type ProcessIdentity, readProcessFile, serveRecordPath, writeProcessFile } from "../util/index.ts";

export interface ServeRecord extends ProcessIdentity {
  readonly bell: string;
  /** A path, or a host and a port. */
  readonly address: string;
}

export function readServeRecord(homeDir: string): ServeRecord | undefined {
  const { identity, facts } = readProcessFile(serveRecordPath(homeDir)) ?? {};
  const { bell, address } = facts ?? {};
  if (!identity || typeof bell !== "string" || typeof address !== "string") return undefined;
  return { ...identity, bell, address };
}

export function writeServeRecord(
  homeDir: string,
  record: Omit<ServeRecord, keyof ProcessIdentity>,
): Promise<void> {
  return writeProcessFile(serveRecordPath(homeDir), record);
}

export function removeServeRecord(homeDir: string): void {
  rmSync(serveRecordPath(homeDir), { force: true });
}
