/**
 * Owns the credentials of one action, in its worker: the variables that its tool names, and all forms in
 * which a program or a server might repeat them. They are only in the memory of the worker and in the
 * environment of the tool's process.
 *
 * worker-4 No value of a variable, in any of these forms, is in what a worker reports or writes.
 */
import { readVariables } from "../broker/index.ts";
import { HoldfastError, type Json, type JsonObject, type SessionId, type Values } from "../contract/index.ts";
import type { Home } from "../home/index.ts";
import type { ToolOutcome } from "../lane/index.ts";
import { type Secret, takeOut, withoutBegun } from "../redaction/index.ts";
import type { Declaration } from "./order.ts";

/** Variables that the tools of Holdfast use if they have a value, without being told. */
const USED: Readonly<Record<Declaration["kind"], readonly string[]>> = {
  command: [],
  git_push: ["GIT_USERNAME", "GIT_TOKEN"],
  gh_pr_create: ["GH_TOKEN"],
  http_request: [],
};
/** Variables that have a default. */
const OPTIONAL: readonly string[] = ["GIT_USERNAME"];

/** Fails with `credential_missing`, which costs no grant. */
export async function readCredentials(
  home: Pick<Home, "dir" | "io">,
  session: SessionId,
  { kind, env }: Declaration,
): Promise<Values> {
  const names = [...new Set([...env, ...USED[kind]])];
  if (names.length === 0) return {};
  const values = await readVariables(home, session, names);
  const missing = env.find((name) => !OPTIONAL.includes(name) && !values[name]);
  if (missing !== undefined)
    throw new HoldfastError("credential_missing", `the variable ${missing} has no value`, { name: missing });
  return values;
}

/** A shorter value appears in many texts by chance. */
const MIN_BYTES = 4;

/** worker-4 */
export function withoutCredentials(values: Values, { outcome, text, facts }: ToolOutcome): ToolOutcome {
  const secrets = secretsOf(values);
  if (secrets.length === 0) return { outcome, text, ...(facts && { facts }) };
  // Output that was cut may end with the beginning of a value.
  const whole = withoutBegun(Buffer.from(takeOut(text, secrets)), secrets).toString("utf8");
  return { outcome, text: whole, ...(facts && { facts: cleanObject(facts, secrets) }) };
}

/** Each text by itself: in their JSON, a value could also be part of its form. */
function cleanObject(facts: JsonObject, secrets: readonly Secret[]): JsonObject {
  const entries = Object.entries(facts);
  return Object.fromEntries(entries.map(([key, value]) => [takeOut(key, secrets), clean(value, secrets)]));
}

function clean(value: Json, secrets: readonly Secret[]): Json {
  if (typeof value === "string") return takeOut(value, secrets);
  if (Array.isArray(value)) return value.map((item) => clean(item, secrets));
  return value === null || typeof value !== "object" ? value : cleanObject(value, secrets);
}

function secretsOf(values: Values): Secret[] {
  const secrets = Object.entries(values).flatMap(([name, text]) => {
    const value = text.trim();
    const pairs = Object.values(values).map((other) => base64(`${other}:${value}`));
    const forms = [value, text, base64(value), base64(`:${value}`), base64(`${GIT_USER}:${value}`), ...pairs];
    return [...forms, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)].map((form) => ({
      name,
      value: form,
    }));
  });
  return secrets.filter(({ value }) => Buffer.byteLength(value) >= MIN_BYTES);
}

/** The name that repo hosts accept with a token when no other name is known. */
export const GIT_USER = "x-access-token";

export const base64 = (text: string) => Buffer.from(text).toString("base64");
