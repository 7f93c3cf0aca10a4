/**
 * Owns what is accepted from a server's list of tools: valid names, within limits, and the hash by which the
 * list is recognized. A model reads what a server writes about its tools, so another list has to be accepted
 * again.
 */
import type { Client, Tool as ServerTool } from "@modelcontextprotocol/client";
import { canonical } from "../../approval/index.ts";
import { HoldfastError, type Json, type JsonObject } from "../../contract/index.ts";
import { type Deadline, sha256Hex } from "../../util/index.ts";

const MAX_TOOLS = 200;
const MAX_PAGES = 20;
const MAX_SCHEMA_BYTES = 64 * 1024;
const MAX_DESCRIPTION = 8000;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export interface Listed {
  readonly name: string;
  readonly description: string;
  readonly input: JsonObject;
}

export interface Listing {
  readonly tools: readonly Listed[];
  readonly hash: string;
}

/** `patience`: for all pages together. */
export async function listTools(client: Client, patience: Deadline): Promise<Listing> {
  const found: ServerTool[] = [];
  let cursor: string | undefined;
  // The client itself may ask for one page after the other.
  const signal = AbortSignal.timeout(Math.ceil(patience.leftMs));
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { tools, nextCursor } = await client.listTools(cursor === undefined ? {} : { cursor }, {
      timeout: patience.leftMs,
      signal,
    });
    found.push(...tools);
    cursor = nextCursor;
    if (cursor === undefined || found.length > MAX_TOOLS) break;
  }
  if (found.length > MAX_TOOLS) throw odd(`it has more than ${MAX_TOOLS} tools`);
  const tools = found.map(listed).sort((one, other) => (one.name < other.name ? -1 : 1));
  if (new Set(tools.map(({ name }) => name)).size < tools.length)
    throw odd("two of its tools have the same name");
  return { tools, hash: sha256Hex(canonical(tools as unknown as Json)) };
}

function listed({ name, description = "", inputSchema }: ServerTool): Listed {
  if (!NAME.test(name)) throw odd("one of its tools has a name that can't be called");
  const input = JSON.parse(canonical(inputSchema)) as JsonObject;
  if (JSON.stringify(input).length > MAX_SCHEMA_BYTES) throw odd(`the schema of ${name} is too long`);
  return { name, description: description.slice(0, MAX_DESCRIPTION).toWellFormed(), input };
}

const odd = (what: string) => new HoldfastError("tool_failed", what);
