/**
 * Owns the operator's key pair: it is made on its first use, in `operator/` of the home, which no sandbox
 * shows. The private half is read here and nowhere else; session processes read the public half.
 *
 * operator-1 A home has one key: if two processes make it at the same time, the first link wins, and both use
 *            that one.
 * operator-2 A key that others could have read or put there is not used.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { lstatSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { operatorPublicPath, readOperatorPublicKey } from "../approval/index.ts";
import { HoldfastError } from "../contract/index.ts";
import type { Home } from "../home/index.ts";
import {
  createFile,
  type Disk,
  errorCode,
  isOwnUid,
  operatorDir,
  readPlainFile,
  replaceFile,
  temporaryPath,
} from "../util/index.ts";

const MAX_KEY_BYTES = 4096;
const keyPath = (homeDir: string) => join(operatorDir(homeDir), "key.pem");

/** The private half. When this resolves, the public half is on disk, too. */
export async function operatorKey({ dir, io }: Pick<Home, "dir" | "io">): Promise<KeyObject> {
  await makeDir(io.disk, operatorDir(dir));
  const path = keyPath(dir);
  if (!lstatSync(path, { throwIfNoEntry: false })) await makeKey(io.disk, path);
  const key = readKey(path);
  await publish(io.disk, dir, key);
  return key;
}

async function makeDir(disk: Disk, path: string): Promise<void> {
  await disk.mkdir(path).then(
    () => disk.syncDir(dirname(path)),
    (error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
    },
  );
  const stats = lstatSync(path);
  if (!stats.isDirectory() || !isPrivate(stats)) throw unsafe(path, "a directory of your own with mode 700");
}

async function makeKey(disk: Disk, path: string): Promise<void> {
  const { privateKey } = generateKeyPairSync("ed25519");
  const temporary = temporaryPath(path);
  await createFile(disk, temporary, Buffer.from(privateKey.export({ format: "pem", type: "pkcs8" })));
  try {
    await disk.link(temporary, path);
  } catch (error) {
    // operator-1: another process was first.
    if (errorCode(error) !== "EEXIST") throw error;
  } finally {
    await disk.unlink(temporary);
  }
  await disk.syncDir(dirname(path));
}

/** operator-2 */
function readKey(path: string): KeyObject {
  const stats = lstatSync(path);
  const bytes =
    stats.isFile() && isPrivate(stats) ? readPlainFile(path, { maxBytes: MAX_KEY_BYTES }) : undefined;
  if (!bytes) throw unsafe(path, "a plain file of your own with mode 600");
  const key = keyIn(bytes);
  if (key?.asymmetricKeyType === "ed25519") return key;
  throw new HoldfastError("grant_invalid", `${path} is not an Ed25519 key`);
}

function keyIn(bytes: Buffer): KeyObject | undefined {
  try {
    return createPrivateKey(bytes);
  } catch {
    return undefined;
  }
}

/**
 * A kill may have come between the two files. A public half that belongs to another key is not replaced: a
 * person has to look at it.
 */
async function publish(disk: Disk, homeDir: string, key: KeyObject): Promise<void> {
  const own = createPublicKey(key);
  const path = operatorPublicPath(homeDir);
  if (!lstatSync(path, { throwIfNoEntry: false }))
    await replaceFile(disk, path, Buffer.from(own.export({ format: "pem", type: "spki" })));
  if (!readOperatorPublicKey(homeDir).equals(own))
    throw new HoldfastError("grant_invalid", `${path} does not belong to key.pem beside it`);
}

const isPrivate = ({ uid, mode }: Stats) => isOwnUid(uid) && (mode & 0o077) === 0;

const unsafe = (path: string, what: string) =>
  new HoldfastError("unsafe_permissions", `${path} is not ${what}`, { path });
