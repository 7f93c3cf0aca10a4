/**
 * Owns what happens to the calls of a turn that was cut off. The agent may have been ended before it stored
 * them, so it is told about them when it continues.
 *
 * repeat-1 A call that was open when its agent was ended, and the call that was completed last, are refused
 *    once if the agent makes them again in the same form: they may have had their effect without the agent
 *    knowing. So are all others of the turn, if the agent may have stored none of them. After that the agent has
 *    been warned, and the call may run.
 */
import type { Json } from "../contract/index.ts";
import type { CutCall, Workplace } from "./adapter.ts";

const MAX_TOLD = 20;
const MAX_ARGS = 300;
const MAX_OUTPUT = 200;

const REFUSAL =
  "This call was running or had just finished when your process was ended, so it may have had its effect. Check first; if it is still needed, make it again.";

interface CutOptions {
  /**
   * What the agent may forget when it is ended: nothing, the calls that were open and the last one, or any call
   * of its turn. An agent that remembers a call has a reason when it makes it again.
   */
  readonly forgets: "nothing" | "the last" | "any";
}

interface Asked {
  readonly continues: boolean;
}

export class CutCalls {
  readonly #calls: readonly CutCall[];
  readonly #forgets: CutOptions["forgets"];
  /** The arguments of calls that are refused when they are made again. */
  readonly #refused: Set<string>;

  constructor(calls: readonly CutCall[], { forgets }: CutOptions) {
    this.#calls = calls;
    // Only the arguments count: an agent may name the same tool differently. Calls without arguments are all
    // alike.
    const last = calls.findLast(({ outcome }) => outcome !== "refused");
    const forms = calls
      .filter((call) => isOpen(call) || call === last || (forgets === "any" && call.outcome !== "refused"))
      .map(({ args }) => JSON.stringify(args));
    this.#forgets = forgets;
    this.#refused = new Set(forgets === "nothing" ? [] : forms.filter((form) => !EMPTY.includes(form)));
  }

  /** For the session's last conversation, if that is continued. */
  static async of(work: Workplace, { continues, ...options }: CutOptions & Asked): Promise<CutCalls> {
    return new CutCalls(work.isGoingOn || continues ? await work.cutCalls() : [], options);
  }

  /** Undefined: the call may run. */
  whyNot(args: Json): string | undefined {
    const made = JSON.stringify(args);
    const form = [...this.#refused].find((one) => isSame(one, made));
    return form !== undefined && this.#refused.delete(form) ? REFUSAL : undefined;
  }

  /** What the agent is told about the calls that were open. */
  get open(): string {
    return list(
      `These calls were open when your process ended, whether or not you remember them. Each may have had its effect.${this.#once}`,
      this.#calls.filter(isOpen).map(({ tool, args }) => `${tool} ${short(args, MAX_ARGS)}`),
    );
  }

  /** What it is told about the others. */
  get done(): string {
    const words = ({ tool, args, outcome, output }: CutCall) =>
      `${tool} ${short(args, MAX_ARGS)} → ${outcome}: ${short(output, MAX_OUTPUT)}`;
    return list(
      `These calls are done, whether or not you remember them. Do not make them again without a reason.${this.#once}`,
      this.#calls.filter((call) => !isOpen(call)).map(words),
    );
  }

  get #once(): string {
    if (this.#refused.size === 0) return "";
    const which = this.#forgets === "any" ? "one of these calls" : "an open call or the last one";
    return ` If you repeat ${which}, it is refused the first time: check whether it had its effect, and then make it a second time if it is needed.`;
  }
}

const EMPTY = ["null", '""', "{}"];

/** What a record has in the place of a secret. */
const REDACTED = /\[redacted:[^\]]*\]/;

/** Whether these are the recorded arguments, with any text where a secret is not on record. */
function isSame(recorded: string, made: string): boolean {
  const [first = "", ...rest] = recorded.split(REDACTED);
  const last = rest.pop();
  if (last === undefined) return recorded === made;
  if (!made.startsWith(first) || !made.endsWith(last)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = made.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= made.length - last.length;
}

const isOpen = ({ outcome }: CutCall) => outcome === "interrupted";

/** Empty when there are none. */
function list(head: string, lines: readonly string[]): string {
  if (lines.length === 0) return "";
  const hidden = lines.length > MAX_TOLD ? [`- ${lines.length - MAX_TOLD} earlier ones`] : [];
  return [head, ...hidden, ...lines.slice(-MAX_TOLD).map((line) => `- ${line}`)].join("\n");
}

function short(value: Json, most: number): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= most ? text : `${text.slice(0, most)} …`;
}
