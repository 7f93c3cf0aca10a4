/**
 * Owns the tools `run_command` and `end_command`: a shell command in the task's sandbox, which is waited for
 * or not.
 */
import * as z from "zod/mini";
import { toText } from "../../capsule/index.ts";
import type { PlainTool, ToolOutcome } from "../../lane/index.ts";
import { type Ran, run } from "./commands.ts";
import type { ToolPlace } from "./place.ts";
import { reach } from "./reach.ts";
import { CantDo, pathSchema, tool } from "./tool.ts";

const USUAL_SECONDS = 120;
const MAX_SECONDS = 3600;

export const runCommandTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "run_command",
    class: "write",
    description:
      "Runs a command with sh -c in the task's sandbox, and returns what it wrote to stdout and stderr. The command has no standard input. After timeout_seconds it is ended, with all processes that it started. With background set, the call returns at once: read_blob with the handle shows the output so far, end_command ends the command, and it ends at the latest when your work on the task ends.",
    input: z.strictObject({
      command: z.string().check(z.minLength(1), z.maxLength(100_000), z.describe("The command, for sh -c.")),
      cwd: z.optional(
        pathSchema.check(z.describe("The directory to start in. Default: the directory of the task.")),
      ),
      timeout_seconds: z.optional(
        z.number().check(z.minimum(0.1), z.maximum(MAX_SECONDS), z.describe(`Default: ${USUAL_SECONDS}.`)),
      ),
      background: z.optional(
        z.boolean().check(z.describe("Whether to run it in the background. Default: false.")),
      ),
    }),
    async run({ command, cwd, timeout_seconds: seconds = USUAL_SECONDS, background = false }, { signal }) {
      if (command.includes("\0")) throw new CantDo("the command contains a zero byte");
      const started = { command: ["sh", "-c", command], cwd: cwd && (await directory(place, cwd)) };
      if (background) {
        const handle = await place.commands.start(place, started);
        return { outcome: "ok", text: `it runs in the background as ${handle}\n`, facts: { handle } };
      }
      return outcomeOf(await run(place, { ...started, timeoutMs: seconds * 1000, signal }), seconds);
    },
  });

export const endCommandTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "end_command",
    class: "write",
    description: "Ends a command that runs in the background, with all processes that it started.",
    input: z.strictObject({
      handle: z
        .string()
        .check(z.maxLength(100), z.describe("The handle from run_command, for example command-1.")),
    }),
    async run({ handle }) {
      const facts = await place.commands.end(handle);
      if (!facts) throw new CantDo(`there is no background command ${JSON.stringify(handle)}`);
      return { outcome: "ok", text: `${handle} has ended\n`, facts };
    },
  });

/** From the top. A path that is not a directory is refused, so that the command is not blamed. */
const directory = async (place: ToolPlace, cwd: string) =>
  reach(await place.grounds(), cwd, ({ stats, path, shown }) => {
    if (!stats?.isDirectory()) throw new CantDo(`${shown}: there is no such directory`);
    return path === "" ? "." : toText(path);
  });

/** A program's exit status tells whether it succeeded. */
export function outcomeOf(
  { exitCode, signal, isTimedOut, isStopped, output }: Ran,
  seconds: number,
): ToolOutcome {
  const said = output === "" || output.endsWith("\n") ? output : `${output}\n`;
  const how = isTimedOut
    ? `[it was ended after ${seconds} s]\n`
    : isStopped
      ? "[it was ended: the call was cancelled]\n"
      : signal !== null
        ? `[it was ended by ${signal}]\n`
        : exitCode !== 0
          ? `[exit status ${exitCode}]\n`
          : "";
  return {
    outcome: how === "" ? "ok" : "error",
    text: said + how,
    facts: { exit_code: exitCode, signal, timed_out: isTimedOut },
  };
}
