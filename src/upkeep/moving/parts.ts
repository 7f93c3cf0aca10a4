/**
 * Owns the parts of an export as they are read: a path in the export, and its bytes.
 */
import { createHash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { readChain, readMaybeCompressed, segmentFile } from "../../journal/index.ts";
import { blobsDir, errorCode, IN_SESSION } from "../../util/index.ts";
import type { Named, NamedFile } from "./named.ts";

export interface Part {
  readonly path: string;
  /** Gives the same bytes each time. */
  content(): AsyncIterable<Uint8Array>;
}

/** A file that the journal names and that is not in the export. */
export interface Missing {
  readonly what: string;
  readonly why: string;
}

/** Every segment up to its end, and every blob that a record names. */
export async function journalParts(dir: string, { head, blobs }: Named): Promise<Part[]> {
  const { segments } = await readChain(dir, 0);
  const parts = segments
    .filter(({ header }) => header.segment <= head.segment)
    .map(({ header, end }) =>
      segmentPart(dir, header.segment, header.segment === head.segment ? head.bytes : end?.bytes),
    );
  return [...parts, ...[...blobs].map(([sha256, bytes]) => blobPart(dir, sha256, bytes))];
}

function segmentPart(dir: string, segment: number, end: number | undefined): Part {
  const path = segmentFile(segment);
  return {
    path,
    content: async function* () {
      yield (await readMaybeCompressed(join(dir, path))).subarray(0, end);
    },
  };
}

function blobPart(dir: string, sha256: string, bytes: number): Part {
  return {
    path: join(blobsDir(IN_SESSION), sha256),
    content: async function* () {
      yield await readMaybeCompressed(join(blobsDir(dir), sha256), bytes);
    },
  };
}

/** A file that no other process writes. */
export function filePart(path: string, file: string): Part {
  return { path, content: () => createReadStream(file) as AsyncIterable<Buffer> };
}

/** Copies of the artifacts that match the journal, because the originals may be written again meanwhile. */
export async function artifactParts(
  dir: string,
  { artifacts, unusable }: Named,
  aside: string,
): Promise<{ parts: Part[]; missing: Missing[] }> {
  const parts: Part[] = [];
  const missing = [...unusable].map((what) => ({ what, why: "an export can't contain a file of that name" }));
  for (const [path, named] of artifacts) {
    const copy = join(aside, `artifact-${parts.length}`);
    const why = await copyNamed(join(dir, path), named, copy);
    if (why === undefined) parts.push(filePart(path, copy));
    else missing.push({ what: path, why });
  }
  return { parts, missing };
}

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** Returns why it could not be copied, if it could not. */
async function copyNamed(
  from: string,
  { bytes, sha256 }: NamedFile,
  to: string,
): Promise<string | undefined> {
  const source = await open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
    if (["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "")) return undefined;
    if (["ELOOP", "ENXIO"].includes(errorCode(error) ?? "")) return null;
    throw error;
  });
  if (source === undefined) return "it is missing";
  try {
    const stats = await source?.stat();
    if (!source || !stats?.isFile() || stats.size !== bytes) return OTHERWISE;
    await using target = await open(to, "w", 0o600);
    const digest = createHash("sha256");
    let length = 0;
    for await (const chunk of source.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
      digest.update(chunk);
      length += chunk.length;
      await target.writeFile(chunk);
    }
    return length === bytes && digest.digest("hex") === sha256 ? undefined : OTHERWISE;
  } finally {
    await source?.close();
  }
}

const OTHERWISE = "it does not have the bytes that the journal names";
