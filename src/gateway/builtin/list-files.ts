/**
 * Owns the tool `list_files`: the names in a directory, down to the given depth.
 */
import * as z from "zod/mini";
import { type BytePath, type OpenDir, toText } from "../../capsule/index.ts";
import type { PlainTool } from "../../lane/index.ts";
import { printable } from "../../util/index.ts";
import type { ToolPlace } from "./place.ts";
import { type Found, reach } from "./reach.ts";
import { CantDo, pathSchema, tool } from "./tool.ts";

const MAX_DEPTH = 10;
const MAX_ENTRIES = 2000;

interface Looking {
  readonly depth: number;
  readonly hidden: boolean;
  readonly lines: string[];
}

export const listFilesTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "list_files",
    class: "read",
    isSilent: true,
    description: `Lists a directory of the task's files, one entry per line. Directories end with /, and links show their target. At most ${MAX_ENTRIES} entries.`,
    input: z.strictObject({
      path: z.optional(pathSchema.check(z.describe("The directory. Default: the directory of the task."))),
      depth: z.optional(
        z
          .int()
          .check(z.minimum(1), z.maximum(MAX_DEPTH), z.describe("How many levels to go down. Default: 1.")),
      ),
      hidden: z.optional(
        z.boolean().check(z.describe("Whether to list names that begin with a dot. Default: false.")),
      ),
    }),
    async run({ path = ".", depth = 1, hidden = false }) {
      const looking: Looking = { depth, hidden, lines: [] };
      reach(await place.grounds(), path, (found) => look(found, looking));
      const { lines } = looking;
      const isCut = lines.length > MAX_ENTRIES;
      const shown = lines.slice(0, MAX_ENTRIES);
      const note = isCut ? [`[there are more entries than these ${MAX_ENTRIES}]`] : [];
      return {
        outcome: "ok",
        text: [...shown, ...note].map((line) => `${line}\n`).join("") || "[the directory is empty]\n",
        facts: { entries: shown.length, is_cut: isCut },
      };
    },
  });

function look({ dir, name, stats, shown }: Found, looking: Looking): void {
  if (!stats) throw new CantDo(`${shown}: there is no such directory`);
  if (!stats.isDirectory()) throw new CantDo(`${shown}: it is not a directory`);
  using child = dir.child(name);
  if (!child) throw new CantDo(`${shown}: it was replaced meanwhile; try again`);
  list(child, "", 1, looking);
}

function list(dir: OpenDir, prefix: string, level: number, looking: Looking): void {
  for (const name of dir.names()) {
    if (looking.lines.length > MAX_ENTRIES) return;
    if (!looking.hidden && name.startsWith(".")) continue;
    const stats = dir.stat(name);
    if (!stats) continue;
    const shown = prefix + printable(toText(name));
    if (stats.isDirectory()) {
      looking.lines.push(`${shown}/`);
      if (level < looking.depth && name !== ".git")
        below(dir, name, (child) => list(child, `${shown}/`, level + 1, looking));
    } else looking.lines.push(stats.isSymbolicLink() ? `${shown} -> ${target(dir, name)}` : shown);
  }
}

/** A directory that was removed meanwhile has nothing to list. */
function below(dir: OpenDir, name: BytePath, use: (child: OpenDir) => void): void {
  using child = dir.child(name);
  if (child) use(child);
}

function target(dir: OpenDir, name: BytePath): string {
  try {
    return printable(dir.link(name).toString("utf8"));
  } catch {
    return "?";
  }
}
