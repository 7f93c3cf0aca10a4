/**
 * Owns the sections `tools` and `mcp`: the external tools that a repo declares, and the MCP servers whose
 * tools its tasks may use. Both name programs that get credentials, so an entry counts only after a person
 * has accepted all of it.
 */
import * as z from "zod/mini";
import {
  builtinToolNames,
  hostListSchema,
  type JsonObject,
  MAX_VARIABLES,
  shippedToolNames,
  toolClasses,
  variableSchema,
} from "../contract/index.ts";
import { orNothing } from "./document.ts";

const MAX_ENTRIES = 100;
const MAX_WORDS = 200;
const MAX_DESCRIPTION = 4000;
/** A tool is called `server__tool`, so neither part has two underscores in a row. */
const SEPARATOR = "__";
const toolName = /^[a-z][a-z0-9_]{0,62}$/;
const serverName = /^[a-z][a-z0-9-]{0,30}$/;

const word = z.string().check(
  z.maxLength(4096),
  z.refine((text) => !text.includes("\0"), "is not a word of a command"),
);
const words = z.array(word).check(z.minLength(1), z.maxLength(MAX_WORDS));
const env = z._default(z.array(variableSchema).check(z.maxLength(MAX_VARIABLES)), []);
const hosts = z._default(hostListSchema, []);
const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
/** A JSON Schema of an object. Its content is checked where it is used. */
const inputSchema = z.custom<JsonObject>(
  (value) => isObject(value) && (value as JsonObject)["type"] === "object",
  "is not a JSON Schema of an object: it needs type: object",
);

const tool = z.strictObject({
  description: z.optional(z.string().check(z.maxLength(MAX_DESCRIPTION))),
  /** `${name}` in a word stands for an argument. A tool that comes with holdfast has a command of its own. */
  run: z.optional(words),
  /** Variables of the user that this tool gets, and nothing else does. */
  env,
  /** The arguments that it takes. */
  input: z._default(inputSchema, () => ({ type: "object", properties: {}, additionalProperties: false })),
  /** The hosts that it may reach. */
  hosts,
  timeout_minutes: z._default(z.number().check(z.positive(), z.maximum(60)), 10),
});
export type ToolSettings = z.infer<typeof tool>;

const server = z
  .strictObject({
    /** How it is started: it speaks MCP on its standard input and output. */
    run: words,
    env,
    hosts,
    /** What it sees of the capsule. */
    files: z._default(z.enum(["none", "read", "write"]), "none"),
    /**
     * The class of its tools, and the tools that have another class. What the server says about its tools
     * decides nothing.
     */
    class: z._default(z.enum(toolClasses), "external"),
    classes: z._default(z.record(z.string(), z.enum(toolClasses)), {}),
    timeout_seconds: z._default(z.number().check(z.positive(), z.maximum(3600)), 60),
  })
  .check(
    z.refine(
      ({ files, hosts: reached }) => files === "none" || reached.length === 0,
      "sees files, so it may reach no hosts: they could get what it reads",
    ),
  );
export type ServerSettings = z.infer<typeof server>;

type Entries<V> = z.core.ParsePayload<Record<string, V>>;

function named<V>(form: RegExp, what: string) {
  return ({ value, issues }: Entries<V>) => {
    const names = Object.keys(value);
    const refuse = (path: string[], message: string) =>
      issues.push({ code: "custom", path, message, input: value });
    if (names.length > MAX_ENTRIES) refuse([], `has more than ${MAX_ENTRIES} entries`);
    for (const name of names)
      if (!form.test(name) || name.includes(SEPARATOR)) refuse([name], `is not a name for ${what}`);
  };
}

/** Settings without a program are those of a tool that is there. */
function ofKnown({ value, issues }: Entries<ToolSettings>): void {
  for (const [name, { run }] of Object.entries(value)) {
    const refuse = (message: string) => issues.push({ code: "custom", path: [name], message, input: value });
    if (builtinToolNames.includes(name)) refuse("is the name of a built-in tool: use another");
    else if (run === undefined && !shippedToolNames.some((shipped) => shipped === name))
      refuse(`has no run, and is none of ${shippedToolNames.join(", ")}, which need none`);
  }
}

export const toolsSection = z.prefault(
  z.pipe(
    orNothing,
    z.record(z.string(), z.pipe(orNothing, tool)).check(named<ToolSettings>(toolName, "a tool"), ofKnown),
  ),
  {},
);
export const mcpSection = z.prefault(
  z.pipe(orNothing, z.record(z.string(), server).check(named<ServerSettings>(serverName, "an MCP server"))),
  {},
);
