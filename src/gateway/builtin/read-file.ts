/**
 * Owns the tool `read_file`: lines of a text file, exactly as they are.
 */
import * as z from "zod/mini";
import type { PlainTool } from "../../lane/index.ts";
import { readText } from "./contents.ts";
import type { ToolPlace } from "./place.ts";
import { reach } from "./reach.ts";
import { CantDo, pathSchema, tool } from "./tool.ts";

const USUAL_LINES = 2000;
const MAX_LINES = 100_000;
/** The gate cuts a longer answer in the middle. */
const MAX_TEXT = 12_000;

export const readFileTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "read_file",
    class: "read",
    isSilent: true,
    description:
      "Reads a text file of the task's files. Returns its lines exactly as they are, without line numbers. If there are more lines, or they are too long for one answer, the last line of the answer tells how to continue.",
    input: z.strictObject({
      path: pathSchema.check(z.describe("The file: relative to the directory of the task, or absolute.")),
      offset_lines: z.optional(
        z.int().check(z.minimum(0), z.describe("How many lines to leave out at the beginning. Default: 0.")),
      ),
      max_lines: z.optional(
        z
          .int()
          .check(
            z.minimum(1),
            z.maximum(MAX_LINES),
            z.describe(`How many lines to return. Default: ${USUAL_LINES}.`),
          ),
      ),
    }),
    async run({ path, offset_lines: offset = 0, max_lines: max = USUAL_LINES }) {
      const text = reach(await place.grounds(), path, readText);
      const lines = linesOf(text);
      if (offset > 0 && offset >= lines.length)
        throw new CantDo(
          `${path}: it has ${lines.length} lines, so none is left after offset_lines ${offset}`,
        );
      const some = fitting(lines.slice(offset, offset + max));
      const last = offset + some.length;
      const more = last < lines.length;
      const note = `[lines ${offset + 1} to ${last} of ${lines.length}; continue with offset_lines ${last}]\n`;
      const facts = {
        lines: lines.length,
        first_line: offset + 1,
        last_line: last,
        bytes: Buffer.byteLength(text),
      };
      return { outcome: "ok", text: some.join("") + (more ? note : ""), facts };
    },
  });

/** As many whole lines as the gate does not cut, but at least one. */
function fitting(lines: readonly string[]): readonly string[] {
  let length = 0;
  const end = lines.findIndex((line) => {
    length += line.length;
    return length > MAX_TEXT;
  });
  return end < 0 ? lines : lines.slice(0, Math.max(1, end));
}

/** Each line with its line end. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
