/**
 * Owns how much of a task's output is kept: the artifact `output.txt` has what its commands wrote, both
 * streams in the order of writing, without secrets. Each turn of a task adds to it.
 *
 * output-1 A turn's output enters it once: the record that names the file tells up to which turn it goes.
 *    Bytes that a kill left after that record's length are written again.
 */
import { createReadStream, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { readSettings } from "../../home/index.ts";
import type { Redactor } from "../../journal/index.ts";
import { RedactedPieces } from "../../redaction/index.ts";
import { findLastRecord, notKept } from "../../session/index.ts";
import { artifactsDir, type DiskFile, encodeLossless, LosslessDecoder, writeAll } from "../../util/index.ts";
import { readConfig } from "../room/config.ts";
import { MEGABYTE } from "../room/quota.ts";
import type { Room } from "../room/room.ts";
import { type ArtifactRoom, writeArtifact } from "./artifact.ts";

export const OUTPUT_FILE = "output.txt";

export const outputPath = (sessionDir: string, task: number) =>
  join(artifactsDir(sessionDir, task), OUTPUT_FILE);

/** How much of a task's output may be kept, and how much its earlier turns have used. */
export async function outputRoom(
  { io, repo, sessionDir }: Pick<Room, "io" | "repo" | "sessionDir">,
  task: { readonly number: number; readonly base: string | null },
): Promise<{ readonly limitMb: number; readonly limitBytes: number }> {
  const asked = (await readConfig({ io, repo }, task.base)).output_mb;
  const limitMb = Math.min(asked, (await readSettings(io.homeDir)).output_mb);
  const keptBytes = statSync(outputPath(sessionDir, task.number), { throwIfNoEntry: false })?.size ?? 0;
  return { limitMb, limitBytes: Math.max(0, Math.round(limitMb * MEGABYTE) - keptBytes) };
}

/** What a turn wrote, in order, and why the rest of it is missing, if it is. */
export interface TurnOutput {
  readonly chunks: Iterable<Buffer>;
  /** Called after the last chunk. */
  readonly cut: () => { readonly why: string; readonly leftBytes: number | null } | undefined;
}

/** For the latest turn of the session. */
export async function keepOutput(
  room: ArtifactRoom & { readonly redact: Redactor },
  task: number,
  output: TurnOutput,
): Promise<void> {
  const { session, sessionDir, disk, redact } = room;
  const turn = Math.max(1, session.state.turns);
  const before = await keptBefore(sessionDir, task);
  if (before.turn === turn) return;
  await writeArtifact(room, { task, name: OUTPUT_FILE }, async (path) => {
    const file = new Appended(await disk.create(path));
    try {
      await file.copy(outputPath(sessionDir, task), before.bytes);
      const isCut = await writeRedacted(file, redact, output);
      await file.sync();
      return { turn, ...((isCut || before.isCut) && { isCut: true }) };
    } finally {
      await file.close();
    }
  });
}

/** Returns whether some of it was left out. */
async function writeRedacted(
  file: Appended,
  redact: Redactor,
  { chunks, cut }: TurnOutput,
): Promise<boolean> {
  const decoder = new LosslessDecoder();
  const pieces = new RedactedPieces(redact);
  for (const chunk of chunks) await file.add(await pieces.add(decoder.write(chunk)));
  await file.add(await pieces.add(decoder.end()));
  const cutOff = cut();
  const { text, left } = await pieces.end(cutOff !== undefined);
  await file.add(text);
  if (!cutOff) return false;
  const { why, leftBytes } = cutOff;
  await file.add(notKept(why, leftBytes === null ? null : leftBytes + encodeLossless(left).length));
  return true;
}

interface KeptBefore {
  readonly bytes: number;
  readonly turn: number;
  readonly isCut: boolean;
}

/** Read from the journal, but only if there is a file. */
async function keptBefore(sessionDir: string, task: number): Promise<KeptBefore> {
  const record = existsSync(outputPath(sessionDir, task))
    ? await findLastRecord(sessionDir, ({ type, data }) => isOutputOf(task, type, data))
    : undefined;
  const { bytes = 0, turn = 0, isCut = false } = record?.data ?? {};
  return { bytes: Number(bytes), turn: Number(turn), isCut: isCut === true };
}

/** Whether the record is about the file with this task's output. */
export function isOutputOf(task: number, type: string, data: Readonly<Record<string, unknown>>): boolean {
  return type === "artifact_written" && data["task"] === task && data["name"] === OUTPUT_FILE;
}

/** A new file that only grows. */
class Appended {
  readonly #file: DiskFile;
  #bytes = 0;

  constructor(file: DiskFile) {
    this.#file = file;
  }

  add(text: string): Promise<void> {
    return this.#write(encodeLossless(text));
  }

  async copy(path: string, bytes: number): Promise<void> {
    if (bytes === 0) return;
    const chunks = createReadStream(path, { end: bytes - 1 }) as AsyncIterable<Buffer>;
    for await (const chunk of chunks) await this.#write(chunk);
  }

  sync(): Promise<void> {
    return this.#file.datasync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    await writeAll(this.#file, bytes, this.#bytes);
    this.#bytes += bytes.byteLength;
  }
}
