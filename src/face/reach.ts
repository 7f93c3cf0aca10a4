/**
 * Owns what a session's handle works with. It is kept beside the handle and not in it, so that a program that has the
 * handle reaches nothing internal.
 */
import type { Dispatcher } from "../dispatch/index.ts";

export interface Reach {
  readonly dispatcher: Dispatcher;
  readonly scope: { readonly user: string };
}

const reaches = new WeakMap<object, Reach>();

export function giveReach(handle: object, reach: Reach): void {
  reaches.set(handle, reach);
}

export function reachOf(handle: object): Reach {
  const reach = reaches.get(handle);
  if (!reach) throw new TypeError("this is not a handle that openHoldfast gave");
  return reach;
}
