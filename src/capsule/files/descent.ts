/**
 * Owns the way through directories inside each other, without recursion: an agent can nest them deeper than a
 * stack has room.
 */
import type { BytePath } from "./path.ts";

export interface Level {
  /** Names in this directory that were not looked at yet. */
  readonly names: Iterator<BytePath>;
  close(): void;
}

export interface Steps<L extends Level> {
  /** Returns the level below if the entry is a directory to go into. */
  enter(level: L, name: BytePath): L | undefined;
  /** After everything in it. It is closed. */
  leave?(level: L, above: L): void;
}

/** The first level belongs to the caller, and stays open. However the descent ends, the others are closed. */
export function descend<L extends Level>(first: L, { enter, leave }: Steps<L>): void {
  const levels = [first];
  try {
    for (let level = levels.at(-1); level; level = levels.at(-1)) {
      const { done, value: name } = level.names.next();
      const below = done ? undefined : enter(level, name);
      if (below) levels.push(below);
      if (!done) continue;
      levels.pop();
      const above = levels.at(-1);
      if (!above) return;
      level.close();
      leave?.(level, above);
    }
  } finally {
    for (const level of levels.slice(1).reverse()) level.close();
  }
}
