/**
 * The shape of the source, by rule: files and classes stay small, and a folder exports only what others need.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const MAX_LINES = 300;
const MAX_FIELDS = 8;

const root = resolve(import.meta.dirname, "..", "..", "src");

const sources = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path, ...parsed(path) }));

function parsed(path: string) {
  const text = readFileSync(join(root, path), "utf8");
  return { text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true) };
}

function each(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node);
  ts.forEachChild(node, (child) => each(child, look));
}

function fieldsOf(one: ts.ClassLikeDeclaration): number {
  const own = one.members.filter(ts.isPropertyDeclaration).length;
  const parameters = one.members.filter(ts.isConstructorDeclaration).flatMap((made) => [...made.parameters]);
  return own + parameters.filter((parameter) => ts.isParameterPropertyDeclaration(parameter, one)).length;
}

const EVERYTHING = "*";

/** The names that a file takes from others, each as the file that it is taken from and the name. */
function taken({ path, tree }: { readonly path: string; readonly tree: ts.SourceFile }): string[] {
  const found: string[] = [];
  const add = (from: ts.Expression | undefined, names: readonly string[]) => {
    if (!from || !ts.isStringLiteral(from) || !from.text.startsWith(".")) return;
    const file = relative(root, resolve(root, dirname(path), from.text));
    found.push(...names.map((name) => `${file} ${name}`));
  };
  each(tree, (node) => {
    if (ts.isImportDeclaration(node)) {
      const bindings = node.importClause?.namedBindings;
      add(node.moduleSpecifier, bindings && ts.isNamedImports(bindings) ? namesOf(bindings) : [EVERYTHING]);
    } else if (ts.isExportDeclaration(node)) {
      const { exportClause } = node;
      add(
        node.moduleSpecifier,
        exportClause && ts.isNamedExports(exportClause) ? namesOf(exportClause) : [EVERYTHING],
      );
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], [EVERYTHING]);
    }
  });
  return found;
}

function namesOf({ elements }: ts.NamedImports | ts.NamedExports): string[] {
  return elements.map(({ name, propertyName }) => (propertyName ?? name).text);
}

describe("the shape of the source", () => {
  it(`no file has more than ${MAX_LINES} lines`, () => {
    const long = sources.filter(({ text }) => text.trimEnd().split("\n").length > MAX_LINES);
    expect(long.map(({ path }) => path)).toEqual([]);
  });

  it(`no class has more than ${MAX_FIELDS} fields`, () => {
    const wide = new Set<string>();
    for (const { path, tree } of sources)
      each(tree, (node) => {
        if (ts.isClassLike(node) && fieldsOf(node) > MAX_FIELDS) wide.add(path);
      });
    expect([...wide]).toEqual([]);
  });

  it("an index exports only what a file outside of its folder imports", () => {
    const { exports } = JSON.parse(readFileSync(join(root, "..", "package.json"), "utf8"));
    const folders = readdirSync(root)
      .filter((folder) => existsSync(join(root, folder, "index.ts")))
      // A folder that npm publishes under a name of its own exports to other packages.
      .filter((folder) => !(`./${folder}` in exports));
    const imports = sources.map((source) => ({ path: source.path, names: taken(source) }));
    const unneeded = folders.flatMap((folder) => {
      const file = `${folder}/index.ts`;
      const outside = imports.filter(({ path }) => !path.startsWith(`${folder}/`));
      const needed = new Set(outside.flatMap(({ names }) => names));
      if (needed.has(`${file} ${EVERYTHING}`)) return [];
      const exported = sources.find(({ path }) => path === file)?.tree.statements ?? [];
      return exported
        .flatMap((one) =>
          ts.isExportDeclaration(one) && one.exportClause && ts.isNamedExports(one.exportClause)
            ? one.exportClause.elements.map(({ name }) => name.text)
            : [],
        )
        .filter((name) => !needed.has(`${file} ${name}`))
        .map((name) => `${file} ${name}`);
    });
    expect(unneeded).toEqual([]);
  });
});
