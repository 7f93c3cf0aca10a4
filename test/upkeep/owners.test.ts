/**
 * A base stays as long as any owner has a capsule on it, even an owner that is not a task.
 */
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { type Capsule, type CapsuleOwner, findCapsule, type OwnedCapsule } from "../../src/capsule/index.ts";
import { probe } from "../../src/capsule/strategy/probe.ts";
import { openHome } from "../../src/home/index.ts";
import { findLeftovers } from "../../src/upkeep/gc/leftovers.ts";
import { CapsuleLab } from "../support/capsules.ts";
import { TempDir } from "../support/home.ts";

const hasOverlay = await (async () => {
  using temp = new TempDir();
  return (await probe("overlay", temp.path)).isAvailable;
})();

const custody: OwnedCapsule["custody"] = { isBusy: false, alone: (work) => work() };

function ownerOf(capsules: readonly Capsule[]): CapsuleOwner {
  const list = async () => {
    const found = await Promise.all(capsules.map(({ layout }) => findCapsule(layout.dir)));
    return found.flatMap((one) => (one ? [{ ...one, custody, isPassing: false }] : []));
  };
  return { list, custodyOf: () => undefined };
}

it.runIf(hasOverlay)("base-2 gc keeps a base while any owner has a capsule on it", async () => {
  await using lab = new CapsuleLab("overlay");
  const capsules: Capsule[] = [];
  for (const setup of ["", "echo 1 > one", "echo 2 > two", "echo 3 > three", "echo 4 > four"])
    capsules.push(await lab.create({ setup }));
  const home = await openHome({ home: lab.home });
  const bases = async (owners: readonly CapsuleOwner[]) =>
    (await findLeftovers(home, owners)).filter(({ why }) => why === "a base that is not used");
  expect(await bases([ownerOf(capsules)])).toEqual([]);
  // No task owns these capsules: without their owner, gc may remove all bases but the newest three.
  const [oldest, second] = await bases([]);
  expect(await bases([ownerOf(capsules.slice(0, 1)), ownerOf(capsules.slice(1))])).toEqual([]);
  // A capsule that begins to use a base after gc looked is seen before the base is removed.
  const late: Capsule[] = [];
  const found = await bases([ownerOf(late)]);
  late.push(...capsules);
  for (const { clear } of found) await clear();
  for (const one of [oldest, second]) expect(existsSync(one?.what ?? "")).toBe(true);
  await oldest?.clear();
  expect(existsSync(oldest?.what ?? "")).toBe(false);
});
