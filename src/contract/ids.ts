/**
 * Owns what an identifier may look like. An id becomes a path, so its form is checked here,
 * before any file system sees it: I1 no id that passes can name a path outside its folder.
 */
import { HoldfastError } from "./errors.ts";

export type SessionId = `sess_${string}`;

/** A typeid suffix: 26 characters of Crockford base 32, lower case. */
const suffix = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const prefixOfSuffix = /^[0-9a-hjkmnp-tv-z]{0,26}$/;

export function isSessionId(text: string): text is SessionId {
  return text.startsWith("sess_") && suffix.test(text.slice("sess_".length));
}

export function parseSessionId(text: string): SessionId {
  if (isSessionId(text)) return text;
  throw new HoldfastError("invalid_id", `${JSON.stringify(text)} is not a session id`);
}

/** A prefix that a person typed: with or without `sess_`, and any number of characters behind it. */
export function parseIdPrefix(text: string): string {
  const tail = text.startsWith("sess_") ? text.slice("sess_".length) : text;
  if (text.length > 0 && prefixOfSuffix.test(tail)) return `sess_${tail}`;
  throw new HoldfastError(
    "invalid_id",
    `${JSON.stringify(text)} is not a session id or the beginning of one`,
  );
}

/** User names become directory names later, and are shown in terminals: letters, digits and ._-@ only. */
export function parseUser(text: string): string {
  if (/^[A-Za-z0-9_][A-Za-z0-9._@-]{0,63}$/.test(text)) return text;
  throw new HoldfastError("invalid_data", `${JSON.stringify(text)} is not a user name`, { field: "user" });
}
