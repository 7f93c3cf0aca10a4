/**
 * What the library and `holdfast/testing` publish: every type that can be reached from the library is published too, and
 * every name and every member has a sentence that an editor shows.
 */
import ts from "typescript";
import { describe, expect, it } from "vitest";
import {
  checker,
  entry,
  isHidden,
  isOurs,
  isPrivate,
  membersOf,
  publishedIn,
  sentenceOf,
  TYPES,
  testing,
} from "../support/surface.ts";

const published = publishedIn(entry);

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

const hasSentence = (symbol: ts.Symbol) => sentenceOf(symbol) !== "";

/** The alternatives of a union are described one by one, not each of their members. */
function isDescribedAbove(member: ts.Symbol): boolean {
  return (member.declarations ?? []).some(({ parent: literal }) => {
    if (!ts.isTypeLiteralNode(literal) || !ts.isUnionTypeNode(literal.parent)) return false;
    const at = literal.parent.types.indexOf(literal);
    const from = literal.parent.types[at - 1]?.end ?? literal.parent.getFullStart();
    return literal.getSourceFile().text.slice(from, literal.getStart()).includes("/**");
  });
}

/** A union narrows by a member whose value says what the others are. */
const isTag = (symbol: ts.Symbol) => ["kind", "type", "role"].includes(symbol.name);

function silentIn(path: string): string[] {
  return publishedIn(path).flatMap((symbol) => [
    ...(hasSentence(symbol) ? [] : [symbol.name]),
    ...membersOf(symbol)
      .filter((member) => !hasSentence(member) && !isTag(member) && !isDescribedAbove(member))
      .map((member) => `${symbol.name}.${member.name}`),
  ]);
}

describe("the library", () => {
  it("publishes every type of its own that its published names refer to", () => {
    expect(published.length).toBeGreaterThan(20);
    expect(unpublished()).toEqual([]);
  });

  it("documents every name that it publishes and every member", () => {
    expect(published.flatMap(membersOf).length).toBeGreaterThan(300);
    expect(silentIn(entry)).toEqual([]);
  });

  it("documents every name and every member of holdfast/testing", () => {
    expect(publishedIn(testing).length).toBeGreaterThan(5);
    expect(silentIn(testing)).toEqual([]);
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
