/**
 * Owns the form of a repo's file of which everything counts: what was not accepted is not in it. Whoever acts by a
 * repo's file takes one of these, so that no way leads past the question what was accepted.
 */
import type { Config } from "../config/index.ts";

export interface AcceptedConfig extends Config {
  readonly isAccepted: true;
}
