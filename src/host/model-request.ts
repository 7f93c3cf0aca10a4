/**
 * Owns the reading of an agent's request to a model: for which provider it is, and for which model.
 */
import type { IncomingMessage } from "node:http";
import { notFound } from "../http/index.ts";
import { parseObject } from "../util/index.ts";

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

/** As the request names it; Gemini's stands in the path. */
export function modelOf({ path }: Wanted, body: Buffer): string {
  const named = /\/models\/([^/:?]+)/.exec(path)?.[1];
  if (named !== undefined) return decodeURIComponent(named);
  const model = parseObject(body.toString("utf8"))?.["model"];
  return typeof model === "string" && model !== "" ? model.slice(0, 200) : "unknown";
}
