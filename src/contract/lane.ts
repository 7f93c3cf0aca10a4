/**
 * Owns what a lane may be called, and the classes of tools that a lane sorts. What a lane is, is said in `lane/`.
 */
import * as z from "zod/mini";

/** Those that come with the program. No repo can say otherwise what they are. */
export const shippedLanes = ["read-only", "repo-fix", "online"] as const;
export type ShippedLane = (typeof shippedLanes)[number];
export const isShippedLane = (name: string): name is ShippedLane =>
  shippedLanes.some((shipped) => shipped === name);

export const toolClasses = ["read", "write", "external"] as const;

/** As a session's name: a word that a person can type. */
export const laneNameSchema = z
  .string()
  .check(
    z.regex(
      /^[a-z][a-z0-9-]{0,39}$/,
      "is no name for a lane: small letters, digits and hyphens, a letter first, 40 characters at most",
    ),
  );
