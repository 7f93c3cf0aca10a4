/**
 * Owns the tools that write a file: `edit_file` makes an exact replacement, and refuses an ambiguous one;
 * `write_file` writes the whole file.
 */
import * as z from "zod/mini";
import type { PlainTool } from "../../lane/index.ts";
import { assertWritable, MAX_FILE_BYTES, putText, readText } from "./contents.ts";
import type { ToolPlace } from "./place.ts";
import { reach } from "./reach.ts";
import { CantDo, pathSchema, tool } from "./tool.ts";

const path = pathSchema.check(z.describe("The file: relative to the directory of the task, or absolute."));
const MAX_LINES_NAMED = 10;

export const editFileTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "edit_file",
    class: "write",
    description:
      "Replaces a text in a file by another. old_text must match exactly, including white space, and occur only once unless replace_all is set: include enough lines around it to make it unique.",
    input: z.strictObject({
      path,
      old_text: z
        .string()
        .check(z.minLength(1), z.maxLength(MAX_FILE_BYTES), z.describe("The exact text to replace.")),
      new_text: z.string().check(z.maxLength(MAX_FILE_BYTES), z.describe("The text to put in its place.")),
      replace_all: z.optional(
        z.boolean().check(z.describe("Whether to replace every occurrence in the file. Default: false.")),
      ),
    }),
    async run({ path, old_text: old, new_text: now, replace_all: isEverywhere = false }) {
      if (old === now) throw new CantDo("old_text and new_text are the same");
      assertText(now);
      const grounds = await writableGrounds(place);
      return place.writing(() =>
        reach(grounds, path, (found) => {
          assertWritable(found);
          const text = readText(found);
          const places = placesOf(old, text, isEverywhere ? old.length : 1);
          const lines = places.slice(0, MAX_LINES_NAMED).map((at) => lineAt(text, at));
          if (places.length === 0)
            throw new CantDo(`${found.shown}: old_text was not found${nearly(old, text)}`);
          if (places.length > 1 && !isEverywhere)
            throw new CantDo(
              `${found.shown}: old_text occurs ${places.length} times, in the lines ${lines.join(", ")}${places.length > lines.length ? ", …" : ""}; make it unique, or set replace_all`,
            );
          if (text.length + places.length * (now.length - old.length) > MAX_FILE_BYTES)
            throw new CantDo(`${found.shown}: it would have more than ${MAX_FILE_BYTES} bytes`);
          putText(found, text.split(old).join(now), place.user);
          const facts = { replacements: places.length, lines };
          return {
            outcome: "ok" as const,
            text: `${found.shown}: replaced in line ${lines.join(", ")}\n`,
            facts,
          };
        }),
      );
    },
  });

export const writeFileTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "write_file",
    class: "write",
    description:
      "Writes a whole text file. Missing directories are made. An existing file is replaced, and keeps its permissions. To change a part of a file, use edit_file.",
    input: z.strictObject({
      path,
      content: z.string().check(z.maxLength(MAX_FILE_BYTES), z.describe("The whole content of the file.")),
    }),
    async run({ path, content }) {
      assertText(content);
      const grounds = await writableGrounds(place);
      return place.writing(() => {
        const write = reach(
          grounds,
          path,
          (found) => {
            assertWritable(found);
            putText(found, content, place.user);
            return { isNew: !found.stats, shown: found.shown };
          },
          { make: { user: place.user } },
        );
        const bytes = Buffer.byteLength(content);
        const text = `${write.shown}: ${write.isNew ? "made" : "replaced"}, with ${bytes} bytes\n`;
        return { outcome: "ok" as const, text, facts: { bytes, is_new: write.isNew } };
      });
    },
  });

async function writableGrounds(place: ToolPlace) {
  if (place.isReadOnly) throw new CantDo("this task may only read its files", "refused");
  return place.grounds();
}

/** Half of a surrogate pair has no bytes in UTF-8. */
function assertText(text: string): void {
  if (!text.isWellFormed())
    throw new CantDo("the text contains a lone surrogate, which is half of a character");
}

/** `step` 1: also those that overlap, because each of them could be meant. */
function placesOf(part: string, text: string, step: number): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + step)) places.push(at);
  return places;
}

const lineAt = (text: string, at: number) => text.slice(0, at).split("\n").length;

/** A hint for the most frequent mistake. */
function nearly(part: string, text: string): string {
  const [first = ""] = part.trimStart().split("\n", 1);
  const wanted = first.trim();
  if (wanted === "") return "";
  const lines = text.split("\n").flatMap((line, at) => (line.includes(wanted) ? [at + 1] : []));
  return lines.length === 0
    ? ""
    : `; its first line was found, apart from white space or what follows, in line ${lines.slice(0, MAX_LINES_NAMED).join(", ")}`;
}
