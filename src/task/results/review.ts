/**
 * Owns the question whether work needs a review before it is published on request or comes back from a
 * person: for a value of an environment in it, or for what the policy finds (verify-5).
 */
import { type Store, statOf, treeOf, type Work } from "../../capsule/index.ts";
import type { Room } from "../room/room.ts";
import { applyPolicy } from "./policy.ts";
import type { Unpublished } from "./publishing.ts";
import { valuesBefore, valuesInWork } from "./values.ts";

/** Undefined: it can be published. */
export async function whyToReview(
  room: Room,
  store: Store,
  { base, work }: { readonly base: string | null; readonly work: Work },
): Promise<Unpublished | undefined> {
  const { session, repo } = room;
  const held = (await valuesInWork(room, store, base, work)) ?? valuesBefore(session.state);
  if (held) return held;
  const stat = await statOf(repo, store, await treeOf(repo, base), work.tree);
  return applyPolicy(room, store, { base, tree: work.tree, stat });
}
