/**
 * Owns finding what answers a method and a path: a table that a reader, and a test, can look through.
 */
import type { IncomingMessage } from "node:http";
import { Refusal } from "./refusal.ts";

export interface Route<Call> {
  readonly method: "GET" | "POST";
  /** `:id` stands for one part of any content, but not for an empty one. */
  readonly path: string;
  /** What it returns is the answer; undefined: it has answered by itself. */
  answer(call: Call): Promise<object | undefined>;
}

interface FoundRoute<R> {
  readonly route: R;
  /** The part of the path for `:id`, undecoded, by the name `id`. */
  readonly params: Readonly<Record<string, string>>;
}

export function urlOf({ url }: IncomingMessage): URL {
  const parsed = URL.parse(url ?? "/", "http://localhost");
  if (!parsed) throw new Refusal(400, "invalid_data", "the address of the request is not a path");
  return parsed;
}

export function findRoute<R extends Route<never>>(
  routes: readonly R[],
  method: string | undefined,
  path: string,
): FoundRoute<R> | undefined {
  for (const route of routes) {
    const params = route.method === method && matchPath(route.path, path);
    if (params) return { route, params };
  }
  return undefined;
}

/** Whether the path exists under another method. */
export function hasPath(routes: readonly Route<never>[], path: string): boolean {
  return routes.some((route) => matchPath(route.path, path));
}

function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const parts = path.split("/");
  const wanted = pattern.split("/");
  if (parts.length !== wanted.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    const name = wanted[index] ?? "";
    if (!name.startsWith(":")) {
      if (part !== name) return undefined;
    } else if (part === "") return undefined;
    else params[name.slice(1)] = part;
  }
  return params;
}
