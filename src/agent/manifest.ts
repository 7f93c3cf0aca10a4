/**
 * Owns what each agent was seen to do: a manifest per agent and version. The conformance run writes them (npm run
 * test:agents -- --write), and fails where it sees something else; they are not written by hand.
 */
import manifests from "./manifests.json" with { type: "json" };

/** What agents differ in, in words that follow "can" and "can't". */
export const capabilities = {
  asksBeforeEffect: "ask before a tool has an effect",
  refuseCalls: "be refused a tool that its lane lacks",
  steer: "hear a message in the middle of a turn",
  resume: "go on in its conversation after a kill",
  remembersOpenCalls: "remember a call that a kill cut off",
  fork: "go on in its conversation in a fork",
  rewind: "go on in its conversation after a rewind",
} as const;

export type Capability = keyof typeof capabilities;

export interface Manifest {
  readonly agent: string;
  /** What the agent calls its version. */
  readonly version: string;
  /** The day. */
  readonly triedOn: string;
  readonly can: Readonly<Record<Capability, boolean>>;
}

const all: readonly Manifest[] = manifests;

/** Of this version; without one, of the last that was tried. */
export function manifestOf(agent: string, version?: string): Manifest | undefined {
  return all.findLast((one) => one.agent === agent && (version === undefined || one.version === version));
}
