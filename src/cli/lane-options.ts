/**
 * Owns the options that say what a task may do: its lane, and hosts beside those of its lane.
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
        `what it may do: ${shippedLanes.join(", ")}, or one of holdfast.yaml; holdfast lanes explains them (default: ${byDefault})`,
      ),
    )
    .option(
      "--host <host>",
      "a host that it may reach, whatever its lane says: registry.npmjs.org, *.example.org, localhost:5432; for this task only, and as often as you like",
      collectHost,
    );
}

/** As a task's spec has them. */
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
