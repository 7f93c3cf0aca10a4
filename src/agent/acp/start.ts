/**
 * Owns the form of what is known of one agent that speaks the Agent Client Protocol.
 */
import type { HomeFile, ModelAccess, ToolClasses } from "../adapter.ts";

/** How one agent is started so that it finds its model, asks nothing at its start, and asks before its tools. */
export type Starting = (access: ModelAccess, model: string, tools: ToolClasses) => Started;

interface Started {
  /** Words before its command. */
  readonly wrapper?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly HomeFile[];
}

export const jsonFile = (path: string, value: object): HomeFile => ({ path, content: JSON.stringify(value) });
