/**
 * Owns the reading of an agent's request to a model: for which provider it is, and for which model. A body may be as long
 * and as deep as the agent likes: it is looked through for one name, and never taken apart.
 */
import type { IncomingMessage } from "node:http";
import { notFound } from "../http/index.ts";
import type { ModelApi } from "../metering/index.ts";

export interface Wanted {
  readonly provider: string;
  /** At the provider, with its query. */
  readonly path: string;
}

/** `/anthropic/v1/messages?beta=true` */
export function wantedOf({ url = "" }: Pick<IncomingMessage, "url">): Wanted {
  const [, provider, path] = /^\/([a-z][a-z0-9-]{0,39})(\/[\x21-\x7e]*)$/.exec(url) ?? [];
  if (provider === undefined || path === undefined) throw notFound();
  return { provider, path };
}

const MAX_NAME = 200;

/** Gemini's API names it in the path, the others in the body. */
export function modelOf({ api, path }: { api: ModelApi; path: string }, body: Buffer): string {
  const named = api === "gemini" ? GEMINI_PATH.exec(path)?.[1] : nameIn(body);
  return named ? named.slice(0, MAX_NAME) : "unknown";
}

const GEMINI_PATH = /^\/[^/?]+\/models\/([^/?%]+):[A-Za-z]+(?:\?|$)/;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPENING: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const CLOSING: ReadonlySet<number> = new Set([0x7d, 0x5d]);
const WHITE_SPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const MODEL = Buffer.from('"model"');
/** With room for escapes. */
const MAX_QUOTED = 8 * MAX_NAME;

/** The `model` of the outermost object; of several the last one counts, as it does for a parser. */
function nameIn(body: Buffer): string | undefined {
  let depth = 0;
  let before = 0;
  let isModel = false;
  let name: string | undefined;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] ?? 0;
    if (WHITE_SPACE.has(byte)) continue;
    if (byte === QUOTE) {
      const end = endOfText(body, at);
      if (depth === 1 && before === COLON) {
        if (isModel) name = textIn(body.subarray(at, end));
      } else if (depth === 1) isModel = body.subarray(at, end).equals(MODEL);
      at = end - 1;
    } else if (OPENING.has(byte)) depth += 1;
    else if (CLOSING.has(byte)) depth -= 1;
    before = byte;
  }
  return name;
}

/** Behind the quotation mark that ends the text which begins at `start`. */
function endOfText(body: Buffer, start: number): number {
  for (let end = body.indexOf(QUOTE, start + 1); end >= 0; end = body.indexOf(QUOTE, end + 1)) {
    let escapes = 0;
    while (body[end - 1 - escapes] === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end + 1;
  }
  return body.length;
}

function textIn(quoted: Buffer): string | undefined {
  if (quoted.length > MAX_QUOTED) return undefined;
  try {
    return String(JSON.parse(quoted.toString("utf8")));
  } catch {
    return undefined;
  }
}
