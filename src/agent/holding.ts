/**
 * Owns whether an agent can be held to its lane. The sandbox enforces files and hosts. It can't tell editing
 * files from running commands, so for a lane without commands the agent must be one that can be started
 * without the tool, and that was seen to accept a refusal, in the version that is installed.
 */
import { type AgentSpec, HoldfastError } from "../contract/index.ts";
import { findOutsideProgram } from "../process/index.ts";
import type { ToolClasses } from "./adapter.ts";
import { knownAgent, knownAgents } from "./known.ts";
import { manifestOf } from "./manifest.ts";
import { versionOf } from "./version.ts";

interface LaneAsked extends Pick<ToolClasses, "isWithoutCommands"> {
  readonly name: string;
}

export async function assertHeld(
  spec: AgentSpec,
  { name: lane, isWithoutCommands }: LaneAsked,
): Promise<void> {
  if (spec.adapter === "acp" && spec.tools === "gateway")
    throw new HoldfastError(
      "lane_not_held",
      `${spec.agent} can't be kept from its own tools: tools: gateway works with claude only`,
      { lane, able: ["claude"] },
    );
  const reason = isWithoutCommands ? await whyNotHeld(spec) : undefined;
  if (reason === undefined) return;
  const able = knownAgents.filter(({ name }) => canBeHeld(name)).map(({ name }) => name);
  throw new HoldfastError(
    "lane_not_held",
    `lane ${lane} allows no commands, and ${reason}; agents that can be kept from commands: ${able.join(", ")}`,
    { lane, able },
  );
}

async function whyNotHeld(spec: AgentSpec): Promise<string | undefined> {
  // It has only the gate's tools, and the gate enforces the lane.
  if (spec.adapter === "script") return undefined;
  if (spec.adapter === "exec") return "this task is a command";
  const agent = spec.adapter === "claude" ? "claude" : spec.agent;
  if (!canBeHeld(agent)) return cantBeHeld(agent);
  const known = knownAgent(agent);
  const [program] = spec.adapter === "claude" ? [known?.program] : spec.command;
  if (!known || program !== known.program) return `${program} may be any program`;
  const path = findOutsideProgram(known.program);
  const version = path === undefined ? undefined : await versionOf(known, path);
  if (version === undefined) return `the version of ${agent} is not known`;
  if (manifestOf(agent, version)?.can.refuseCalls) return undefined;
  return `version ${version} of ${agent} was never tried: version ${manifestOf(agent)?.version} can be kept from them`;
}

const cantBeHeld = (agent: string) => `${agent} can't be kept from running them`;

const canBeHeld = (agent: string) =>
  knownAgent(agent)?.isStartedWithout === true && manifestOf(agent)?.can.refuseCalls === true;
