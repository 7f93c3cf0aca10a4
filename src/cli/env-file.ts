/**
 * Owns the form of a file of environment variables: a `NAME=VALUE` on each line, as shells and other programs
 * read it. Pure: text in, pairs out. An error names the line, and never its content.
 */
import { HoldfastError, whyNoVariable } from "../contract/index.ts";

/** Without a value, the value is the caller's own. */
export interface Entry {
  readonly name: string;
  readonly value: string | undefined;
}

const LINE = /^(?:export\s+)?([^=\s]+)\s*(?:=(.*))?$/;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

export function parseEnvFile(text: string, path: string): Entry[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  return lines.flatMap((line, index): Entry[] => {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) return [];
    const fail = (reason: string) =>
      new HoldfastError("usage", `${path}:${index + 1}: ${reason}`, { line: index + 1 });
    const [, name, assigned] = LINE.exec(trimmed) ?? [];
    if (name === undefined) throw fail("NAME=VALUE is needed");
    const reason = whyNoVariable(name);
    // Text that is no name may be a value that got there by mistake, so it is not printed.
    if (reason !== undefined) throw fail(`the name before the = ${reason}`);
    if (assigned === undefined) return [{ name, value: undefined }];
    const value = valueIn(assigned);
    if (value === undefined) throw fail("the quotes are not closed, or there is text after them");
    return [{ name, value }];
  });
}

const QUOTED = /^(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:#.*)?$/;

/** Undefined if the quotes are not closed, or text follows them. */
function valueIn(text: string): string | undefined {
  if (!/^\s*['"]/.test(text)) return text.replace(/\s+#.*$/, "").trim();
  const [, single, double] = QUOTED.exec(text.trim()) ?? [];
  return single ?? double?.replace(/\\(.)/g, (_, escaped: string) => ESCAPES[escaped] ?? escaped);
}
