/**
 * Owns the forms of fields that several events have.
 */
import * as z from "zod/mini";
import type { Json } from "../json.ts";
import "../words.ts";

export const fields = z.looseObject;
export const name = z.string().check(z.minLength(1), z.maxLength(200));
/** The name of a host may be longer than other names, and has a port after it. */
export const host = z.string().check(z.minLength(1), z.maxLength(300));
export const count = z.int().check(z.nonnegative());
export const turn = z.int().check(z.positive());
export const task = z.int().check(z.positive());
export const sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/));
export const gitObject = z.string().check(z.regex(/^[0-9a-f]{40,64}$/));
/** A time in the form of a record's `at`: two of them are compared as texts. */
export const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
export const moment = z.string().check(z.regex(MOMENT));
/** Text or structured parts, in the form of the agent's protocol: carried along, never interpreted here. */
export const content = z.custom<Json>((value) => value !== undefined, "is missing");
/** HOME as it was; without a snapshot, empty. */
export const home = z.looseObject({
  snapshot: z.optional(gitObject),
  manifest: z.optional(sha256),
  /** Files beyond the limit, which are not in it. */
  omitted: z.optional(count),
});
