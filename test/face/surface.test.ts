/**
 * What the library publishes: every type that can be reached from it is published too, and every name has a sentence
 * that an editor shows.
 */
import { join, relative, resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..", "..");
const entry = join(root, "src", "index.ts");

const config = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
const program = ts.createProgram([entry], { ...options, noEmit: true, skipLibCheck: true });
const checker = program.getTypeChecker();
const source = program.getSourceFile(entry);
const module = source && checker.getSymbolAtLocation(source);
const published = (module ? checker.getExportsOfModule(module) : []).map((symbol) =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
);

const isOurs = (declaration: ts.Declaration) => {
  const path = relative(join(root, "src"), declaration.getSourceFile().fileName);
  return !path.startsWith("..");
};
const isHidden = (symbol: ts.Symbol) => symbol.getJsDocTags().some(({ name }) => name === "internal");
const isPrivate = (node: ts.Declaration) => {
  const name = ts.getNameOfDeclaration(node);
  const flags = ts.getCombinedModifierFlags(node);
  return (name && ts.isPrivateIdentifier(name)) || (flags & ts.ModifierFlags.Private) !== 0;
};

/** The parts of a declaration that a user of the library sees. */
function seenParts(declaration: ts.Declaration): ts.Node[] {
  if (ts.isClassDeclaration(declaration) || ts.isInterfaceDeclaration(declaration))
    return [
      ...(declaration.heritageClauses ?? []),
      ...[...declaration.members].filter((member) => {
        const symbol = member.name && checker.getSymbolAtLocation(member.name);
        return !isPrivate(member) && !(symbol && isHidden(symbol)) && !ts.isConstructorDeclaration(member);
      }),
    ];
  return [declaration];
}

/** Types that are named in what is seen. What a function does inside is not seen. */
function namedTypes(node: ts.Node): ts.Symbol[] {
  const found: ts.Symbol[] = [];
  const look = (one: ts.Node): void => {
    if (ts.isBlock(one)) return;
    if (ts.isPropertyDeclaration(one) || ts.isParameter(one)) {
      if (one.type) look(one.type);
      return;
    }
    const name = ts.isTypeReferenceNode(one)
      ? one.typeName
      : ts.isExpressionWithTypeArguments(one)
        ? one.expression
        : undefined;
    const symbol = name && checker.getSymbolAtLocation(name);
    if (symbol) found.push(symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol);
    ts.forEachChild(one, look);
  };
  look(node);
  return found;
}

const TYPES = ts.SymbolFlags.Class | ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias;

function unpublished(): string[] {
  const known = new Set(published);
  const missing = new Set<string>();
  const looked = new Set<ts.Symbol>();
  const look = (symbol: ts.Symbol): void => {
    if (looked.has(symbol)) return;
    looked.add(symbol);
    for (const declaration of symbol.declarations ?? []) {
      if (!isOurs(declaration)) continue;
      for (const type of seenParts(declaration).flatMap(namedTypes)) {
        if (!(type.flags & TYPES) || !type.declarations?.some(isOurs)) continue;
        if (!known.has(type)) missing.add(type.name);
        look(type);
      }
    }
  };
  published.forEach(look);
  return [...missing].sort();
}

const hasSentence = (symbol: ts.Symbol) =>
  ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim() !== "";

function silent(): string[] {
  return published.flatMap((symbol) => {
    const members = symbol.declarations?.some(ts.isClassDeclaration)
      ? [...(symbol.members?.values() ?? [])]
      : [];
    const seen = members.filter(
      (member) => !isHidden(member) && !member.declarations?.some(isPrivate) && !member.name.startsWith("__"),
    );
    return [symbol, ...seen]
      .filter((one) => !hasSentence(one))
      .map((one) => (one === symbol ? one.name : `${symbol.name}.${one.name}`));
  });
}

describe("the library", () => {
  it("publishes every type of its own that its published names refer to", () => {
    expect(published.length).toBeGreaterThan(20);
    expect(unpublished()).toEqual([]);
  });

  it("documents every name that it publishes and every method", () => {
    expect(silent()).toEqual([]);
  });

  it("publishes three values besides its classes: openHoldfast, HoldfastError and isHoldfastError", () => {
    const values = published.filter(({ flags }) => flags & ts.SymbolFlags.Value).map(({ name }) => name);
    const classes = [
      "Holdfast",
      "OwnedSession",
      "OwnTask",
      "SessionHandle",
      "SessionWork",
      "Turn",
      "ToolCall",
    ];
    expect(values.filter((name) => !classes.includes(name)).sort()).toEqual([
      "HoldfastError",
      "isHoldfastError",
      "openHoldfast",
    ]);
  });
});
