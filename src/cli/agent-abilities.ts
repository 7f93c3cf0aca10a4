/**
 * Owns what is said of an agent's abilities: those of its manifest, and whether they are of the version that is here.
 */
import {
  type Capability,
  capabilities,
  type KnownAgent,
  type Manifest,
  manifestOf,
  versionOf,
} from "../agent/index.ts";
import { findOutsideProgram } from "../process/index.ts";

interface Abilities {
  /** Of the one that is here; undefined where it could not be asked. */
  readonly version: string | undefined;
  /** What was seen of this version, or else of the last that was tried. */
  readonly tried: Manifest | undefined;
}

export async function abilitiesOf(agent: KnownAgent): Promise<Abilities> {
  const path = findOutsideProgram(agent.program);
  const version = path === undefined ? undefined : await versionOf(agent, path);
  const exact = version === undefined ? undefined : manifestOf(agent.name, version);
  return { version, tried: exact ?? manifestOf(agent.name) };
}

export function abilityLines({ version, tried }: Abilities): string[] {
  const here = version === undefined ? "of a version that it does not tell" : `version ${version}`;
  if (!tried) return [`${here}; it was never tried`];
  const isSame = version === tried.version;
  const able = Object.keys(capabilities) as Capability[];
  const words = (isAble: boolean) =>
    able.filter((one) => tried.can[one] === isAble).map((one) => capabilities[one]);
  const lists = [
    { verb: "can", words: words(true) },
    { verb: "can't", words: words(false) },
  ].filter((list) => list.words.length > 0);
  return [
    isSame
      ? `${here}, tried on ${tried.triedOn}`
      : `${here}; what was tried on ${tried.triedOn} is ${tried.version}: this one may differ`,
    ...lists.map((list) => `${list.verb} ${list.words.join(", ")}`),
  ];
}
