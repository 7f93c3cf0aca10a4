/**
 * Owns what is printed about an agent's abilities: those of its manifest, and whether they were seen in the
 * version that is installed.
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
  /** The installed version; undefined if it could not be asked for. */
  readonly version: string | undefined;
  /** What was seen of this version, else of the last version that was tried. */
  readonly tried: Manifest | undefined;
}

export async function abilitiesOf(agent: KnownAgent): Promise<Abilities> {
  const path = findOutsideProgram(agent.program);
  const version = path === undefined ? undefined : await versionOf(agent, path);
  const exact = version === undefined ? undefined : manifestOf(agent.name, version);
  return { version, tried: exact ?? manifestOf(agent.name) };
}

export function abilityLines({ version, tried }: Abilities): string[] {
  const here = version === undefined ? "version unknown" : `version ${version}`;
  if (!tried) return [`${here}; never tried with Holdfast`];
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
      : `${here}; version ${tried.version} was tried on ${tried.triedOn}, and this one may differ`,
    ...lists.map((list) => `${list.verb} ${list.words.join(", ")}`),
  ];
}
