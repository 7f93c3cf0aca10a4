/**
 * Owns the form of a script: its steps, and the names that its texts may use. Every error that can be found
 * before anything runs is reported then, with its line.
 */
import * as z from "zod/mini";
import { parseDocument } from "../../config/index.ts";
import { namesIn } from "./variables.ts";

const MAX_STEPS = 1000;
const MAX_WAIT_SECONDS = 3600;
const NAME = /^[a-z_][a-z0-9_]{0,63}$/i;

const name = z
  .string()
  .check(z.regex(NAME, "is not a name: use letters, digits and _, and begin with no digit"));
const text = z.string().check(z.minLength(1), z.maxLength(100_000));

/** What has to hold for a step to succeed. Without `outcome` and `exit_code`, the outcome has to be ok. */
const expectation = z.strictObject({
  outcome: z.optional(z.enum(["ok", "error", "refused"])),
  contains: z.optional(text),
  /** A regular expression; `^` and `$` match at the start and the end of a line. */
  matches: z.optional(text.check(z.refine(isExpression, "is not a regular expression"))),
  /** White space at the end is ignored. */
  equals: z.optional(z.string()),
  exit_code: z.optional(z.int()),
});
export type Expectation = z.infer<typeof expectation>;

const step = z.strictObject({
  say: z.optional(text),
  tool: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
  with: z.optional(z.record(z.string(), z.json())),
  wait_message: z.optional(
    z.strictObject({ seconds: z.number().check(z.minimum(0), z.maximum(MAX_WAIT_SECONDS)) }),
  ),
  as: z.optional(name),
  expect: z.optional(expectation),
  /** What to do when the step fails. With a text: the text is shown, and the script stops. */
  on_failure: z.optional(z.union([z.enum(["stop", "continue"]), z.strictObject({ say: text })])),
  /** What to do when a crash or a pause cut the step off. */
  on_cut: z.optional(z.enum(["again", "fail"])),
});
export type Step = z.infer<typeof step>;

/** The further keys of each kind of step. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  say: [],
  tool: ["with", "as", "expect", "on_failure", "on_cut"],
  wait_message: ["as", "on_failure"],
};

export interface Script {
  /** Includes those that the script itself gives a value to. */
  readonly vars: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

export function parseScript(source: string, given: Readonly<Record<string, string>>): Promise<Script> {
  return parseDocument(schemaFor(given), source, "script", "script_invalid");
}

function schemaFor(given: Readonly<Record<string, string>>): z.ZodMiniType<Script> {
  const schema = z.strictObject({
    vars: z._default(z.record(name, z.string()), {}),
    steps: z.array(step).check(z.minLength(1), z.maxLength(MAX_STEPS)),
  });
  return z.pipe(
    schema.check(({ value, issues }) => {
      const refuse = (path: (string | number)[], message: string) =>
        void issues.push({ code: "custom", path: ["steps", ...path], message, input: value });
      const known = new Set([...Object.keys(value.vars), ...Object.keys(given)]);
      for (const [at, one] of value.steps.entries()) {
        assertKind(one, (key, message) => refuse(key === undefined ? [at] : [at, key], message));
        const { expect, on_failure, ...before } = one;
        const assertKnown = (part: object) => {
          for (const { path, name: used } of usedIn(part, [at]))
            if (!known.has(used)) refuse(path, `there is no variable ${used} here: ${wherefrom(used)}`);
        };
        assertKnown(before);
        // `expect` and `on_failure` can use the result of the step too.
        if (one.as !== undefined) known.add(one.as);
        assertKnown({ expect, on_failure });
      }
    }),
    z.transform(({ vars, steps }) => ({ steps, vars: { ...vars, ...given } })),
  );
}

function assertKind(one: Step, refuse: (key: string | undefined, message: string) => void): void {
  const kinds = Object.keys(KINDS).filter((kind) => kind in one);
  const [kind = ""] = kinds;
  if (kinds.length !== 1) {
    refuse(undefined, "a step needs exactly one of say, tool and wait_message");
    return;
  }
  const others = Object.keys(one).filter((key) => key !== kind && !KINDS[kind]?.includes(key));
  for (const key of others) refuse(key, `can't be used with ${kind}`);
}

interface Used {
  readonly path: (string | number)[];
  readonly name: string;
}

/** Each name in each text of a value, with the path to the text. */
function usedIn(value: unknown, path: (string | number)[]): Used[] {
  if (typeof value === "string") return namesIn(value).map((used) => ({ path, name: used }));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => usedIn(item, [...path, key]));
}

const wherefrom = (used: string) =>
  used === "task"
    ? "its value is what the task is asked to do, in words"
    : `set it with --var ${used}=…, under vars, or by an earlier step with as: ${used}; write $\${${used}} for the text itself`;

function isExpression(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}
