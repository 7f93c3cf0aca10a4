/**
 * Owns the files that an agent finds in HOME when it starts. Holdfast writes them beside the agent's door,
 * where the agent can only read, and a shell inside its sandbox copies them. HOME belongs to the agent: a
 * link that it left there must not lead Holdfast's own writes elsewhere.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import type { HomeFile } from "../../agent/index.ts";

const NAME = "given";
/** `set` files replace existing ones; `kept` files do not. */
const SET = "set";
const KEPT = "kept";
/** In HOME: the read-only files that the last process was given. The next one finds none that are gone since. */
const LIST = ".holdfast-given";

/** `dir`: the directory of the door. Removes the files of an earlier process. */
export function giveFiles(dir: string, files: readonly HomeFile[]): void {
  const top = join(dir, NAME);
  rmSync(top, { recursive: true, force: true });
  const names = files.filter(({ isReadOnly }) => isReadOnly).map(({ path }) => `${path}\n`);
  for (const file of [...files, { path: LIST, content: names.join("") }]) {
    const below = normalize(file.path);
    if (below.startsWith("..") || below.startsWith("/"))
      throw new Error(`${file.path} is not a path below HOME`);
    const to = join(top, file.isKept ? KEPT : SET, below);
    mkdirSync(dirname(to), { recursive: true, mode: 0o755 });
    writeFileSync(to, file.content, { mode: modeOf(file) });
  }
}

function modeOf({ isExecutable, isReadOnly }: HomeFile): number {
  return (isExecutable ? 0o755 : 0o644) & (isReadOnly ? 0o555 : 0o777);
}

const COPY = `[ ! -f "$HOME/${LIST}" ] || while IFS= read -r old; do rm -f "$HOME/$old"; done < "$HOME/${LIST}"
for given in "$0/${KEPT}/.:-n" "$0/${SET}/.:-f"; do
[ ! -d "\${given%:*}" ] || cp -R "\${given##*:}" "\${given%:*}" "$HOME" || exit 126; done; exec "$@"`;

/** `dir`: the directory of the door, as the command sees it. */
export function withGiven(dir: string, command: readonly string[]): string[] {
  return ["sh", "-c", COPY, join(dir, NAME), ...command];
}
