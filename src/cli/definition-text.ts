/**
 * Owns how an agent definition reads, on one line.
 */
import type { AgentDefinition } from "../contract/index.ts";

export function definitionText({ adapter, command = [], model, lane, env }: AgentDefinition): string {
  const facts = [
    command.length > 0 ? command.join(" ") : adapter,
    ...(model === undefined ? [] : [`model ${model}`]),
    ...(lane === undefined ? [] : [`lane ${lane}`]),
    ...(env.length > 0 ? [`variables ${env.join(", ")}`] : []),
  ];
  return facts.join(", ");
}
