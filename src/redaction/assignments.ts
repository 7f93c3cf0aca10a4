/**
 * Owns the rule for values that a command line assigns to a name which says that they are secret: `NPM_TOKEN=… npm ci`,
 * `export DB_PASSWORD=…`. It holds in command lines alone: in source code the same characters are a comparison, a
 * parameter or a column.
 */
import type { AgentSpec, Json, JsonObject } from "../contract/index.ts";
import type { Redaction } from "../journal/index.ts";

const RULE = "assignment";

/** As the agents' protocols call it. */
const OF_A_TOOL = ["command", "cmd", "argv", "script"];
/** The fields of a record below which every text is a command line, or what was made from one. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  session_opened: ["title"],
  session_forked: ["title"],
  task_queued: ["command", "title"],
  task_started: ["asked"],
  turn_started: OF_A_TOOL,
  tool_called: OF_A_TOOL,
  approval_requested: OF_A_TOOL,
  process_started: ["command"],
};

/** A name by its ending; an option (`--api-key=`) is none. */
const NAME = /(?<![\w.$-])(?=[A-Za-z_])\w*(?:KEY|TOKEN|SECRET|PASSWORD|key|token|secret|password)=/;
/** What another variable has, or a command says, is no value; nor is what a rule has taken out. */
const NO_VALUE = /(?!"?[$`]|'\$\{?\w+\}?'|["']?\[redacted:)/;
/** In quotes that may be cut off, or up to the next space. */
const VALUE = /(?:"[^"]{8,}"?|'[^']{8,}'?|[^\s"']\S{7,})/;
const ASSIGNMENT = new RegExp(`(?<=${NAME.source})${NO_VALUE.source}${VALUE.source}`, "g");
/** A word that no shell reads has no quotes: all of it is the value. */
const WHOLE_WORD = new RegExp(`(?<=^${NAME.source})${NO_VALUE.source}.{8,}$`, "s");
/** The word behind it is a script, and quotes count in it. */
const BEFORE_SCRIPT = /^-\w*c$/;

function withoutValue(text: string): string {
  return text.replace(ASSIGNMENT, `[redacted:${RULE}]`);
}

function withoutValueOfWord(word: string, index: number, words: readonly unknown[]): string {
  const before = words[index - 1];
  const isScript = typeof before === "string" && BEFORE_SCRIPT.test(before);
  return withoutValue(isScript ? word : word.replace(WHOLE_WORD, `[redacted:${RULE}]`));
}

/** The words of a command as one text. Where one ends can't be seen there, so the values are taken out before. */
export function commandLine(words: readonly string[]): string {
  return words.map(withoutValueOfWord).join(" ");
}

/** What a task is asked to do, as one text: its command, or the words of a person. */
export function askedIn(agent: AgentSpec): string {
  return agent.adapter === "exec" ? commandLine(agent.command) : agent.prompt;
}

/** Takes the values out of the command lines of a record. */
export function withoutAssigned(data: JsonObject, type: string | undefined): Redaction {
  const fields = (type !== undefined && FIELDS[type]) || [];
  if (fields.length === 0) return { data, rules: [] };
  let hasFired = false;
  const changed = (before: string, after: string) => {
    hasFired ||= after !== before;
    return after;
  };
  const visit = (value: Json, isCommand: boolean): Json => {
    if (typeof value === "string") return isCommand ? changed(value, withoutValue(value)) : value;
    if (Array.isArray(value))
      return value.map((item, index) =>
        typeof item === "string" && isCommand
          ? changed(item, withoutValueOfWord(item, index, value))
          : visit(item, isCommand),
      );
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, visit(item, isCommand || fields.includes(key))]),
    );
  };
  const visited = visit(data, false) as JsonObject;
  return hasFired ? { data: visited, rules: [RULE] } : { data, rules: [] };
}
