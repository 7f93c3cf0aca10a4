/**
 * A search for texts in all that a home and its processes could reveal: files (also compressed ones), git
 * objects, the content of an export, and the arguments, the environment and the memory of each process, as a
 * core dump would have it.
 */
import { execFileSync } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { inflateSync, zstdDecompressSync } from "node:zlib";
import { contentOf } from "./exports.ts";

/** Where texts were found, each as `text: place`. */
export type Found = readonly string[];

export function findInFiles(dirs: readonly string[], texts: readonly string[]): Found {
  return dirs.filter(existsSync).flatMap((dir) =>
    readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .flatMap((path) => found(path, readOr(path), texts)),
  );
}

export function findInObjects(repos: readonly string[], texts: readonly string[]): Found {
  return repos.filter(existsSync).flatMap((repo) => {
    const args = ["-C", repo, "cat-file", "--batch-all-objects", "--batch"];
    return found(repo, execFileSync("git", args, { maxBuffer: 1 << 28 }), texts);
  });
}

export function findInExport(file: string, texts: readonly string[]): Found {
  return [...contentOf(file).files].flatMap(([path, bytes]) => found(`export/${path}`, bytes, texts));
}

export function findInProcess(pid: number, texts: readonly string[]): Found {
  return ["cmdline", "environ"].flatMap((name) =>
    found(`/proc/${pid}/${name}`, readOr(`/proc/${pid}/${name}`), texts),
  );
}

/** On some machines, only those who started a process can read its memory. */
export function canReadMemory(pid: number): boolean {
  try {
    closeSync(openSync(`/proc/${pid}/mem`, "r"));
    return true;
  } catch {
    return false;
  }
}

/** Only writable memory is searched: it has everything that the process was given or has made. */
export function findInMemory(pid: number, texts: readonly string[]): Found {
  const places = new Set<string>();
  const [memory, pages] = [openSync(`/proc/${pid}/mem`, "r"), openSync(`/proc/${pid}/pagemap`, "r")];
  for (const [from, to] of writableIn(readFileSync(`/proc/${pid}/maps`, "utf8")))
    for (const run of presentIn(pages, from, to))
      for (const one of found(`/proc/${pid}/mem`, readAt(memory, run.page * PAGE, run.count * PAGE), texts))
        places.add(one);
  for (const fd of [memory, pages]) closeSync(fd);
  return [...places];
}

const PAGE = 4096;

/** Each range: its first page, and the page after its last one. */
const writableIn = (maps: string): [number, number][] =>
  [...maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)].map(([, from = "", to = ""]) => [
    Number.parseInt(from, 16) / PAGE,
    Number.parseInt(to, 16) / PAGE,
  ]);

/** The pages that exist: most of what is mapped was never touched. */
function presentIn(pages: number, from: number, to: number): { page: number; count: number }[] {
  const entries = readAt(pages, from * 8, (to - from) * 8);
  const runs: { page: number; count: number }[] = [];
  for (let at = 0; at * 8 < entries.length; at += 1) {
    // Bit 63: the page is present; bit 62: it was swapped out.
    if ((entries[at * 8 + 7] ?? 0) < 0x40) continue;
    const last = runs.at(-1);
    if (last && last.page + last.count === from + at) last.count += 1;
    else runs.push({ page: from + at, count: 1 });
  }
  return runs;
}

function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  try {
    return bytes.subarray(0, readSync(fd, bytes, 0, length, position));
  } catch {
    // Not all that is mapped can be read.
    return Buffer.alloc(0);
  }
}

function found(place: string, bytes: Buffer, texts: readonly string[]): Found {
  const forms = [bytes, ...expanded(bytes)];
  return texts.filter((text) => forms.some((form) => form.includes(text))).map((text) => `${text}: ${place}`);
}

function expanded(bytes: Buffer): Buffer[] {
  try {
    if (bytes.subarray(0, 4).toString("hex") === "28b52ffd") return [zstdDecompressSync(bytes)];
    return bytes[0] === 0x78 ? [inflateSync(bytes)] : [];
  } catch {
    return [];
  }
}

function readOr(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    // Gone meanwhile, or not readable.
    return Buffer.alloc(0);
  }
}
