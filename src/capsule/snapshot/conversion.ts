/**
 * Owns what git stores instead of a file's own bytes, as the tree's attributes demand: line endings,
 * encodings and `$Id$`. Git, confined (confined-1), reports the attributes and converts encodings; filters
 * have no driver there. Line endings are converted here.
 */
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { deadline } from "../../util/index.ts";
import { contentId } from "../files/changes.ts";
import { Cursor } from "../files/cursor.ts";
import type { OpenFile } from "../files/open-dir.ts";
import { type BytePath, quoted, toBytes } from "../files/path.ts";
import { BatchReader } from "../git/batch-reader.ts";
import type { Rules } from "./classify.ts";
import { countLineEnds, withLf } from "./line-ends.ts";

const ASKED = ["text", "crlf", "eol", "ident", "working-tree-encoding"];
type Attributes = Readonly<Record<string, string>>;

/** A content, in pieces. */
export interface Content {
  readonly size: number;
  chunks(): Iterable<Buffer>;
}

export interface Conversions {
  /** The attributes of files whose line endings may have to change, if they have CRLF. */
  readonly attributes: ReadonlyMap<BytePath, Attributes>;
  /** The contents as git stores them, where they differ from the file. */
  readonly coded: ReadonlyMap<BytePath, Content>;
  /** Files for which git gave no answer. */
  readonly unanswered: readonly BytePath[];
}

/** The values of attributes come from the agent, and may have any length. */
const MAX_SAID_BYTES = 64 * 1024 * 1024;
const MAX_CODED_BYTES = 1024 * 1024 * 1024;
/** Each round finds one file that can't be converted. */
const MAX_ROUNDS = 16;

/** For files of the work, before any of them is read. */
export async function conversionsOf(rules: Rules, paths: readonly BytePath[]): Promise<Conversions> {
  const none = { attributes: new Map(), coded: new Map(), unanswered: [] };
  if (paths.length === 0) return none;
  const attributes = await attributesOf(rules, paths);
  if (!attributes) return { ...none, unanswered: paths };
  const isCoded = (path: BytePath) => {
    const { ident, "working-tree-encoding": encoding } = attributes.get(path) ?? {};
    return ident === "set" || (encoding !== undefined && encoding !== "unset" && encoding !== "set");
  };
  const { coded, unanswered } = await codedContents(rules, paths.filter(isCoded));
  return { attributes, coded, unanswered };
}

async function attributesOf(
  { confined, answerMs }: Rules,
  paths: readonly BytePath[],
): Promise<Map<BytePath, Attributes> | undefined> {
  const input = toBytes(paths.map((path) => `./${path}\0`).join(""));
  const answer = await confined.ask(["check-attr", "-z", "--stdin", ...ASKED], {
    input: [input],
    timeoutMs: answerMs,
    maxOutputBytes: 8 * input.length + MAX_SAID_BYTES,
  });
  if (!answer) return undefined;
  const fields = answer.stdout.toString("latin1").split("\0");
  const found = new Map<BytePath, Attributes>();
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const [name = "", attribute = "", value = ""] = fields.slice(index, index + 3);
    const path = name.slice(2);
    if (value !== "unspecified") found.set(path, { ...found.get(path), [attribute]: value });
  }
  return found;
}

/**
 * What git would store. Nothing for a file that it can't convert: the task declared an encoding that the file
 * does not have.
 */
async function codedContents(
  rules: Rules,
  paths: readonly BytePath[],
): Promise<Pick<Conversions, "coded" | "unanswered">> {
  const coded = new Map<BytePath, Content>();
  const patience = deadline(rules.clock, rules.answerMs);
  let left = [...paths];
  for (let round = 1; left.length > 0 && round <= MAX_ROUNDS; round += 1) {
    const timeoutMs = patience.leftMs;
    const contents = timeoutMs > 0 ? await askContents(rules, left, timeoutMs, `coded-${round}`) : undefined;
    if (!contents) break;
    for (const [index, content] of contents.entries()) {
      const path = left[index];
      if (path !== undefined && !isSame(rules, path, content)) coded.set(path, content);
    }
    // The next one is the file at which it gave up.
    left = left.slice(contents.length + 1);
  }
  return { coded, unanswered: left };
}

/** Writes each as an object to a temporary place, and prints them. */
const SCRIPT = '"$@" hash-object -w --stdin-paths > "$0/ids"; "$@" cat-file --batch < "$0/ids"';

async function askContents(
  { confined, aside }: Rules,
  paths: readonly BytePath[],
  timeoutMs: number,
  name: string,
): Promise<Content[] | undefined> {
  const file = join(aside, name);
  const fd = openSync(file, "wx", 0o600);
  const contents: Content[] = [];
  let written = 0;
  let begun = 0;
  const reader = new BatchReader((_index, bytes, isLast) => {
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    written += bytes.length;
    if (!isLast) return;
    contents.push(storedContent(file, begun, written - begun));
    begun = written;
  });
  let said = 0;
  try {
    const answer = await confined.ask([], {
      script: SCRIPT,
      input: [toBytes(paths.map((path) => `${quoted(`./${path}`)}\n`).join(""))],
      timeoutMs,
      maxOutputBytes: MAX_CODED_BYTES,
      onOutput: (chunk) => {
        said += chunk.length;
        if (said > MAX_CODED_BYTES) throw new Error("git returned more objects than it was asked for");
        reader.push(chunk);
      },
    });
    return answer && contents.length <= paths.length ? contents : undefined;
  } finally {
    closeSync(fd);
  }
}

const CHUNK_BYTES = 1024 * 1024;

function storedContent(file: string, begin: number, size: number): Content {
  return {
    size,
    *chunks() {
      const fd = openSync(file, "r");
      try {
        for (let at = 0; at < size; ) {
          const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - at));
          const length = readSync(fd, chunk, 0, chunk.length, begin + at);
          at += length;
          yield chunk.subarray(0, length);
        }
      } finally {
        closeSync(fd);
      }
    },
  };
}

function isSame({ view, algorithm }: Rules, path: BytePath, content: Content): boolean {
  const id = contentId(algorithm, content.chunks(), content.size);
  return readFile(view.root, path, (file) => contentId(algorithm, file.chunks(), file.size)) === id;
}

/** Those files with CRLF that a commit holds without it. */
export async function* withoutCrlf(
  rules: Rules,
  { attributes, coded }: Conversions,
  crlf: readonly BytePath[],
): AsyncGenerator<{ readonly path: BytePath; readonly content: Content }> {
  const text = new Map(
    crlf.flatMap((path) => (coded.has(path) ? [] : [[path, textOf(attributes.get(path))]])),
  );
  const asked = [...text].filter(([, kind]) => kind === "auto").map(([path]) => path);
  // What was committed with CRLF stays so, unless it is declared as text.
  const kept = await rules.committedCrlf(asked);
  for (const [path, kind] of text) {
    if (kind === "no" || kept.has(path)) continue;
    const ends = readFile(rules.view.root, path, (file) => ({
      ...countLineEnds(file.chunks()),
      size: file.size,
    }));
    if (!ends || (kind === "auto" && ends.isBinary)) continue;
    const size = ends.size - ends.crlfs;
    yield { path, content: { size, chunks: () => lfChunks(rules.view.root, path, size) } };
  }
}

function textOf(attributes: Attributes = {}): "yes" | "auto" | "no" {
  const { text: said, crlf: formerly, eol } = attributes;
  const text = said ?? (formerly === "input" ? "set" : formerly);
  if (text === "unset" || (text === undefined && eol === undefined)) return "no";
  return text === "auto" ? "auto" : "yes";
}

function* lfChunks(root: string, path: BytePath, size: number): Generator<Buffer> {
  using cursor = new Cursor(root);
  using file = cursor.inParent(path, (dir, name) => dir.file(name));
  yield* withLf(file?.chunks() ?? [], size);
}

function readFile<T>(root: string, path: BytePath, read: (file: OpenFile) => T): T | undefined {
  using cursor = new Cursor(root);
  using file = cursor.inParent(path, (dir, name) => dir.file(name));
  return file && read(file);
}
