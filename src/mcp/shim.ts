/**
 * Owns the copy of the shim beside a session's door: a program that an agent's configuration can name as an
 * MCP server. When it is made from the sources, its types are stripped, because the sandbox may have an older
 * Node.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownProgram } from "../process/index.ts";

export const SHIM_FILE = "mcp.mjs";

export function layShim(dir: string): void {
  const path = ownProgram("mcp");
  const text = readFileSync(path, "utf8");
  const { stripTypeScriptTypes } = process.getBuiltinModule("node:module");
  writeFileSync(join(dir, SHIM_FILE), path.endsWith(".ts") ? stripTypeScriptTypes(text) : text, {
    mode: 0o644,
  });
}
