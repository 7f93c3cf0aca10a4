/**
 * Owns what git stores in the place of a file's own bytes: ends of lines, encodings and `$Id$`, as the tree's
 * attributes say. Git converts, with a gitdir of ours, from bytes that we hand it; filters have no driver there.
 */
import type { Rules } from "./classify.ts";
import { git, runGit } from "./git.ts";
import { Cursor } from "./open-dir.ts";
import { type BytePath, toBytes, toText } from "./path.ts";

const ASKED = ["text", "crlf", "eol", "ident", "working-tree-encoding"];
type Attributes = Readonly<Record<string, string>>;

/** Of files of the work, those that a commit holds otherwise, as it holds them. `crlf` are those that have one. */
export async function convertedFiles(
  rules: Rules,
  paths: readonly BytePath[],
  crlf: ReadonlySet<BytePath>,
): Promise<Map<BytePath, Buffer>> {
  const found = new Map<BytePath, Buffer>();
  if (paths.length === 0) return found;
  for (const [path, attributes] of await attributesOf(rules, paths)) {
    const isCoded = attributes["ident"] === "set" || isEncoding(attributes["working-tree-encoding"]);
    if (!isCoded && !crlf.has(path)) continue;
    const bytes = readFile(rules.view.root, path);
    const stored = isCoded
      ? await asStored(rules, path, bytes)
      : await withLf(rules, path, bytes, attributes);
    if (!stored.equals(bytes)) found.set(path, stored);
  }
  return found;
}

const isEncoding = (value: string | undefined) => value !== undefined && value !== "unset" && value !== "set";

async function attributesOf(
  { gitDir, view }: Rules,
  paths: readonly BytePath[],
): Promise<Map<BytePath, Attributes>> {
  const { workTree, enter } = view;
  const input = [toBytes(paths.map((path) => `./${path}\0`).join(""))];
  const { stdout } = await runGit({ gitDir, workTree, enter }, ["check-attr", "-z", "--stdin", ...ASKED], {
    input,
    timeoutMs: 60_000,
  });
  const fields = stdout.toString("latin1").split("\0");
  const found = new Map<BytePath, Attributes>();
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const [name = "", attribute = "", value = ""] = fields.slice(index, index + 3);
    const path = name.slice(2);
    if (value !== "unspecified") found.set(path, { ...found.get(path), [attribute]: value });
  }
  return found;
}

/** The most common conversion, without a process for each file. */
async function withLf(
  { committed }: Rules,
  path: BytePath,
  bytes: Buffer,
  { text: said, crlf: formerly, eol }: Attributes,
): Promise<Buffer> {
  const text = said ?? (formerly === "input" ? "set" : formerly);
  if (text === "unset" || (text === undefined && eol === undefined)) return bytes;
  // What was committed with CRLF stays so, unless it is said to be text.
  if (text === "auto" && (looksBinary(bytes) || (await committed(path))?.includes("\r\n"))) return bytes;
  return Buffer.from(bytes.toString("latin1").replaceAll("\r\n", "\n"), "latin1");
}

/** As git judges it: a NUL, a CR that stands alone, or too much that can't be printed. */
function looksBinary(bytes: Buffer): boolean {
  let printable = 0;
  let others = 0;
  for (const [index, byte] of bytes.entries()) {
    if (byte === 0 || (byte === 0x0d && bytes[index + 1] !== 0x0a)) return true;
    if (byte === 0x0d || byte === 0x0a) continue;
    const isControl = byte === 0x7f || (byte < 0x20 && ![0x08, 0x09, 0x0c, 0x1b].includes(byte));
    if (isControl) others += 1;
    else printable += 1;
  }
  return printable >> 7 < others;
}

function readFile(root: string, path: BytePath): Buffer {
  using cursor = new Cursor(root);
  using file = cursor.inParent(path, (dir, name) => dir.file(name));
  return Buffer.concat([...(file?.chunks() ?? [])]);
}

/** By git itself. What it can't convert stays as it is: the task said that it is in an encoding, and it isn't. */
async function asStored({ gitDir, aside, view }: Rules, path: BytePath, bytes: Buffer): Promise<Buffer> {
  const { workTree, enter } = view;
  const args = ["hash-object", "-w", "--stdin", `--path=${toText(path)}`];
  const place = { gitDir, workTree, enter, objects: aside };
  const { exitCode, stdout } = await runGit(place, args, { input: [bytes], accept: [0, 128] });
  if (exitCode !== 0) return bytes;
  return git({ gitDir, objects: aside }, ["cat-file", "blob", stdout.toString("latin1").trim()]);
}
