/**
 * Owns which environment variables a task may be given: their names, which are recorded, and the form of
 * their values, which are not.
 */
import * as z from "zod/mini";
import { HoldfastError } from "./errors.ts";

const FORM = /^[A-Za-z_][A-Za-z0-9_]*$/;
/**
 * Variables that loaders and shells obey: the programs before a command (nsenter, bwrap, sh) have its
 * environment, too, and run outside the sandbox. And our own: a task's HOME, TMPDIR and marks.
 */
const RESERVED =
  /^(PATH|HOME|TMPDIR|IFS|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|PS4|CDPATH|GLIBC_TUNABLES|LOCPATH|NLSPATH|GCONV_PATH|MALLOC_.*|(LD|DYLD|HOLDFAST)_.*)$/;

const MAX_NAME = 200;
export const MAX_VARIABLES = 200;
/** The kernel's limit for one variable, which counts the name and two bytes more. */
const MAX_VALUE_BYTES = 128 * 1024 - MAX_NAME - 2;
export const MAX_VALUES_BYTES = 1024 * 1024;

export const variableSchema = z.string().check(
  z.maxLength(MAX_NAME),
  z.regex(FORM, "is not the name of an environment variable"),
  z.refine((name) => !RESERVED.test(name), "is reserved, because it would change how programs are started"),
);

/** Variables by their names. */
export type Values = Readonly<Record<string, string>>;

/** Undefined if it is allowed; otherwise why not. */
export function whyNoVariable(name: string): string | undefined {
  return variableSchema.safeParse(name).error?.issues[0]?.message;
}

/** Its errors name a variable, and never its value. */
export function assertValues(values: Values): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(values)) {
    const length = new TextEncoder().encode(value).length;
    bytes += length;
    const reason =
      whyNoVariable(name) ??
      (value.includes("\0") || !value.isWellFormed()
        ? "has a value with a NUL or with broken Unicode, which no variable can have"
        : undefined) ??
      (length > MAX_VALUE_BYTES ? `has a value of more than ${MAX_VALUE_BYTES} bytes` : undefined);
    if (reason !== undefined) throw new HoldfastError("invalid_data", `env: ${name} ${reason}`, { name });
  }
  if (Object.keys(values).length > MAX_VARIABLES || bytes > MAX_VALUES_BYTES)
    throw new HoldfastError(
      "invalid_data",
      `env: there are more than ${MAX_VARIABLES} variables, or they have more than ${MAX_VALUES_BYTES} bytes together`,
    );
}
