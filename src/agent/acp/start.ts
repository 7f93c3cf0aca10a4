/**
 * Owns the form of what Holdfast knows about starting one agent that speaks the Agent Client Protocol.
 */
import type { HomeFile, ModelAccess, ToolClasses } from "../adapter.ts";

/**
 * How an agent is started so that it finds its model, asks nothing at the start, and asks before each tool.
 */
export type Starting = (access: ModelAccess, model: string, tools: ToolClasses) => Started;

interface Started {
  /** When told to end a turn, the agent forgets it. So its process is ended without telling it. */
  readonly forgetsCancelled?: boolean;
  /** Words before the agent's command. */
  readonly wrapper?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly HomeFile[];
}

export const jsonFile = (path: string, value: object): HomeFile => ({ path, content: JSON.stringify(value) });
