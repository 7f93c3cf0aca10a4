/**
 * Only util/home-layout.ts and util/session-layout.ts know the names of what is on disk. docs/format.md lists
 * the same names, and no other source file spells one out.
 */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import * as homeLayout from "../../src/util/home-layout.ts";
import * as sessionLayout from "../../src/util/session-layout.ts";

const root = join(import.meta.dirname, "..", "..");

/** The paths that the functions of a layout return, below its directory. */
const entriesOf = (layout: object) =>
  Object.values(layout)
    .filter((entry) => typeof entry === "function")
    .map((entry): string => entry("", "<number>"));
const inHome = entriesOf(homeLayout);
const inSession = entriesOf(sessionLayout);
const names = new Set([...inHome, ...inSession].map((path) => basename(path)));

/** Where the descriptions begin in the list of format.md. */
const DESCRIPTION_COLUMN = 31;

/** The paths of format.md's list: those of a session's directory are indented. */
function listedPaths(): { inHome: string[]; inSession: string[] } {
  const page = readFileSync(join(root, "docs/format.md"), "utf8");
  const list = /## Files\n\n```\n([\s\S]+?)```/.exec(page)?.[1] ?? "";
  const found = { inHome: [] as string[], inSession: [] as string[] };
  for (const line of list.split("\n")) {
    const paths = line.slice(0, DESCRIPTION_COLUMN).trim().split(/ {2,}/).filter(Boolean);
    (line.startsWith(" ") ? found.inSession : found.inHome).push(...paths);
  }
  return found;
}

const first = (path: string) => path.split("/")[0] ?? "";
const sorted = (paths: readonly string[]) => [...new Set(paths)].sort();

/**
 * These words have other meanings too. They count as names only where a path is made, in a constant and in a
 * list of such names.
 */
const WORDS = new Set(
  "artifacts cache capsule env home host journal line log names operator runtime sessions spent staging stats tasks tmp token trust users".split(
    " ",
  ),
);

/** Files that use such a name for something else, deeper in the tree. */
const deeper: Readonly<Record<string, readonly string[]>> = {
  // HOME and TMPDIR of set-up, in the directory of a base that is being built.
  "capsule/base/bases.ts": ["home", "tmp"],
  "capsule/base/setup.ts": ["home", "tmp"],
  // HOME and TMPDIR of the sandbox's trial and of checks, each beside its files.
  "process/sandbox/try.ts": ["home", "tmp"],
  "task/verify/check-room.ts": ["home", "tmp"],
  // The home of the demo itself.
  "cli/verbs/demo.ts": ["home"],
  // The session's token, as its door shows it in the sandbox.
  "host/door.ts": ["token"],
  "task/room/invocation.ts": ["token"],
  // HOME and TMPDIR of the session process, in its own directory.
  "host/start.ts": ["home", "tmp"],
  // A part of the path of Go's modules.
  "process/sandbox/tools.ts": ["cache"],
  // HOME and TMPDIR of an MCP server.
  "mcp/upstream/process.ts": ["home", "tmp"],
  // A directory of every maildir.
  "mail/maildir.ts": ["tmp"],
  // An earlier version had a HOME for each task.
  "task/home/session-home.ts": ["home"],
};

const LITERAL = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`|\/\^?\w+\\\//g;
const literalsIn = (code: string) =>
  [...code.matchAll(LITERAL)].map(([text]) => text.replace(/^(?:["'`]|\/\^?)/, ""));
/** The arguments of join and resolve, the values of constants, and lists of nothing but literals. */
const PATH_CODE =
  /\b(?:join|resolve)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\bconst \w+ = "[^"]*";|(?<![\w)\].])\[\s*"[^"]*"(?:,\s*"[^"]*")*,?\s*\]/g;

/** The names of entries that a source spells out. */
function spelledOut(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|^(?:import|export) .* from ".*";$/gm, "");
  const nameOf = (literal: string) => /^([\w.-]+?)(?:["'`]$|\\?\/)/.exec(literal)?.[1] ?? "";
  const anywhere = literalsIn(code)
    .filter((literal) => !WORDS.has(nameOf(literal)) || literal.includes("/"))
    .map(nameOf);
  const inTemplates = [...code.matchAll(/\}\/([\w.-]+)[/`]/g)].map(([, name = ""]) => name);
  const inPaths = [...code.matchAll(PATH_CODE)].flatMap(([made]) => {
    const named = literalsIn(made).map(nameOf);
    return made.startsWith("[") && !named.every((name) => names.has(name)) ? [] : named;
  });
  return sorted([...anywhere, ...inTemplates, ...inPaths].filter((name) => names.has(name)));
}

describe("the names of what is on disk", () => {
  it("are those that format.md lists, for a home and for a session's directory", () => {
    const listed = listedPaths();
    expect(sorted(inHome)).toEqual(sorted(listed.inHome.map(first)));
    const ofTasks = listed.inSession.filter((path) => first(path) === "tasks");
    expect(sorted(inSession)).toEqual(
      sorted([...listed.inSession.map(first), ...ofTasks.map((path) => path.replace(/\/$/, ""))]),
    );
  });

  it.each([
    'join(sessionDir, "tasks", String(task))',
    'join(sessionDirOf(home, session.id), "journal")',
    'for (const name of ["inbox", "outbox"]) look(join(dir, name));',
    'const TOKEN_FILE = "token";',
    'readFile(at(dir, "fold.json"))',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a source in a text
    "const file = `journal/${segmentName(segment)}`;",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a source in a text
    "const path = `${sessionDir}/log/${request}.out`;",
    'if (path.startsWith("blobs/")) return;',
    "const segment = /^journal\\/(\\d+)/.exec(path);",
    'mailIn(home, id, "outbox")',
  ])("are found in %s", (source) => expect(spelledOut(source)).not.toEqual([]));

  it.each([
    'lines.once("line", resolve)',
    'const words = ["look", "log", "output"];',
    "/** Owns `fold.json`, a cached fold. */",
    'import { journalDir } from "./journal/index.ts";',
    'add(named.homes, data["home"])',
    'const dir = join("/tmp", name);',
  ])("are not found in %s", (source) => expect(spelledOut(source)).toEqual([]));

  it("are spelled out in no other source", () => {
    const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts") && !/^util\/(home|session)-layout\.ts$/.test(path))
      .map((path) => ({ path, names: spelledOut(readFileSync(join(root, "src", path), "utf8")) }))
      .filter(({ names }) => names.length > 0);
    expect(Object.fromEntries(sources.map(({ path, names }) => [path, names]))).toEqual(deeper);
  });
});
