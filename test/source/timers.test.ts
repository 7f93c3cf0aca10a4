/**
 * What waits for a time, and not for something that happens, says why. The reason stands above the timer, or above the
 * constant that has its time. A limit that the caller gives (`timeoutMs`) is the caller's reason.
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

/** What `node:timers/promises` is called here. */
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

/** Not those inside of a function: it is what the timer does. */
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

/** Above the statement that it is in, or above one of those around that, within its function. */
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
    ["one from a module", 'import { setTimeout as rest } from "node:timers/promises";\nawait rest(5);'],
    ["one of a socket", "socket.setTimeout(5);"],
    ["a signal", "const late = AbortSignal.timeout(5);"],
    ["a comment inside of it", "setTimeout(() => {\n  // Why.\n  wake();\n}, 5);"],
    ["a comment above its function", "/** Why. */\nfunction rest() {\n  setTimeout(wake, 5);\n}"],
    ["a constant without a comment", "const REST_MS = 5;\nsetTimeout(wake, REST_MS);"],
  ])("no reason: %s", (_, text) => {
    expect(unexplained(parse("x.ts", text))).toHaveLength(1);
  });

  it.each([
    ["a comment above it", "// Why.\nsetTimeout(wake, 5);"],
    ["a comment above a constant", "/** Why. */\nconst REST_MS = 5;\nsetTimeout(wake, REST_MS);"],
    ["a limit of the caller's", "setTimeout(wake, options.timeoutMs);"],
  ])("a reason: %s", (_, text) => {
    expect(unexplained(parse("x.ts", text))).toEqual([]);
  });
});
