/**
 * Owns the error that a reader throws when the bytes are not those that were written.
 */
import { HoldfastError } from "../contract/index.ts";

/** Where the damage is. `offset` counts bytes from the beginning of the file. */
export interface Damage {
  readonly file: string;
  readonly offset: number;
  /** The seq that was expected there. */
  readonly seq: number;
  readonly reason: string;
  /** The snapshot that is spoiled by it, and the turns whose files or HOME are in that snapshot. */
  readonly snapshot?: string;
  readonly turns?: readonly number[];
}

export function damaged(damage: Damage): HoldfastError {
  const { file, offset, seq, reason } = damage;
  return new HoldfastError("session_damaged", `${file} at byte ${offset}, seq ${seq}: ${reason}`, {
    ...damage,
  });
}

export function damageOf(error: unknown): Damage | undefined {
  return error instanceof HoldfastError && error.code === "session_damaged"
    ? (error.facts as unknown as Damage)
    : undefined;
}
