/**
 * Owns whether an agent can be held to its lane. Files and hosts are the sandbox's to hold. That an agent edits files and
 * runs no commands is not: the sandbox can't tell the two apart. For that the agent has to be one that can be started
 * without the tool, and that was seen to take a refusal.
 */
import { type AgentSpec, HoldfastError } from "../contract/index.ts";
import type { ToolClasses } from "./adapter.ts";
import { knownAgent, knownAgents } from "./known.ts";
import { manifestOf } from "./manifest.ts";

interface LaneAsked extends Pick<ToolClasses, "isWithoutCommands"> {
  readonly name: string;
}

export function assertHeld(spec: AgentSpec, { name: lane, isWithoutCommands }: LaneAsked): void {
  const reason = isWithoutCommands ? whyNotHeld(spec) : undefined;
  if (reason === undefined) return;
  const able = knownAgents.filter(({ name }) => canBeHeld(name)).map(({ name }) => name);
  throw new HoldfastError(
    "lane_not_held",
    `lane ${lane} runs no commands, and ${reason}; ${able.join(", ")} can be kept from them`,
    { lane, able },
  );
}

function whyNotHeld(spec: AgentSpec): string | undefined {
  if (spec.adapter === "exec") return "this task is one";
  if (spec.adapter === "claude") return canBeHeld("claude") ? undefined : cantBeHeld("claude");
  if (!canBeHeld(spec.agent)) return cantBeHeld(spec.agent);
  const [program = ""] = spec.command;
  return program === knownAgent(spec.agent)?.program ? undefined : `${program} may be any program`;
}

const cantBeHeld = (agent: string) => `${agent} can't be kept from them`;

const canBeHeld = (agent: string) =>
  knownAgent(agent)?.isStartedWithout === true && manifestOf(agent)?.can.refuseCalls === true;
