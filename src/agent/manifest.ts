/**
 * Owns what each agent was seen to do: a manifest per agent and version. The conformance run writes them (npm
 * run test:agents -- --write), and fails when an agent behaves differently. They are not written by hand.
 */
import manifests from "./manifests.json" with { type: "json" };

/** How agents differ, in words that follow "can" and "can't". */
export const capabilities = {
  asksBeforeEffect: "ask before a tool has an effect",
  refuseCalls: "be refused a tool that its lane lacks",
  steer: "hear a message in the middle of a turn",
  resume: "continue its conversation after a kill",
  remembersOpenCalls: "remember a call that a kill cut off",
  remembersGateCalls: "remember a call of the session's tools in a later turn",
  fork: "continue its conversation in a fork",
  rewind: "continue its conversation after a rewind",
} as const;

export type Capability = keyof typeof capabilities;

export interface Manifest {
  readonly agent: string;
  /** The version that the agent reports. */
  readonly version: string;
  /** The date. */
  readonly triedOn: string;
  readonly can: Readonly<Record<Capability, boolean>>;
}

const all: readonly Manifest[] = manifests;

/** The manifest of this version; without a version, the last one that was tried. */
export function manifestOf(agent: string, version?: string): Manifest | undefined {
  return all.findLast((one) => one.agent === agent && (version === undefined || one.version === version));
}
