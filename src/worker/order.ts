/**
 * Owns the form of a worker's order: the action with everything that its fingerprint covers, the grant, the
 * tool's declaration, and where to act. It is sent to the worker's input as JSON, and is in no argument and
 * no file.
 *
 * worker-1 Only the action determines what a worker does: its arguments, its target, its tree, and the
 *    declaration whose hash it contains. The rest of an order determines where, and never what.
 */
import { actionIn } from "../approval/index.ts";
import type { View } from "../capsule/index.ts";
import type { Action, Grant, JsonObject } from "../contract/index.ts";
import type { Sandbox } from "../process/index.ts";
import { parseObject } from "../util/index.ts";

/** The declaration of a tool, apart from its input. It is in the fingerprint. */
export interface Declaration {
  readonly kind: "command" | "git_push" | "gh_pr_create" | "http_request";
  /** For a command. */
  readonly words: readonly string[];
  /** The names of its variables; the worker fails if one has no value. */
  readonly env: readonly string[];
  readonly hosts: readonly string[];
  readonly timeoutMinutes: number;
}

/** Where a tool acts. */
export interface Ground {
  readonly sandbox: Sandbox;
  /** A directory with HOME, TMPDIR and an empty directory, for the tool only. */
  readonly scratch: string;
  /** The capsule of exactly the tree, if the tool sees files. */
  readonly view: View | null;
  /** The gitdir that a commit is pushed from. */
  readonly pushed: { readonly gitDir: string } | null;
}

export interface Order {
  readonly version: 1;
  /** The approval, or the id of an action that needed none. */
  readonly id: string;
  readonly homeDir: string;
  readonly sessionDir: string;
  readonly action: Action;
  readonly grant: Grant | null;
  readonly input: JsonObject;
  readonly declaration: Declaration;
  readonly ground: Ground | null;
}

/** The names of its directories; the worker uses the same. */
export const GROUND_DIRS = { home: "home", tmp: "tmp", empty: "empty" } as const;

/** It is part of the names of files. */
const ID = /^[a-z]{1,20}_[a-z0-9]{1,60}$/;
export const isActionId = (id: string) => ID.test(id);

/** Undefined for an order that is cut off: its writer was killed, and nothing may happen. */
export function parseOrder(text: string): Order | undefined {
  const order = parseObject(text);
  if (order?.["version"] !== 1 || !isActionId(String(order["id"])) || !actionIn(order["action"]))
    return undefined;
  return order as unknown as Order;
}
