/**
 * Owns the check of a conversation that is sent to a model: each call has one result, and each result a call
 * before it. Providers refuse other conversations.
 */
import type { Item } from "./api/api.ts";
import { apiAt } from "./api/apis.ts";

/** A call without its result, or a result without its call. */
export interface Orphan {
  /** Which of the two is there. */
  readonly kind: "call" | "result";
  /** Gemini's may have none. */
  readonly id: string | undefined;
  /** The name of the tool. */
  readonly name: string;
}

/**
 * In order. All APIs except OpenAI's Responses want the results directly after the calls, before any text of
 * the user.
 */
export function orphansIn({ path, body }: { readonly path: string; readonly body: string }): Orphan[] {
  const api = apiAt(path);
  if (!api) return [];
  const orphans: Orphan[] = [];
  let open: Orphan[] = [];
  const giveUp = () => {
    orphans.push(...open);
    open = [];
  };
  for (const item of api.read(body, path).items) {
    if (item.kind === "call") open.push({ kind: "call", id: item.id, name: item.name });
    else if (item.kind === "result") {
      const at = open.findIndex((call) => isResultOf(item, call));
      if (at < 0) orphans.push({ kind: "result", id: item.id, name: item.name });
      else open.splice(at, 1);
    } else if (item.kind === "user" && api.name !== "openai-responses") giveUp();
  }
  giveUp();
  return orphans;
}

/** By the id, or by the name if there are no ids. */
function isResultOf(result: Extract<Item, { kind: "call" | "result" }>, call: Orphan): boolean {
  if (result.id !== undefined && call.id !== undefined) return result.id === call.id;
  return result.name === call.name;
}
