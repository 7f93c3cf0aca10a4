/**
 * Owns how an intent becomes a call of one of the tools that a request offers: the tool is found by its name,
 * and its arguments are filled in by its schema.
 */
import { resolve } from "node:path";
import type { Asked, Call, Tool } from "../api/api.ts";
import type { Intent } from "../script.ts";
import { directoryIn } from "./directory.ts";
import { fill, type Role } from "./schema.ts";

/** Agents' names for their tools. */
const TOOLS = {
  write: /^(?:write|write_?file|create_?file)$/i,
  read: /^(?:read|read_?file|view|view_?file)$/i,
  edit: /^(?:edit|edit_?file|replace|str_?replace)$/i,
  bash: /^(?:bash|shell|shell_command|exec_command|run_shell_command|run_command|execute_command|terminal)$/i,
} as const;

const FILE_TOOLS = [TOOLS.write, TOOLS.read, TOOLS.edit];

type Bound = Omit<Call, "id">;
type FileIntent = Extract<Intent, { write: object } | { read: object } | { edit: object }>;

export function bind(intent: Intent, asked: Asked): Bound | undefined {
  if ("tool" in intent) {
    const { name, args = {}, isUnoffered = false } = intent.tool;
    return isUnoffered || asked.tools.some((tool) => tool.name === name) ? { name, args } : undefined;
  }
  if ("mcp" in intent) {
    const { args = {}, ...wanted } = intent.mcp;
    const tool = asked.tools.find((one) => isOfServer(one, wanted));
    return tool && { name: tool.name, namespace: tool.namespace, args };
  }
  if ("bash" in intent) return called("bash", intent.bash, asked);
  return onFile(intent, asked) ?? inShell(intent, asked);
}

/** For the text that reports that no tool was found. */
export function kindOf(intent: Intent): string {
  return Object.keys(intent).join();
}

function onFile(intent: FileIntent, asked: Asked): Bound | undefined {
  if ("write" in intent) return called("write", intent.write, asked);
  return "read" in intent ? called("read", intent.read, asked) : called("edit", intent.edit, asked);
}

interface Wanted extends Partial<Readonly<Record<Role, string>>> {
  readonly cwd?: string;
}

function called(kind: keyof typeof TOOLS, wanted: Wanted, asked: Asked): Bound | undefined {
  const { cwd = directoryIn(asked), ...values } = wanted;
  const absolute = (path: string) => (cwd === undefined ? path : resolve(cwd, path));
  for (const { name, schema } of asked.tools.filter((tool) => TOOLS[kind].test(tool.name))) {
    const args = fill(schema, values, absolute);
    if (args) return { name, args };
  }
  return undefined;
}

/**
 * Codex has a shell and no tools for files, and goose reads with its shell. An agent that has tools for files
 * and was forbidden to write does not write in this way.
 */
function inShell(intent: FileIntent, asked: Asked): Bound | undefined {
  const hasFileTools = asked.tools.some(({ name }) => FILE_TOOLS.some((pattern) => pattern.test(name)));
  if ("read" in intent) return called("bash", { command: `cat ${quoted(intent.read.path)}` }, asked);
  if (hasFileTools) return undefined;
  if ("write" in intent) {
    const { path, content } = intent.write;
    return called("bash", { command: `printf %s ${quoted(content)} > ${quoted(path)}` }, asked);
  }
  const { path, find, replace } = intent.edit;
  const substitute = `perl -0pi -e 's/\\Q$ENV{FIND}\\E/$ENV{REPLACE}/' ${quoted(path)}`;
  return called("bash", { command: `FIND=${quoted(find)} REPLACE=${quoted(replace)} ${substitute}` }, asked);
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * `mcp__server__tool`, `mcp_server_tool`, `server__tool`, `server_tool`: agents join them in different ways.
 */
function isOfServer(
  { name, namespace }: Tool,
  { server, tool }: { readonly server: string; readonly tool: string },
): boolean {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_");
  const whole = namespace === undefined ? name : `${namespace}_${name}`;
  return plain(whole).replace(/^mcp_/, "") === plain(`${server}_${tool}`);
}
