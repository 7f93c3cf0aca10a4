/**
 * Owns which environment variables a task may be given: their names, which stand in records, and the form of their
 * values, which stand in none.
 */
import * as z from "zod/mini";
import { HoldfastError } from "./errors.ts";

const FORM = /^[A-Za-z_][A-Za-z0-9_]*$/;
/**
 * What loaders and shells go by: the words before a command (nsenter, bwrap, sh) have its environment too, and run
 * outside the sandbox. And what is ours: a task's HOME, TMPDIR and marks.
 */
const RESERVED =
  /^(PATH|HOME|TMPDIR|IFS|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|PS4|CDPATH|GLIBC_TUNABLES|LOCPATH|NLSPATH|GCONV_PATH|MALLOC_.*|(LD|DYLD|HOLDFAST)_.*)$/;

const MAX_NAME = 200;
export const MAX_VARIABLES = 200;
/** The kernel takes no more in one piece, the name and two bytes more included. */
const MAX_VALUE_BYTES = 128 * 1024 - MAX_NAME - 2;
export const MAX_VALUES_BYTES = 1024 * 1024;

export const variableSchema = z.string().check(
  z.maxLength(MAX_NAME),
  z.regex(FORM, "is not the name of an environment variable"),
  z.refine((name) => !RESERVED.test(name), "has a meaning of its own"),
);

/** Variables by their names. */
export type Values = Readonly<Record<string, string>>;

/** Undefined when it can be one; otherwise why it can't. */
export function whyNoVariable(name: string): string | undefined {
  return variableSchema.safeParse(name).error?.issues[0]?.message;
}

/** What it throws names a variable, and never its value. */
export function assertValues(values: Values): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(values)) {
    const length = new TextEncoder().encode(value).length;
    bytes += length;
    const reason =
      whyNoVariable(name) ??
      (value.includes("\0") || !value.isWellFormed() ? "has a value that no variable can have" : undefined) ??
      (length > MAX_VALUE_BYTES ? `has a value of more than ${MAX_VALUE_BYTES} bytes` : undefined);
    if (reason !== undefined) throw new HoldfastError("invalid_data", `env: ${name} ${reason}`, { name });
  }
  if (Object.keys(values).length > MAX_VARIABLES || bytes > MAX_VALUES_BYTES)
    throw new HoldfastError(
      "invalid_data",
      `env: more than ${MAX_VARIABLES} variables, or more than ${MAX_VALUES_BYTES} bytes together`,
    );
}
