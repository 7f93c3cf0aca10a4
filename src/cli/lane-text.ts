/**
 * Owns how a lane is printed in plain words: what a task in it may read, write and reach, and when it asks.
 */
import type { Lane } from "../lane/index.ts";

/** The patterns, as they were given. */
export function hostsText(hosts: readonly string[]): string {
  if (hosts.length === 0) return "no host";
  const named = hosts.filter((host) => host !== "*");
  if (named.length === hosts.length) return named.join(", ");
  return ["any public host", ...named].join(", ");
}

/** Each line: a verb, and what it applies to. */
export function laneLines(lane: Lane): [what: string, text: string][] {
  const { isReadOnly, isWithoutCommands, hosts } = lane;
  const { read, write, external, approval } = lane.tools;
  const tools = [...named("read", read), ...named("write", write), ...named("external", external)];
  return [
    ["reads", "the files of its capsule, and the tools of this machine"],
    ["writes", isReadOnly ? "nothing but its HOME and TMPDIR" : "in its capsule, its HOME and TMPDIR"],
    ...(isWithoutCommands
      ? ([
          [
            "runs",
            "no commands: its agent only edits files. Agents that can't be kept from running commands are refused.",
          ],
        ] as [string, string][])
      : []),
    ["reaches", hostsText(hosts)],
    ["asks", approval.length > 0 ? `you before it uses ${approval.join(" or ")} tools` : "never"],
    ...(tools.length > 0 ? ([["tools", tools.join("; ")]] as [string, string][]) : []),
  ];
}

/** Tool classes that are allowed as a whole, and external tools of which none is allowed, are not listed. */
function named(what: string, tools: readonly string[]): string[] {
  return tools.length === 0 || tools.includes("*") ? [] : [`${what} ${tools.join(", ")}`];
}
