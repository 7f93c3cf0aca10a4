/**
 * Owns the form of a file of environment variables: `NAME=VALUE` on a line, as shells and other programs read it. Pure:
 * from text to pairs. An error names the line, and never what stands in it.
 */
import { HoldfastError, whyNoVariable } from "../contract/index.ts";

/** Without a value it is the caller's own. */
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
    // What is no name may be a value that got there by mistake.
    if (reason !== undefined) throw fail(`what stands before the = ${reason}`);
    if (assigned === undefined) return [{ name, value: undefined }];
    const value = valueIn(assigned);
    if (value === undefined) throw fail("the quotes are not closed, or something stands behind them");
    return [{ name, value }];
  });
}

const QUOTED = /^(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:#.*)?$/;

/** Undefined where its quotes make no sense. */
function valueIn(text: string): string | undefined {
  if (!/^\s*['"]/.test(text)) return text.replace(/\s+#.*$/, "").trim();
  const [, single, double] = QUOTED.exec(text.trim()) ?? [];
  return single ?? double?.replace(/\\(.)/g, (_, escaped: string) => ESCAPES[escaped] ?? escaped);
}
