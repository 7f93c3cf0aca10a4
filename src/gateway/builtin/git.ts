/**
 * Owns the tools that run the capsule's own git inside the sandbox: `git_diff`, `git_log` and `git_commit`.
 * The two that only read start no program that the repo's configuration names.
 */
import * as z from "zod/mini";
import { toText } from "../../capsule/index.ts";
import type { PlainTool } from "../../lane/index.ts";
import { type Ran, run } from "./commands.ts";
import type { ToolPlace } from "./place.ts";
import { reach } from "./reach.ts";
import { outcomeOf } from "./run-command.ts";
import { CantDo, pathSchema, tool } from "./tool.ts";

const TIMEOUT_SECONDS = 120;
const USUAL_COMMITS = 20;

/** Runs nothing from the capsule's configuration, and writes nothing. */
const LOOKING = "git --no-pager --no-optional-locks -c core.fsmonitor=false -c core.hooksPath=/dev/null";

/** $1: a commit, or empty for a repo without one; $2: a path. */
const DIFF = `
against=\${1:-$(git hash-object -t tree /dev/null)}
${LOOKING} diff --no-color --no-ext-diff --no-textconv "$against" -- "$2" || exit
others=$(${LOOKING} ls-files --others --exclude-standard -- "$2") || exit
[ -z "$others" ] || printf '\\nNot in git yet, so not in this diff:\\n%s\\n' "$others"
`;

export const gitDiffTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "git_diff",
    class: "read",
    description:
      "Shows how the task's files differ from the commit that the task began with (base), or from the last commit (head). Files that git does not track yet are listed below the diff.",
    input: z.strictObject({
      against: z.optional(z.enum(["base", "head"]).check(z.describe("Default: base."))),
      path: z.optional(pathSchema.check(z.describe("A file or directory. Default: all files."))),
    }),
    async run({ against = "base", path }, { signal }) {
      const where = path === undefined ? "." : await fromTop(place, path);
      const commit = against === "head" ? "HEAD" : (place.base ?? "");
      const ran = await inTop(place, ["sh", "-c", DIFF, "git_diff", commit, where], signal);
      if (ran.exitCode !== 0) return outcomeOf(ran, TIMEOUT_SECONDS);
      return {
        outcome: "ok",
        text: ran.output || "[nothing differs]\n",
        facts: { is_empty: ran.output === "" },
      };
    },
  });

export const gitLogTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "git_log",
    class: "read",
    description: "Shows the newest commits of the task's branch, one per line: id, date, author, subject.",
    input: z.strictObject({
      max: z.optional(
        z.int().check(z.minimum(1), z.maximum(1000), z.describe(`How many. Default: ${USUAL_COMMITS}.`)),
      ),
    }),
    async run({ max = USUAL_COMMITS }, { signal }) {
      const format = "--format=%h %as %an: %s";
      const command = [
        ...LOOKING.split(" "),
        "log",
        "--no-color",
        "--no-show-signature",
        `--max-count=${max}`,
        format,
      ];
      return outcomeOf(await inTop(place, command, signal), TIMEOUT_SECONDS);
    },
  });

export const gitCommitTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "git_commit",
    class: "write",
    description:
      "Commits all changes of the task's files, including new and removed files, on the task's own branch. Nothing is pushed. The work is saved without commits too; commits show the steps.",
    input: z.strictObject({
      message: z
        .string()
        .check(
          z.minLength(1),
          z.maxLength(20_000),
          z.describe("The subject, then an empty line and the body."),
        ),
    }),
    async run({ message }, { signal }) {
      if (message.includes("\0")) throw new CantDo("the message contains a zero byte");
      // Hooks are files of the repo. In a lane without commands, they would be a way to run some.
      const script =
        'git add -A && git -c core.hooksPath=/dev/null commit -q -m "$1" && git --no-pager log -1 --format="%h %s"';
      return outcomeOf(
        await inTop(place, ["sh", "-c", script, "git_commit", message], signal),
        TIMEOUT_SECONDS,
      );
    },
  });

const inTop = (place: ToolPlace, command: readonly string[], signal: AbortSignal): Promise<Ran> =>
  run(place, { command, cwd: ".", isQuiet: true, timeoutMs: TIMEOUT_SECONDS * 1000, signal });

/** A path that does not exist any more may differ too, but it has to stay inside the capsule. */
const fromTop = async (place: ToolPlace, path: string) =>
  reach(await place.grounds(), path, (found) => (found.path === "" ? "." : `./${toText(found.path)}`));
