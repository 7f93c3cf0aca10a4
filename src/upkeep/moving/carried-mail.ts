/**
 * Owns the messages of an inbox that an export takes along. It takes only messages: a task or a request was
 * meant for the session in its old place.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import {
  decodeEnvelope,
  idOf,
  MAX_ENVELOPE_BYTES,
  MAX_WAITING,
  Maildir,
  maildirDirs,
} from "../../mail/index.ts";
import { type Disk, IN_SESSION, inboxDir } from "../../util/index.ts";
import { filePart, type Part } from "./parts.ts";

const FOLDER = `${join(inboxDir(IN_SESSION), "new")}/`;
/** More than `send` allows in an inbox, even when many senders write at once. */
export const MAX_CARRIED = 2 * MAX_WAITING;

const inboxOf = (disk: Disk, dir: string) => new Maildir(disk, inboxDir(dir));

export interface MessagePart extends Part {
  readonly id: string;
}

/** Makes copies, because each message may be taken in at any moment. */
export async function messageParts(disk: Disk, dir: string, aside: string): Promise<MessagePart[]> {
  // By their ids: two writers may have put in the same message at the same moment.
  const parts = new Map<string, MessagePart>();
  const inbox = inboxOf(disk, dir);
  for (const name of await inbox.waiting()) {
    const [id, bytes] = [idOf(name), await inbox.read(name)];
    if (!bytes || !isMessage(name, bytes) || parts.has(id)) continue;
    const copy = join(aside, `message-${parts.size}`);
    await writeFile(copy, bytes, { mode: 0o600 });
    parts.set(id, { id, ...filePart(`${FOLDER}${name}`, copy) });
  }
  if (parts.size <= MAX_CARRIED) return [...parts.values()];
  throw new HoldfastError(
    "inbox_full",
    `${parts.size} messages wait in the inbox, and an export takes at most ${MAX_CARRIED}: resume the session first`,
  );
}

/** Whether a path of an export is one that a message may have. */
export function isMessagePath(path: string, bytes: number): boolean {
  const name = path.slice(FOLDER.length);
  return path.startsWith(FOLDER) && idOf(name) !== name && bytes <= MAX_ENVELOPE_BYTES;
}

/** The ids of the messages that came along; undefined if one of them is not a message, or came twice. */
export async function readCarried(
  staged: string,
  paths: readonly string[],
): Promise<ReadonlySet<string> | undefined> {
  const ids = new Set<string>();
  for (const path of paths) {
    const name = path.slice(FOLDER.length);
    if (ids.has(idOf(name)) || !isMessage(name, await readFile(join(staged, path)))) return undefined;
    ids.add(idOf(name));
  }
  return ids;
}

function isMessage(name: string, bytes: Buffer): boolean {
  const envelope = decodeEnvelope(bytes);
  return envelope?.kind === "message" && idOf(name) !== name && envelope.id === idOf(name);
}

/** The directories of an inbox. */
export const INBOX_DIRS = maildirDirs(inboxDir(IN_SESSION));
