/**
 * Owns `serve.json`: which process serves a home now, and how it is reached.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type ProcessIdentity, readProcessFile, writeProcessFile } from "../util/index.ts";

export interface ServeRecord extends ProcessIdentity {
  readonly bell: string;
  /** A path, or a host and a port. */
  readonly address: string;
}

const serveFile = (homeDir: string) => join(homeDir, "serve.json");

export function readServeRecord(homeDir: string): ServeRecord | undefined {
  const { identity, facts } = readProcessFile(serveFile(homeDir)) ?? {};
  const { bell, address } = facts ?? {};
  if (!identity || typeof bell !== "string" || typeof address !== "string") return undefined;
  return { ...identity, bell, address };
}

export function writeServeRecord(
  homeDir: string,
  record: Omit<ServeRecord, keyof ProcessIdentity>,
): Promise<void> {
  return writeProcessFile(serveFile(homeDir), record);
}

export function removeServeRecord(homeDir: string): void {
  rmSync(serveFile(homeDir), { force: true });
}
