/**
 * docs/library.md shows the whole library: its examples are one program, which is compiled and run as it stands.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { entry, isMethod, membersOf, publishedIn } from "../support/surface.ts";
import { TaskHome } from "../support/tasks.ts";

const root = join(import.meta.dirname, "..", "..");
const page = readFileSync(join(root, "docs", "library.md"), "utf8");
const program = [...page.matchAll(/```ts\n([\s\S]+?)```/g)].map(([, text = ""]) => text).join("\n");

/** The types whose methods a program calls. Those of a turn in a workplace are the same as those of a turn. */
const TYPES = [
  "Holdfast",
  "OwnedSession",
  "OwnTask",
  "Workplace",
  "Messages",
  "Turn",
  "ToolCall",
  "SessionHandle",
];

describe("docs/library.md", () => {
  it("lists every method, and no other", () => {
    const published = publishedIn(entry);
    const tables = page.split("## All methods")[1] ?? "";
    for (const type of TYPES) {
      const symbol = published.find(({ name }) => name === type);
      const methods = symbol ? membersOf(symbol).filter(isMethod) : [];
      const table = tables.split(`**\`${type}\`**`)[1]?.split("**`")[0] ?? "";
      const listed = [...table.matchAll(/^\| `(\w+)` \| \S/gm)].map(([, name]) => name);
      expect(listed.sort(), type).toEqual(methods.map(({ name }) => name).sort());
    }
  });

  it("its examples compile against the types of the library", () => {
    using home = new TaskHome();
    const file = home.join("program.mts");
    writeFileSync(file, program.replace('"holdfast"', JSON.stringify(join(root, "src", "index.ts"))));
    const config = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
    const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
    const typeRoots = [join(root, "node_modules", "@types")];
    const compiled = ts.createProgram([file], { ...options, noEmit: true, typeRoots });
    const found = ts.getPreEmitDiagnostics(compiled).filter((one) => one.file?.fileName === file);
    expect(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"))).toEqual([]);
  });

  it.runIf(hasSandbox)("its examples run as they stand, one after the other", () => {
    using home = new TaskHome();
    const file = home.join("program.mts");
    writeFileSync(file, program.replace('"holdfast"', JSON.stringify(join(root, "dist", "index.js"))));
    const env = { ...process.env, HOLDFAST_HOME: home.dir };
    execFileSync(process.execPath, [file], { cwd: home.main, env, stdio: "pipe" });
  });
});
