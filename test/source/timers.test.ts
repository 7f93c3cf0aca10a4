/**
 * Code that waits for a time, and not for an event, has to say why: in a comment above the timer, or above
 * the constant with its time. A limit that the caller gives (`timeoutMs`) needs no comment: the reason is the
 * caller's.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..", "..", "src");
const TIMERS: ReadonlySet<string> = new Set(["setTimeout", "setInterval", "timeout"]);
const LIMIT = "timeoutMs";

const parse = (path: string, text: string) => ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);

/** The lines of the timers that no comment gives a reason for. */
function unexplained(tree: ts.SourceFile): number[] {
  const sleeps = importedTimers(tree);
  const named = commentedConstants(tree);
  const found: number[] = [];
  const look = (node: ts.Node) => {
    if (ts.isCallExpression(node) && isTimer(node, sleeps)) {
      const times = node.arguments.flatMap(namesIn);
      const isExplained = times.some((name) => named.has(name) || name === LIMIT) || hasCommentAbove(node);
      if (!isExplained) found.push(tree.getLineAndCharacterOfPosition(node.getStart()).line + 1);
    }
    ts.forEachChild(node, look);
  };
  look(tree);
  return found;
}

/** The names under which a file imports `node:timers/promises`. */
function importedTimers(tree: ts.SourceFile): Set<string> {
  const names = tree.statements.flatMap((one) => {
    if (!ts.isImportDeclaration(one) || !one.moduleSpecifier.getText().includes("timers")) return [];
    const bindings = one.importClause?.namedBindings;
    return bindings && ts.isNamedImports(bindings) ? bindings.elements.map(({ name }) => name.text) : [];
  });
  return new Set(names);
}

function isTimer({ expression }: ts.CallExpression, sleeps: ReadonlySet<string>): boolean {
  if (ts.isIdentifier(expression)) return sleeps.has(expression.text) || TIMERS.has(expression.text);
  return ts.isPropertyAccessExpression(expression) && TIMERS.has(expression.name.text);
}

/** Without the names inside a function: that is what the timer runs, not its time. */
function namesIn(node: ts.Node): string[] {
  if (ts.isFunctionLike(node)) return [];
  if (ts.isIdentifier(node)) return [node.text];
  const names: string[] = [];
  ts.forEachChild(node, (child) => void names.push(...namesIn(child)));
  return names;
}

function commentedConstants(tree: ts.SourceFile): Set<string> {
  const constants = tree.statements.filter(ts.isVariableStatement).filter(isCommented);
  return new Set(
    constants.flatMap((one) => one.declarationList.declarations.map(({ name }) => name.getText())),
  );
}

const isCommented = (node: ts.Node) =>
  (ts.getLeadingCommentRanges(node.getSourceFile().text, node.getFullStart()) ?? []).length > 0;

/** Whether a comment stands above its statement, or above one around that in the same function. */
function hasCommentAbove(node: ts.Node): boolean {
  for (let at: ts.Node | undefined = node; at && !ts.isFunctionLike(at); at = at.parent)
    if (ts.isStatement(at) && !ts.isBlock(at) && isCommented(at)) return true;
  return false;
}

describe("timers", () => {
  it("each timer in the source has a reason", () => {
    const sites = readdirSync(root, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .flatMap((path) =>
        unexplained(parse(path, readFileSync(join(root, path), "utf8"))).map((line) => `${path}:${line}`),
      );
    expect(sites).toEqual([]);
  });

  it.each([
    ["a timer without a comment", "setTimeout(wake, 5);"],
    ["an imported timer", 'import { setTimeout as rest } from "node:timers/promises";\nawait rest(5);'],
    ["a timer of a socket", "socket.setTimeout(5);"],
    ["the timeout of a signal", "const late = AbortSignal.timeout(5);"],
    ["a timer with a comment only inside of it", "setTimeout(() => {\n  // Why.\n  wake();\n}, 5);"],
    ["a timer in a commented function", "/** Why. */\nfunction rest() {\n  setTimeout(wake, 5);\n}"],
    ["a timer whose constant has no comment", "const REST_MS = 5;\nsetTimeout(wake, REST_MS);"],
  ])("no reason is found for %s", (_, text) => {
    expect(unexplained(parse("x.ts", text))).toHaveLength(1);
  });

  it.each([
    ["a comment above the timer", "// Why.\nsetTimeout(wake, 5);"],
    ["a comment above its constant", "/** Why. */\nconst REST_MS = 5;\nsetTimeout(wake, REST_MS);"],
    ["a limit that the caller gives", "setTimeout(wake, options.timeoutMs);"],
  ])("%s counts as a reason", (_, text) => {
    expect(unexplained(parse("x.ts", text))).toEqual([]);
  });
});
