/**
 * Owns reading the operator's public key, with which grants are verified. A key that another user could have
 * put there, or that a link leads to, is not accepted.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import { lstatSync, type Stats } from "node:fs";
import { join } from "node:path";
import { HoldfastError } from "../contract/index.ts";
import { isOwnUid, operatorDir, readPlainFile } from "../util/index.ts";

/** A key in PEM has about 120 bytes. */
const MAX_KEY_BYTES = 4096;

export const operatorPublicPath = (homeDir: string) => join(operatorDir(homeDir), "public.pem");

/** Throws `grant_invalid` if there is no reliable key. */
export function readOperatorPublicKey(homeDir: string): KeyObject {
  const path = operatorPublicPath(homeDir);
  const directory = lstatSync(operatorDir(homeDir), { throwIfNoEntry: false });
  const file = lstatSync(path, { throwIfNoEntry: false });
  if (!directory || !file) throw unreadable("this home has no operator key yet");
  if (!directory.isDirectory() || !isPrivate(directory))
    throw unreadable(`${operatorDir(homeDir)} is not a directory of mode 700 of your own`);
  const bytes =
    file.isFile() && isPrivate(file) ? readPlainFile(path, { maxBytes: MAX_KEY_BYTES }) : undefined;
  if (!bytes) throw unreadable(`${path} is not a plain file of mode 600 of your own`);
  const key = keyIn(bytes);
  if (key?.asymmetricKeyType !== "ed25519") throw unreadable(`${path} is not an Ed25519 key`);
  return key;
}

/** A private key contains a public half, which must not be used here. */
function keyIn(bytes: Buffer): KeyObject | undefined {
  if (!bytes.toString("latin1").startsWith("-----BEGIN PUBLIC KEY-----")) return undefined;
  try {
    return createPublicKey(bytes);
  } catch {
    return undefined;
  }
}

const isPrivate = ({ uid, mode }: Stats) => isOwnUid(uid) && (mode & 0o077) === 0;

const unreadable = (reason: string) => new HoldfastError("grant_invalid", reason);
