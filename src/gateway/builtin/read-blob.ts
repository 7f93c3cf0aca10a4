/**
 * Owns the tool `read_blob`: a part of a long output, by the handle at the place where it was cut, or what a
 * background command has written so far.
 */
import * as z from "zod/mini";
import type { JsonObject } from "../../contract/index.ts";
import type { PlainTool } from "../../lane/index.ts";
import type { ToolPlace } from "./place.ts";
import { CantDo, tool } from "./tool.ts";

/** The gate cuts a longer answer in the middle. */
const MAX_BYTES = 12_000;

export const readBlobTool = (place: ToolPlace): PlainTool =>
  tool({
    name: "read_blob",
    class: "read",
    isSilent: true,
    description:
      "Reads a part of a long output that was cut, by its handle, or what a background command has written so far. Without an offset, it reads from the beginning.",
    input: z.strictObject({
      handle: z.string().check(z.maxLength(100), z.describe("64 characters, or for example command-1.")),
      offset: z.optional(z.int().check(z.minimum(0), z.describe("In bytes. Default: 0."))),
      length: z.optional(
        z.int().check(z.minimum(1), z.describe(`In bytes, at most ${MAX_BYTES}, which is the default.`)),
      ),
    }),
    async run({ handle, offset = 0, length: wanted = MAX_BYTES }) {
      const length = Math.min(wanted, MAX_BYTES);
      const command = place.commands.read(handle, offset, length);
      if (command) return answer(command, command.facts);
      const blob = /^[0-9a-f]{64}$/.test(handle) ? await place.readBlob(handle) : undefined;
      if (!blob) throw new CantDo(`there is no output with the handle ${JSON.stringify(handle)}`);
      const from = Math.min(offset, blob.length);
      return answer({ bytes: blob.subarray(from, from + length), from, total: blob.length }, {});
    },
  });

function answer(
  { bytes, from, total }: { readonly bytes: Buffer; readonly from: number; readonly total: number },
  more: JsonObject,
) {
  // A character that is cut at the end is read with the next part.
  const whole = from + bytes.length < total ? wholeCharacters(bytes) : bytes;
  const facts = { offset: from, next_offset: from + whole.length, total_bytes: total, ...more };
  return { outcome: "ok" as const, text: whole.toString("utf8"), facts };
}

function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length - 1); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? bytes.subarray(0, -back) : bytes;
  }
  return bytes;
}
