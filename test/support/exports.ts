/**
 * Takes the file of an export apart, and puts one together with a manifest that fits.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { openSealedJson, sealJson, sha256Hex } from "../../src/util/index.ts";

type File = { path: string; bytes: number; sha256: string };
export type Content = { manifest: Record<string, unknown>; files: Map<string, Buffer> };

export function contentOf(file: string): Content {
  const bytes = zstdDecompressSync(readFileSync(file));
  let offset = bytes.indexOf(10) + 1;
  const manifest = openSealedJson(bytes.subarray(0, offset)) as Record<string, unknown>;
  const files = new Map<string, Buffer>();
  for (const { path, bytes: length } of manifest["files"] as File[]) {
    files.set(path, bytes.subarray(offset, offset + length));
    offset += length;
  }
  return { manifest, files };
}

/** Writes an export with a manifest that fits its files. */
export function forge(file: string, { manifest, files }: Content): string {
  const { hash: _, ...rest } = manifest;
  const listed = [...files].map(([path, bytes]) => ({ path, bytes: bytes.length, sha256: sha256Hex(bytes) }));
  writeFileSync(
    file,
    zstdCompressSync(Buffer.concat([sealJson({ ...rest, files: listed }), ...files.values()])),
  );
  return file;
}
