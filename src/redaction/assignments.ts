/**
 * Owns the rule for values that a command line assigns to a name that stands for a secret: `NPM_TOKEN=… npm
 * ci`, `export DB_PASSWORD=…`. It applies to command lines only: in source code the same characters are a
 * comparison, a parameter or a column.
 */
import type { AgentSpec, Json, JsonObject } from "../contract/index.ts";
import type { Redaction } from "../journal/index.ts";

const RULE = "assignment";

/** In the words of the agents' protocols. */
const OF_A_TOOL = ["command", "cmd", "argv", "script"];
/** The fields of a record below which every text is a command line, or was made from one. */
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

/** Recognizes a name by its ending. An option (`--api-key=`) does not count. */
const NAME = /(?<![\w.$-])(?=[A-Za-z_])\w*(?:KEY|TOKEN|SECRET|PASSWORD|key|token|secret|password)=/;
/** A reference to a variable, the output of a command and a redaction mark are not values. */
const NO_VALUE = /(?!"?[$`]|'\$\{?\w+\}?'|["']?\[redacted:)/;
/** In quotes, which may be cut off, or up to the next space. */
const VALUE = /(?:"[^"]{8,}"?|'[^']{8,}'?|[^\s"']\S{7,})/;
const ASSIGNMENT = new RegExp(`(?<=${NAME.source})${NO_VALUE.source}${VALUE.source}`, "g");
/** In a word that no shell reads, quotes have no meaning: all of it is the value. */
const WHOLE_WORD = new RegExp(`(?<=^${NAME.source})${NO_VALUE.source}.{8,}$`, "s");
/** The next word is a script, in which quotes count. */
const BEFORE_SCRIPT = /^-\w*c$/;

function withoutValue(text: string): string {
  return text.replace(ASSIGNMENT, `[redacted:${RULE}]`);
}

function withoutValueOfWord(word: string, index: number, words: readonly unknown[]): string {
  const before = words[index - 1];
  const isScript = typeof before === "string" && BEFORE_SCRIPT.test(before);
  return withoutValue(isScript ? word : word.replace(WHOLE_WORD, `[redacted:${RULE}]`));
}

/**
 * The words of a command as one text. The text does not show where a word ends, so the values are taken out
 * before.
 */
export function commandLine(words: readonly string[]): string {
  return words.map(withoutValueOfWord).join(" ");
}

/** What a task is asked to do, as one text: its command, or a person's words. */
export function askedIn(agent: AgentSpec): string {
  if (agent.adapter === "exec") return commandLine(agent.command);
  return agent.adapter === "script" ? (agent.vars["task"] ?? "a script") : agent.prompt;
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
