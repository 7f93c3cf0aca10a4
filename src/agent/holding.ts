/**
 * Owns whether an agent can be held to its lane. The sandbox enforces files and hosts. It can't tell editing
 * files from running commands, so for a lane without commands the agent must be one that can be started
 * without the tool, and that was seen to accept a refusal.
 */
import { type AgentSpec, HoldfastError } from "../contract/index.ts";
import type { ToolClasses } from "./adapter.ts";
import { knownAgent, knownAgents } from "./known.ts";
import { manifestOf } from "./manifest.ts";

interface LaneAsked extends Pick<ToolClasses, "isWithoutCommands"> {
  readonly name: string;
}

export function assertHeld(spec: AgentSpec, { name: lane, isWithoutCommands }: LaneAsked): void {
  if (spec.adapter === "acp" && spec.tools === "gateway")
    throw new HoldfastError(
      "lane_not_held",
      `${spec.agent} can't be kept from its own tools: tools: gateway works with claude only`,
      { lane, able: ["claude"] },
    );
  const reason = isWithoutCommands ? whyNotHeld(spec) : undefined;
  if (reason === undefined) return;
  const able = knownAgents.filter(({ name }) => canBeHeld(name)).map(({ name }) => name);
  throw new HoldfastError(
    "lane_not_held",
    `lane ${lane} allows no commands, and ${reason}; agents that can be kept from commands: ${able.join(", ")}`,
    { lane, able },
  );
}

function whyNotHeld(spec: AgentSpec): string | undefined {
  // It has only the gate's tools, and the gate enforces the lane.
  if (spec.adapter === "script") return undefined;
  if (spec.adapter === "exec") return "this task is a command";
  if (spec.adapter === "claude") return canBeHeld("claude") ? undefined : cantBeHeld("claude");
  if (!canBeHeld(spec.agent)) return cantBeHeld(spec.agent);
  const [program = ""] = spec.command;
  return program === knownAgent(spec.agent)?.program ? undefined : `${program} may be any program`;
}

const cantBeHeld = (agent: string) => `${agent} can't be kept from running them`;

const canBeHeld = (agent: string) =>
  knownAgent(agent)?.isStartedWithout === true && manifestOf(agent)?.can.refuseCalls === true;
