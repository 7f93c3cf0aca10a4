/**
 * Owns the making of a capsule from a commit.
 */
import { HoldfastError, isHoldfastError } from "../../contract/index.ts";
import { openBase } from "../base/bases.ts";
import { surroundingsOf } from "../gitdir/gitdir.ts";
import { holdCommit } from "../repo/held.ts";
import { chooseStrategy, strategies } from "../strategy/strategies.ts";
import type { Strategy } from "../strategy/strategy.ts";
import { build, type CreatedCapsule, findBase, isCollected, type NewCapsule } from "./build.ts";
import { orDiskFull } from "./disk-full.ts";
import type { CapsuleIo } from "./io.ts";
import { moveFiles } from "./moving.ts";

/** A capsule with the files of a commit. If it fails, nothing of it is left. */
export function createCapsule(io: CapsuleIo, request: NewCapsule): Promise<CreatedCapsule> {
  return orDiskFull(io.disk, () => create(io, request));
}

async function create(io: CapsuleIo, request: NewCapsule): Promise<CreatedCapsule> {
  const strategy = strategies[await chooseStrategy(io.homeDir, request.settings.strategy)];
  try {
    // Only an overlay can take a few files from another commit.
    return await createOn(io, request, strategy, { isExact: strategy.name !== "overlay" });
  } catch (error) {
    // Set-up may have changed a file that differs between the base and the task's commit, or the base was
    // just collected.
    const isWorthAnother = isHoldfastError(error, "git_failed") || isCollected(error);
    if (!isWorthAnother || !strategy.usesBase) throw error;
    return createOn(io, request, strategy, { isExact: true });
  }
}

async function createOn(
  io: CapsuleIo,
  request: NewCapsule,
  strategy: Strategy,
  { isExact }: { readonly isExact: boolean },
): Promise<CreatedCapsule> {
  const { repo, base, settings } = request;
  const surroundings = await surroundingsOf(repo);
  if (surroundings.refs.some(({ name }) => name === "refs/heads/holdfast"))
    throw new HoldfastError(
      "publish_refused",
      "a branch named holdfast prevents branches named holdfast/…: rename it",
    );
  if (base !== null) await holdCommit(repo, base);
  const cached = strategy.usesBase ? await findBase(io, request, base, surroundings, isExact) : undefined;
  const lower = cached ? cached.commit : base;
  const setupKey = cached?.setupKey ?? (settings.setup === "" ? "none" : "own");
  const facts = { base, lower, setupKey, baseKey: cached?.key ?? null, stack: [], settled: null };
  return build(io, request, strategy, facts, surroundings, async (capsule) => {
    const view = await capsule.attach();
    // From a base near the task's commit to that commit: the few files that differ go into the capsule.
    if (strategy.name === "overlay" && lower !== base && lower !== null && base !== null)
      await moveFiles(capsule, view, {
        from: lower,
        to: base,
        index: openBase(repo, cached?.key ?? "").index,
      });
    if (!strategy.usesBase && settings.setup !== "") await capsule.setUp(request.runSetup);
  });
}
