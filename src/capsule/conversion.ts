/**
 * Owns what git stores in the place of a file's own bytes: ends of lines, encodings and `$Id$`, as the tree's
 * attributes say. Git converts, with a gitdir of ours, from bytes that we hand it; filters have no driver there.
 */
import type { Rules } from "./classify.ts";
import { git, gitLine, runGit } from "./git.ts";
import { Cursor } from "./open-dir.ts";
import { type BytePath, toBytes, toText } from "./path.ts";

const ASKED = ["text", "eol", "ident", "working-tree-encoding"];
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
    if (!(await isConverted(rules, path, attributes, crlf.has(path)))) continue;
    const bytes = readFile(rules.view.root, path);
    const stored = await asStored(rules, path, bytes);
    if (!stored.equals(bytes)) found.set(path, stored);
  }
  return found;
}

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

async function isConverted(
  { committed }: Rules,
  path: BytePath,
  { text, eol, ident, "working-tree-encoding": encoding }: Attributes,
  hasCrlf: boolean,
): Promise<boolean> {
  if (ident === "set" || (encoding !== undefined && encoding !== "unset")) return true;
  if (!hasCrlf || text === "unset" || (text === undefined && eol === undefined)) return false;
  // What was committed with CRLF stays so, unless it is said to be text.
  return text !== "auto" || !(await committed(path))?.includes("\r\n");
}

function readFile(root: string, path: BytePath): Buffer {
  using cursor = new Cursor(root);
  using file = cursor.inParent(path, (dir, name) => dir.file(name));
  return Buffer.concat([...(file?.chunks() ?? [])]);
}

async function asStored({ gitDir, aside, view }: Rules, path: BytePath, bytes: Buffer): Promise<Buffer> {
  const { workTree, enter } = view;
  const args = ["hash-object", "-w", "--stdin", `--path=${toText(path)}`];
  const id = await gitLine({ gitDir, workTree, enter, objects: aside }, args, { input: [bytes] });
  return git({ gitDir, objects: aside }, ["cat-file", "blob", id]);
}
