/**
 * Owns the options that set what a task may do: its lane, and hosts in addition to those of the lane.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { hostPatternSchema, shippedLanes } from "../contract/index.ts";
import { present } from "../util/index.ts";

export interface LaneOptions {
  readonly lane?: string;
  readonly host?: readonly string[];
}

export function withLane(command: Command, byDefault: string): Command {
  return command
    .addOption(
      new Option(
        "--lane <lane>",
        `what the task may do: ${shippedLanes.join(", ")}, or a lane of holdfast.yaml; holdfast lanes explains them (default: ${byDefault})`,
      ),
    )
    .option(
      "--host <host>",
      "a host that the task may reach in addition to those of its lane, for example registry.npmjs.org, *.example.org or localhost:5432; can be given several times",
      collectHost,
    );
}

/** In the form of a task's spec. */
export function laneChoice({ lane, host }: LaneOptions): { lane?: string; hosts?: string[] } {
  return present({ lane, hosts: host && [...host] });
}

function collectHost(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, parseHost(text)];
}

export function parseHost(text: string): string {
  const parsed = hostPatternSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(`it ${parsed.error.issues[0]?.message}.`);
}
