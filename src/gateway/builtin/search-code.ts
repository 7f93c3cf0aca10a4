/**
 * Owns the tool `search_code`: it uses ripgrep if the sandbox has it, git's own search in a repo, or else
 * grep.
 */
import * as z from "zod/mini";
import { toText } from "../../capsule/index.ts";
import type { PlainTool } from "../../lane/index.ts";
import { run } from "./commands.ts";
import type { ToolPlace } from "./place.ts";
import { reach } from "./reach.ts";
import { CantDo, pathSchema, tool } from "./tool.ts";

const USUAL_RESULTS = 100;
const MAX_RESULTS = 1000;
const MAX_LINE = 400;
const TIMEOUT_MS = 60_000;

/**
 * $1: whether it is a regular expression; $2: the pattern; $3: a path. All print `path:line:text`, and find
 * hidden files too.
 */
const SEARCH = `
if command -v rg >/dev/null 2>&1; then
  [ "$1" = regex ] && kind=--regexp || kind='--fixed-strings --regexp'
  exec rg --no-config --no-heading --with-filename --line-number --color=never --sort=path \\
    --hidden --glob '!.git' --no-ignore-dot $kind "$2" -- "$3"
fi
[ "$1" = regex ] && kind=-E || kind=-F
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  exec git -c core.fsmonitor=false --no-pager grep --untracked --no-color -n -I $kind -e "$2" -- "$3"
fi
exec grep -rnI $kind -e "$2" -- "$3"
`;

export const searchCodeTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "search_code",
    class: "read",
    description:
      "Searches the task's files, except those that git ignores, and returns one line per hit: path:line:text, with paths from the top of the repo. The pattern is plain text; with is_regex set, it is an extended regular expression.",
    input: z.strictObject({
      pattern: z
        .string()
        .check(z.minLength(1), z.maxLength(4096), z.describe("The text to search for, without line breaks.")),
      path: z.optional(pathSchema.check(z.describe("A file or directory to search. Default: all files."))),
      max_results: z.optional(
        z.int().check(z.minimum(1), z.maximum(MAX_RESULTS), z.describe(`Default: ${USUAL_RESULTS}.`)),
      ),
      is_regex: z.optional(z.boolean().check(z.describe("Default: false."))),
    }),
    async run({ pattern, path, max_results: max = USUAL_RESULTS, is_regex: isRegex = false }, { signal }) {
      if (/[\0\n]/.test(pattern)) throw new CantDo("the pattern must be a single line");
      const where = path === undefined ? "." : await place.grounds().then((grounds) => inTop(grounds, path));
      let lines = 0;
      const ran = await run(place, {
        command: ["sh", "-c", SEARCH, "search_code", isRegex ? "regex" : "text", pattern, where],
        cwd: ".",
        isQuiet: true,
        timeoutMs: TIMEOUT_MS,
        signal,
        isEnough: (chunk) => {
          for (const byte of chunk) if (byte === 10) lines += 1;
          return lines > max;
        },
      });
      const hits = ran.output.split("\n").slice(0, -1);
      // The search is ended early when there are enough hits.
      if (lines <= max && ran.isTimedOut)
        throw new CantDo(`the search took more than ${TIMEOUT_MS / 1000} s`);
      if (lines <= max && ran.exitCode !== 0 && ran.exitCode !== 1) throw new CantDo(ran.output.trim());
      const shown = hits.slice(0, max).map((hit) => cut(hit.replace(/^\.\//, "")));
      const isCut = hits.length > max;
      const note = isCut
        ? [`[there are more hits than these ${max}]`]
        : shown.length === 0
          ? ["[nothing was found]"]
          : [];
      const text = [...shown, ...note].map((line) => `${line}\n`).join("");
      return { outcome: "ok", text, facts: { results: shown.length, is_cut: isCut } };
    },
  });

function inTop(grounds: Parameters<typeof reach>[0], path: string): string {
  return reach(grounds, path, ({ stats, path, shown }) => {
    if (!stats) throw new CantDo(`${shown}: there is no such file`);
    return path === "" ? "." : `./${toText(path)}`;
  });
}

const cut = (line: string) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)} …` : line);
