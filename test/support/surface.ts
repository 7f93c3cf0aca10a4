/**
 * What a module publishes, as the compiler sees it: its names, and the members of its types.
 */
import { join, relative, resolve } from "node:path";
import ts from "typescript";

const root = resolve(import.meta.dirname, "..", "..");
export const entry = join(root, "src", "index.ts");
export const testing = join(root, "src", "testing", "index.ts");

const config = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
const program = ts.createProgram([entry, testing], { ...options, noEmit: true, skipLibCheck: true });
export const checker = program.getTypeChecker();

export function publishedIn(path: string): ts.Symbol[] {
  const source = program.getSourceFile(path);
  const module = source && checker.getSymbolAtLocation(source);
  return (module ? checker.getExportsOfModule(module) : []).map((symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
  );
}

export const isOurs = (declaration: ts.Declaration) => {
  const path = relative(join(root, "src"), declaration.getSourceFile().fileName);
  return !path.startsWith("..");
};
export const isHidden = (symbol: ts.Symbol) => symbol.getJsDocTags().some(({ name }) => name === "internal");
export const isPrivate = (node: ts.Declaration) => {
  const name = ts.getNameOfDeclaration(node);
  const flags = ts.getCombinedModifierFlags(node);
  return (name && ts.isPrivateIdentifier(name)) || (flags & ts.ModifierFlags.Private) !== 0;
};

export const TYPES = ts.SymbolFlags.Class | ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias;

/** The members of a type, and of each type of a union: those that our sources declare. */
export function membersOf(symbol: ts.Symbol): ts.Symbol[] {
  if (!(symbol.flags & TYPES)) return [];
  const type = checker.getDeclaredTypeOfSymbol(symbol);
  const parts = type.isUnion() ? type.types : [type];
  return parts
    .filter((part) => part.flags & ts.TypeFlags.Object)
    .flatMap((part) => checker.getPropertiesOfType(part))
    .filter((member) => member.declarations?.some(isOurs) && !member.name.startsWith("__@"))
    .filter((member) => !isHidden(member) && !member.declarations?.some(isPrivate));
}

export const isMethod = (symbol: ts.Symbol) => (symbol.flags & ts.SymbolFlags.Method) !== 0;

export const sentenceOf = (symbol: ts.Symbol) =>
  ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim();
