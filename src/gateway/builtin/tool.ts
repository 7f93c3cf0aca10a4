/**
 * Owns the form of a built-in tool: its arguments are checked by the schema in its description, and what it
 * can't do is an answer to the agent, not an error of Holdfast.
 */
import * as z from "zod/mini";
import type { JsonObject, ToolClass } from "../../contract/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import type { CallContext, PlainTool, ToolOutcome } from "../../lane/index.ts";
import { errorCode } from "../../util/index.ts";

/** What a tool can't do, in words for the agent. Nothing was changed. */
export class CantDo extends Error {
  override readonly name = "CantDo";
  readonly outcome: "error" | "refused";

  constructor(text: string, outcome: "error" | "refused" = "error") {
    super(text);
    this.outcome = outcome;
  }
}

interface Definition<Shape extends z.ZodMiniObject> {
  readonly name: string;
  readonly class: ToolClass;
  readonly description: string;
  readonly isSilent?: boolean;
  readonly input: Shape;
  run(args: z.infer<Shape>, call: CallContext): Promise<ToolOutcome>;
}

export function tool<Shape extends z.ZodMiniObject>(definition: Definition<Shape>): PlainTool {
  const { name, description, isSilent = false, input } = definition;
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: "input" });
  return {
    name,
    class: definition.class,
    description,
    isSilent,
    input: schema as JsonObject,
    async run(args, call) {
      const parsed = input.safeParse(args);
      if (!parsed.success) return { outcome: "refused", text: whyInvalid(parsed.error) };
      try {
        return await definition.run(parsed.data, call);
      } catch (error) {
        if (error instanceof CantDo) return { outcome: error.outcome, text: error.message };
        throw error;
      }
    },
  };
}

function whyInvalid({ issues: [issue] }: z.core.$ZodError): string {
  const path = (issue?.path ?? []).map(String).join(".");
  const keys = issue?.code === "unrecognized_keys" ? issue.keys.join(", ") : "";
  if (keys !== "") return `the arguments do not match the tool's schema: it has no ${keys}`;
  return `the arguments do not match the tool's schema: ${path || "all of them"}: ${issue?.message}`;
}

const WORDS: Readonly<Record<string, string>> = {
  EACCES: "its permissions do not allow that",
  EPERM: "its permissions do not allow that",
  ENAMETOOLONG: "the name is too long",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk is full",
  EROFS: "the file system is read-only",
  ENOENT: "it was removed meanwhile",
  ENOTDIR: "it was replaced meanwhile",
  EISDIR: "it is a directory",
  EINVAL: "it is not a valid name of a file",
  EMFILE: "too many files are open",
};

/** Runs work on a file. Errors of the file system become an answer. */
export function explained<T>(shown: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "snapshot_raced")
      throw new CantDo(`${shown}: it was replaced while it was read; try again`);
    const code = errorCode(error);
    if (error instanceof CantDo || code === undefined || !/^E[A-Z0-9]+$/.test(code)) throw error;
    throw new CantDo(`${shown}: ${WORDS[code] ?? code}`);
  }
}

/** A path in a capsule, as an agent gives it. */
export const pathSchema = z.string().check(z.minLength(1), z.maxLength(4096));
