/**
 * Owns files that an agent finds in HOME when it starts. We write them beside its door, where it can only read, and a
 * shell inside its sandbox copies them: HOME is the agent's own, and a link that it left there must lead us nowhere.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import type { HomeFile } from "../../agent/index.ts";

const NAME = "given";
/** Those that replace what is there, and those that do not. */
const SET = "set";
const KEPT = "kept";

/** `dir`: of the door. Files of an earlier process are gone after this. */
export function giveFiles(dir: string, files: readonly HomeFile[]): void {
  const top = join(dir, NAME);
  rmSync(top, { recursive: true, force: true });
  for (const { path, content, isKept } of files) {
    const below = normalize(path);
    if (below.startsWith("..") || below.startsWith("/")) throw new Error(`${path} is no path from HOME`);
    const to = join(top, isKept ? KEPT : SET, below);
    mkdirSync(dirname(to), { recursive: true, mode: 0o755 });
    writeFileSync(to, content, { mode: 0o644 });
  }
}

const COPY = `for given in "$0/${KEPT}/.:-n" "$0/${SET}/.:-f"; do
[ ! -d "\${given%:*}" ] || cp -R "\${given##*:}" "\${given%:*}" "$HOME" || exit 126; done; exec "$@"`;

/** `dir`: of the door, as the command sees it. */
export function withGiven(dir: string, command: readonly string[]): string[] {
  return ["sh", "-c", COPY, join(dir, NAME), ...command];
}
