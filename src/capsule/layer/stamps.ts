/**
 * Owns the quick answer to whether anything was written to an upper layer: the stamps that the kernel gives
 * each of its files. A write changes a file's time of change, and programs can't set that time back.
 */
import { createHash } from "node:crypto";
import { type BigIntStats, lstatSync, readdirSync } from "node:fs";

/** The stamps of every entry below a directory. The same text means that nothing was written since. */
export function stampOf(directory: string): string {
  const hash = createHash("sha256");
  const visit = (dir: Buffer) => {
    const stats = lstatSync(dir, { bigint: true });
    hash.update(rowOf(dir, stats));
    if (!stats.isDirectory()) return;
    for (const name of readdirSync(dir, { encoding: "buffer" }))
      visit(Buffer.concat([dir, Buffer.from("/"), name]));
  };
  visit(Buffer.from(directory));
  return hash.digest("hex");
}

const rowOf = (path: Buffer, { ino, mode, size, ctimeNs }: BigIntStats) =>
  Buffer.concat([path, Buffer.from(`\0${ino} ${mode} ${size} ${ctimeNs}\0`)]);
