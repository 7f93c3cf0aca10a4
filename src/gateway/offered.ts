/**
 * Owns `tools.json` of a session: the tools that its last task had when they were last listed, for people who
 * look. Upstream servers list their tools only while they run. The file is a cache: without it, the built-in
 * tools are known.
 */
import { writeFileSync } from "node:fs";
import * as z from "zod/mini";
import { toolClasses } from "../contract/index.ts";
import type { ToolDescription } from "../lane/index.ts";
import { errorCode, parseObject, readTextOr, toolsPath } from "../util/index.ts";
import { builtinTools } from "./builtin/index.ts";
import type { ToolPlace } from "./builtin/place.ts";

/** As for summaries. */
const CHARACTERS_PER_TOKEN = 4;

const schema = z.array(
  z.object({
    name: z.string(),
    class: z.enum(toolClasses),
    description: z.string(),
    tokens: z.int(),
  }),
);
export type OfferedTool = z.infer<typeof schema>[number];

/** How much its description costs a model. */
function costed({ name, class: kind, description, input }: ToolDescription): OfferedTool {
  const told = JSON.stringify({ name, description, inputSchema: input });
  return { name, class: kind, description, tokens: Math.ceil(told.length / CHARACTERS_PER_TOKEN) };
}

export function keepOffered(sessionDir: string, tools: readonly ToolDescription[]): void {
  const text = `${JSON.stringify({ tools: tools.map(costed) })}\n`;
  try {
    writeFileSync(toolsPath(sessionDir), text, { mode: 0o600 });
  } catch (error) {
    // No call fails because a cache can't be written: the disk may be full.
    if (errorCode(error) === undefined) throw error;
  }
}

/** `isKept`: whether a task has listed them. Otherwise they are the tools that every task has. */
export function readOffered(sessionDir: string): {
  readonly tools: readonly OfferedTool[];
  readonly isKept: boolean;
} {
  const kept = schema.safeParse(parseObject(readTextOr(toolsPath(sessionDir), ""))?.["tools"]).data;
  // Their descriptions need no task.
  return kept
    ? { tools: kept, isKept: true }
    : { tools: builtinTools({} as ToolPlace).map(costed), isKept: false };
}
