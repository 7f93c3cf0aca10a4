/**
 * Owns the parser of YAML, in a file of its own, which is loaded only if there is something to parse. An
 * error in a text is a fault with a line, also if it shows only when aliases are followed.
 */
import { type Alias, LineCounter, parseDocument, visit } from "yaml";

export interface Fault {
  readonly line: number;
  readonly reason: string;
}

export interface Parsed {
  readonly value: unknown;
  /** The line of the value at a path; 1 if there is none. */
  lineOf(path: readonly string[]): number;
}

const MAX_ALIASES = 100;

export function parseYaml(text: string): Parsed | Fault {
  const lines = new LineCounter();
  // A key that is a collection would be written out as text, which takes minutes for a text that is made for
  // that.
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, stringKeys: true });
  const [syntax] = document.errors;
  const lineAt = (offset: number) => lines.linePos(offset).line;
  if (syntax) return { line: lineAt(syntax.pos[0]), reason: syntax.message.split("\n", 1)[0] ?? "" };
  let failed: Alias | undefined;
  visit(document, {
    Alias: (_, alias) => {
      const resolved = alias.toJSON.bind(alias);
      alias.toJSON = (...args) => {
        try {
          return resolved(...args);
        } catch (error) {
          failed ??= alias;
          throw error;
        }
      };
    },
  });
  try {
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return {
      value,
      lineOf: (path) => {
        const node = document.getIn(path, true) as { range?: [number, number, number] } | undefined;
        return node?.range ? lineAt(node.range[0]) : 1;
      },
    };
  } catch (error) {
    if (!failed || !(error instanceof ReferenceError)) throw error;
    return { line: lineAt(failed.range?.[0] ?? 0), reason: `*${failed.source}: ${error.message}` };
  }
}
