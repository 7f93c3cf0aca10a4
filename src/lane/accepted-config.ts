/**
 * Owns the form of a repo's file in which everything counts: what was not accepted is not in it. Code that
 * acts by a repo's file takes this form, so that it can't use anything that was not accepted.
 */
import type { Config } from "../config/index.ts";

export interface AcceptedConfig extends Config {
  readonly isAccepted: true;
}
