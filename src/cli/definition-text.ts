/**
 * Owns how an agent definition is printed, on one line.
 */
import type { AgentDefinition } from "../contract/index.ts";

export function definitionText({ adapter, command = [], script, model, lane, env }: AgentDefinition): string {
  const facts = [
    command.length > 0 ? command.join(" ") : adapter,
    ...(script === undefined ? [] : [script]),
    ...(model === undefined ? [] : [`model ${model}`]),
    ...(lane === undefined ? [] : [`lane ${lane}`]),
    ...(env.length > 0 ? [`variables ${env.join(", ")}`] : []),
  ];
  return facts.join(", ");
}
