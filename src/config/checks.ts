/**
 * Owns the sections `checks` and `protect`: what decides whether a task's work is done, and which paths a
 * person looks at before the work is published.
 */
import * as z from "zod/mini";
import { hostListSchema } from "../contract/index.ts";

const MAX_CHECKS = 100;
const MAX_PATTERNS = 200;
const MAX_MINUTES = 24 * 60;
const DEFAULT_MINUTES = 10;

const isPattern = (text: string) => text !== "" && !text.includes("\0") && !text.split("/").includes("..");
const pattern = z
  .string()
  .check(z.maxLength(500), z.refine(isPattern, "is not a pattern for paths inside the repo"));
const patterns = z.array(pattern).check(z.maxLength(MAX_PATTERNS));

const check = z.strictObject({
  name: z
    .string()
    .check(
      z.regex(
        /^[A-Za-z0-9][A-Za-z0-9 ._:/-]{0,99}$/,
        "is not a name for a check: use letters, digits, . _ : / -",
      ),
    ),
  /** A command line for the shell: exit status 0 is a pass. */
  run: z.string().check(z.minLength(1), z.maxLength(10_000)),
  timeout_minutes: z._default(z.number().check(z.positive(), z.maximum(MAX_MINUTES)), DEFAULT_MINUTES),
  /** The paths that it covers: it runs if one of these changed. Without it, the check covers everything. */
  paths: z.optional(patterns.check(z.minLength(1))),
  hosts: z._default(hostListSchema, []),
});
export type CheckSettings = z.infer<typeof check>;

export const checksSection = z._default(
  z.array(check).check(z.maxLength(MAX_CHECKS), (context) => {
    const names = context.value.map(({ name }) => name);
    const twice = names.findIndex((name, index) => names.indexOf(name) !== index);
    if (twice >= 0)
      context.issues.push({
        code: "custom",
        path: [twice, "name"],
        message: "is the name of another check, too",
        input: names[twice],
      });
  }),
  [],
);

/** In addition to the paths that are always protected. */
export const protectSection = z._default(patterns, []);
