/**
 * Owns the list of all processes that this system shows.
 */
import { readdirSync } from "node:fs";

export function allPids(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}
