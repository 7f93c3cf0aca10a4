/**
 * Owns the forms of what a person approves: the action that is asked for, to the last detail, and the grant
 * that lets it happen once. How they are hashed, signed and spent is defined in `approval/`.
 */
import * as z from "zod/mini";
import { MOMENT } from "./events/fields.ts";
import type { Json, JsonObject } from "./json.ts";

/** Everything that a fingerprint covers: if one of these differs, it is another action. */
export interface Action {
  /** The id of the home, from `home.json`. */
  readonly home: string;
  readonly user: string;
  readonly session: string;
  readonly task: number;
  /** The lane's name. */
  readonly lane: string;
  readonly tool: string;
  /**
   * The SHA-256 of the canonical form of what declares the tool: its schema, and its command if it has one.
   */
  readonly schema: string;
  readonly args: JsonObject;
  /** What would really be reached: a URL with its port, a commit, the hash of an executable. */
  readonly target: Json;
  /** The tree of the task's work; null if the tool has nothing to do with files. */
  readonly tree: string | null;
}

const name = z.string().check(z.minLength(1), z.maxLength(200));
const hash = z.string().check(z.regex(/^[0-9a-f]{64}$/));
const time = z.string().check(z.regex(MOMENT));

/** The part that is signed. */
const terms = {
  version: z.literal(1),
  approval: name,
  /** The record that asked for it: an older copy of the session does not have that record. */
  request: z.strictObject({ seq: z.int().check(z.positive()), hash }),
  home: name,
  session: name,
  fingerprint: hash,
  by: name,
  grantedAt: time,
  expiresAt: time,
};

export const grantSchema = z.strictObject({
  ...terms,
  /** Ed25519, over the canonical form of the rest, in base64. */
  signature: z.string().check(z.maxLength(200)),
});
export type Grant = Readonly<z.infer<typeof grantSchema>>;
export type GrantTerms = Omit<Grant, "signature">;
