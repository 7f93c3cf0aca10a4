/**
 * Owns writing an artifact, a file that a task leaves. It is built aside, renamed into place and then
 * recorded. It contains no value of an environment.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Secret, withoutValuesIn } from "../../redaction/index.ts";
import type { Session } from "../../session/index.ts";
import { artifactsDir, type Disk, temporaryPath } from "../../util/index.ts";

export interface ArtifactRoom {
  readonly session: Session;
  readonly sessionDir: string;
  readonly disk: Disk;
}

interface ArtifactFacts {
  readonly turn?: number;
  readonly isCut?: boolean;
}

/** `write` fills the file at the path that it is given, and returns further fields for the record. */
export async function writeArtifact(
  { session, sessionDir, disk }: ArtifactRoom,
  { task, name }: { readonly task: number; readonly name: string },
  write: (path: string) => Promise<ArtifactFacts>,
): Promise<string> {
  const dir = artifactsDir(sessionDir, task);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, name);
  const temporary = temporaryPath(path);
  const digest = createHash("sha256");
  let bytes = 0;
  let facts: ArtifactFacts;
  try {
    facts = await write(temporary);
    const { secrets } = session;
    if (secrets.length > 0) await redactFile(temporary, secrets);
    for await (const chunk of createReadStream(temporary) as AsyncIterable<Buffer>) {
      digest.update(chunk);
      bytes += chunk.length;
    }
    await disk.rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
  await disk.syncDir(dir);
  await session.append("artifact_written", {
    task,
    name,
    sha256: digest.digest("hex"),
    bytes,
    ...facts,
  });
  return path;
}

/** Called before the file gets the name under which others read it. */
async function redactFile(path: string, secrets: readonly Secret[]): Promise<void> {
  const redacted = temporaryPath(path);
  try {
    await writeFile(redacted, withoutValuesIn(createReadStream(path), secrets), {
      mode: 0o600,
      flag: "wx",
      flush: true,
    });
    await rename(redacted, path);
  } finally {
    await rm(redacted, { force: true });
  }
}
