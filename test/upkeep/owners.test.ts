/**
 * What capsules stand on stays while any owner has one that needs it, also an owner that is no task.
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

it.runIf(hasOverlay)("base-2 a base under a capsule stays, whichever part owns the capsule", async () => {
  await using lab = new CapsuleLab("overlay");
  const capsules: Capsule[] = [];
  for (const setup of ["", "echo 1 > one", "echo 2 > two", "echo 3 > three", "echo 4 > four"])
    capsules.push(await lab.create({ setup }));
  const home = await openHome({ home: lab.home });
  const bases = async (owners: readonly CapsuleOwner[]) =>
    (await findLeftovers(home, owners)).filter(({ why }) => why === "a base that is not used");
  expect(await bases([ownerOf(capsules)])).toEqual([]);
  // These are no task's: without their owner, all but the newest three may go.
  const [oldest, second] = await bases([]);
  expect(await bases([ownerOf(capsules.slice(0, 1)), ownerOf(capsules.slice(1))])).toEqual([]);
  // One that begins to use it after the look is seen before it goes.
  const late: Capsule[] = [];
  const found = await bases([ownerOf(late)]);
  late.push(...capsules);
  for (const { clear } of found) await clear();
  for (const one of [oldest, second]) expect(existsSync(one?.what ?? "")).toBe(true);
  await oldest?.clear();
  expect(existsSync(oldest?.what ?? "")).toBe(false);
});
