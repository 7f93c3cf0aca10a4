/**
 * Owns `trust/<repo>.json` of a home: what a person accepted of a repo's file, on this machine. Each change
 * is made under a lock and replaces the file, so that none is lost when two are made at the same time. A file
 * that was changed otherwise counts as empty: nothing is accepted.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  type Disk,
  isPlainObject,
  openSealedJson,
  readPlainFile,
  replaceFile,
  sealJson,
  trustDir,
  withFileLock,
} from "../util/index.ts";
import { type Acceptance, noTrust, type Trust } from "./trust.ts";

/** The repo, by its key in this home. */
export interface TrustPlace {
  readonly homeDir: string;
  readonly repo: string;
}

const MAX_BYTES = 64 * 1024 * 1024;
const pathOf = ({ homeDir, repo }: TrustPlace) => join(trustDir(homeDir), `${repo}.json`);
const lockOf = ({ homeDir, repo }: TrustPlace) => join(trustDir(homeDir), `${repo}.lock`);

export function readTrust(place: TrustPlace): Trust {
  const bytes = readPlainFile(pathOf(place), { maxBytes: MAX_BYTES });
  const value = bytes && openSealedJson(bytes);
  if (!value) return noTrust;
  return {
    accepted: listIn(value["accepted"]).filter(isAcceptance),
    declined: textsIn(value["declined"]),
    pins: pinsIn(value["pins"]),
  };
}

export async function changeTrust(
  place: TrustPlace,
  disk: Disk,
  change: (trust: Trust) => Trust,
): Promise<Trust> {
  await mkdir(trustDir(place.homeDir), { recursive: true, mode: 0o700 });
  return withFileLock(lockOf(place), async () => {
    const trust = change(readTrust(place));
    await replaceFile(disk, pathOf(place), sealJson(trust));
    return trust;
  });
}

const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const isText = (value: unknown): value is string => typeof value === "string";
const textsIn = (value: unknown): string[] => listIn(value).filter(isText);

function pinsIn(value: unknown): Trust["pins"] {
  if (!isPlainObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((pin): pin is [string, string] => isText(pin[1])));
}

function isAcceptance(value: unknown): value is Acceptance {
  if (!isPlainObject(value)) return false;
  const { hash, at, words } = value;
  return isText(hash) && isText(at) && Array.isArray(words) && words.every(isText);
}
