/**
 * Owns the list of strategies, and which one a capsule gets.
 */
import { HoldfastError } from "../../contract/index.ts";
import type { StrategyName } from "../dir/capsule-dir.ts";
import { overlay } from "./overlay.ts";
import { isAvailable } from "./probe.ts";
import type { Strategy } from "./strategy.ts";
import { clone, worktree } from "./worktree.ts";

export const strategies: Readonly<Record<StrategyName, Strategy>> = { overlay, worktree, clone };

/** `auto` stands for the fastest one that works on this machine. */
export async function chooseStrategy(homeDir: string, wanted: StrategyName | "auto"): Promise<StrategyName> {
  if (wanted === "worktree") return wanted;
  const candidates: readonly StrategyName[] = wanted === "auto" ? ["overlay", "clone"] : [wanted];
  let why = "";
  for (const name of candidates) {
    const found = await isAvailable(name, homeDir);
    if (found.isAvailable) return name;
    why = found.detail;
  }
  if (wanted === "auto") return "worktree";
  throw new HoldfastError(
    "strategy_unavailable",
    `capsules of the strategy ${wanted} don't work here: ${why}`,
  );
}
