/**
 * Owns the form of identifiers. An id becomes a path, so its form is checked here, before it reaches the file
 * system.
 *
 * id-1 No id that passes can name a path outside its folder.
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

/**
 * The beginning of an id that a person typed: with or without `sess_`, and any number of characters after it.
 */
export function parseIdPrefix(text: string): string {
  const tail = text.startsWith("sess_") ? text.slice("sess_".length) : text;
  if (text.length > 0 && prefixOfSuffix.test(tail)) return `sess_${tail}`;
  throw new HoldfastError(
    "invalid_id",
    `${JSON.stringify(text)} is not a session id or the beginning of one`,
  );
}

/**
 * User names become directory names, and are shown in terminals, so they have only letters, digits and ._-@.
 */
export function parseUser(text: string): string {
  if (/^[A-Za-z0-9_][A-Za-z0-9._@-]{0,63}$/.test(text)) return text;
  throw new HoldfastError(
    "invalid_data",
    `${JSON.stringify(text)} is not a user name: use letters, digits and . _ - @`,
    { field: "user" },
  );
}

/** An action that no person is asked about has an id of its own instead of an approval's. */
export const UNASKED = "act";
export const isUnasked = (action: string) => action.startsWith(`${UNASKED}_`);
