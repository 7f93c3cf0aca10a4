/**
 * Owns the fingerprint of an action: it is what a person approves, and the only thing that a grant is for.
 * docs/security.md has the form, and test vectors.
 *
 * fingerprint-1 If two actions differ in anything, so do their fingerprints.
 * fingerprint-2 A value with more or other fields than an action has is not an action, so nothing is hashed
 *    that a person does not see.
 */
import * as z from "zod/mini";
import type { Action, Json, JsonObject } from "../contract/index.ts";
import { isPlainObject, sha256Hex } from "../util/index.ts";
import { canonical } from "./canonical.ts";

/** Put in front of what is hashed, so that no other hash or signature of Holdfast can be equal. */
const ACTION_DOMAIN = "holdfast-action-v1\n";
const DECLARATION_DOMAIN = "holdfast-declaration-v1\n";

const text = z.string().check(z.minLength(1));
const json = z.custom<Json>((value) => value !== undefined);

const actionSchema = z.strictObject({
  home: text,
  user: text,
  session: text,
  task: z.int().check(z.positive()),
  lane: text,
  tool: text,
  schema: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
  args: z.custom<JsonObject>(isPlainObject),
  target: json,
  tree: z.nullable(z.string().check(z.regex(/^[0-9a-f]{40,64}$/))),
});

/** Undefined for everything that is not an action. */
export function actionIn(value: unknown): Action | undefined {
  return actionSchema.safeParse(value).data;
}

/** SHA-256, in hex. Throws `arguments_invalid` for an action without a canonical form. */
export function fingerprintOf(action: Action): string {
  const { home, user, session, task, lane, tool, schema, args, target, tree } = action;
  const form = canonical({ home, user, session, task, lane, tool, schema, args, target, tree });
  return sha256Hex(ACTION_DOMAIN + form);
}

/** The hash of a tool's declaration, for `Action.schema`. Another schema or other words make another tool. */
export function declarationHash(input: JsonObject, declaration: Json): string {
  return sha256Hex(DECLARATION_DOMAIN + canonical({ input, declaration }));
}
