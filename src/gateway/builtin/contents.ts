/**
 * Owns the contents of a capsule's files, as the tools read and write them: whole files, as text. A file is
 * written beside its place and moved there, so a process that reads it gets either the old or the new
 * content.
 */
import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  writeSync,
} from "node:fs";
import { hasGitLike } from "../../capsule/index.ts";
import type { TaskUser } from "../../process/index.ts";
import type { Found } from "./reach.ts";
import { CantDo } from "./tool.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
/** Larger files are for commands, which need not hold all of them in memory. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

export function readText({ dir, name, stats, shown }: Found): string {
  if (!stats) throw new CantDo(`${shown}: there is no such file`);
  assertPlain(stats, shown);
  using file = dir.file(name);
  if (file.size > MAX_FILE_BYTES)
    throw new CantDo(
      `${shown}: it has ${file.size} bytes, more than the ${MAX_FILE_BYTES} that can be read; use a command`,
    );
  const bytes = Buffer.concat([...file.chunks()]);
  if (bytes.includes(0)) throw new CantDo(`${shown}: it is a binary file of ${bytes.length} bytes`);
  if (!isUtf8(bytes)) throw new CantDo(`${shown}: it is not UTF-8 text`);
  return bytes.toString("utf8");
}

/** Fails if the file may not be written at all. */
export function assertWritable({ stats, path, shown }: Found): void {
  if (hasGitLike(path)) throw new CantDo(`${shown}: only git may write its own files`, "refused");
  if (!stats) return;
  assertPlain(stats, shown);
  if ((stats.mode & 0o200) === 0) throw new CantDo(`${shown}: its permissions make it read-only`);
}

/** The file must still be the one that `stats` describes. */
export function putText({ dir, name, stats, shown }: Found, text: string, user: TaskUser | undefined): void {
  const content = Buffer.from(text);
  if (content.length > MAX_FILE_BYTES)
    throw new CantDo(`${shown}: ${content.length} bytes are more than the maximum of ${MAX_FILE_BYTES}`);
  const temporary = `.holdfast-${randomUUID()}`;
  const fd = openSync(dir.at(temporary), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    try {
      for (let at = 0; at < content.length; ) at += writeSync(fd, content, at);
      if (user) fchownSync(fd, user.uid, user.gid);
      fchmodSync(fd, stats ? stats.mode & 0o777 : 0o644);
    } finally {
      closeSync(fd);
    }
    if (!isSame(stats, dir.stat(name))) throw new CantDo(`${shown}: it was changed meanwhile; read it again`);
    renameSync(dir.at(temporary), dir.at(name));
  } catch (error) {
    rmSync(dir.at(temporary), { force: true });
    throw error;
  }
}

const isSame = (before: Stats | undefined, now: Stats | undefined) =>
  before?.ino === now?.ino && before?.ctimeMs === now?.ctimeMs && before?.size === now?.size;

function assertPlain(stats: Stats, shown: string): void {
  if (!stats.isFile()) throw new CantDo(`${shown}: it is ${kindOf(stats)}, not a file with contents`);
}

export function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return "a directory";
  if (stats.isFIFO()) return "a pipe";
  if (stats.isSocket()) return "a socket";
  return stats.isSymbolicLink() ? "a link" : "a device";
}
