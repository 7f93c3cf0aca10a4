/**
 * Owns the summary of a task in Markdown, for a person and for the next agent: what was asked, the root
 * cause, the files, decisions and rejected paths, what was in force, and the results of the checks. A part
 * without any record reports that. Text that an agent wrote appears as plain text.
 *
 * summary-1 It has at most 400 tokens, counted as 4 characters each. A shortened list tells how much was left
 *    out.
 */
import type { JournalRecord } from "../../contract/index.ts";
import { textIn } from "../../session/index.ts";
import { codeText, listed, plainText } from "./markdown.ts";
import { messageText, saidAs } from "./said-lines.ts";

const CHARACTERS_PER_TOKEN = 4;
export const MAX_TOKENS = 400;
/** At most this many items of a kind are kept while records are read. */
const MAX_KEPT = 20;
/** Characters for each part, including its name. Their sum is below the limit of tokens. */
const ROOM = { asked: 160, rootCause: 200, files: 200, decisions: 150, rejected: 170, validation: 130 };
const EACH = 90;
const NAME = 40;

/** The work of a task: the names of some of its files, and the totals. */
export interface Changed {
  readonly paths: readonly string[];
  readonly files: number;
  readonly insertions: number;
  readonly deletions: number;
}

/** Facts about a task that its records don't have. */
export interface SummaryFacts {
  readonly task: number;
  readonly outcome: string;
  /** The branch that has its work, or the code of the reason why no branch has it. */
  readonly branch: string | null;
  readonly unpublished: string | null;
  readonly asked: string | null;
  readonly changed: Changed;
  readonly lane: { readonly name: string; readonly isReadOnly: boolean } | null;
  readonly isSandboxed: boolean;
  /** The tree that the task ended with. */
  readonly tree: string | null;
}

export interface Summary {
  readonly text: string;
  readonly tokens: number;
}

interface Checked {
  readonly tree: string;
  readonly verdict: string;
}

export class TaskSummary {
  #lastSaid = "";
  readonly #decisions: string[] = [];
  readonly #rejected: string[] = [];
  /** How many calls ended how, by tool name and outcome. */
  readonly #failed = new Map<string, number>();
  readonly #tools = new Map<string, string>();
  readonly #checks = new Map<string, boolean>();
  #verified: Checked | undefined;
  /** How many changed protected paths the policy found; undefined when it was not applied. */
  #protected: number | undefined;

  /** Call it in the order of the journal; messages need their whole content. */
  add({ type, data }: JournalRecord): void {
    switch (type) {
      case "message_added":
        if (data["role"] === "assistant") this.#said(messageText(data["content"]));
        return;
      case "tool_called":
        this.#tools.set(textIn(data["call"]), textIn(data["tool"]));
        return;
      case "tool_returned":
        this.#returned(textIn(data["call"]), textIn(data["outcome"]));
        return;
      case "check_started":
        // Earlier checks ran on another tree, or run again.
        if (this.#verified) this.#checks.clear();
        this.#verified = undefined;
        return;
      case "check_ended":
        this.#checks.set(textIn(data["check"]), data["passed"] === true);
        return;
      case "verification_ended":
        if (data["into"] === undefined)
          this.#verified = { tree: textIn(data["tree"]), verdict: textIn(data["verdict"]) };
        return;
      case "policy_applied":
        this.#protected = (Array.isArray(data["findings"]) ? data["findings"] : []).filter(
          isProtected,
        ).length;
    }
  }

  summary(facts: SummaryFacts): Summary {
    const { task, outcome, asked } = facts;
    const [rootCause] = saidAs("root cause", this.#lastSaid);
    const parts = [
      `# Task ${task}: ${plainText(outcome, NAME)}${publishedText(facts)}`,
      part("Asked", asked ? plainText(asked, ROOM.asked) : "nothing is on record."),
      part("Root cause", rootCause ? plainText(rootCause, ROOM.rootCause) : "the agent named none."),
      part("Files changed", filesText(facts.changed)),
      part("Decisions", this.#decisionsText()),
      part("Rejected", this.#rejectedText()),
      part("Constraints preserved", this.#constraintsText(facts)),
      part("Validation", this.#validationText(facts.tree)),
    ];
    const text = `${parts.join("\n\n")}\n`;
    return { text, tokens: Math.ceil(text.length / CHARACTERS_PER_TOKEN) };
  }

  #said(text: string): void {
    if (text.trim() === "") return;
    this.#lastSaid = text;
    this.#decisions.push(...saidAs("decision", text));
    this.#rejected.push(...saidAs("rejected", text));
    // The latest ones count, because an agent may change its mind.
    for (const kept of [this.#decisions, this.#rejected]) kept.splice(0, kept.length - MAX_KEPT);
  }

  #returned(call: string, outcome: string): void {
    const tool = this.#tools.get(call);
    this.#tools.delete(call);
    if (tool === undefined || (outcome !== "error" && outcome !== "refused")) return;
    const key = `${codeText(tool, NAME)} ${outcome === "error" ? "failed" : "was refused"}`;
    if (this.#failed.has(key) || this.#failed.size < MAX_KEPT)
      this.#failed.set(key, (this.#failed.get(key) ?? 0) + 1);
  }

  #decisionsText(): string {
    const items = this.#decisions.map((text) => plainText(text, EACH));
    return items.length > 0 ? listed(items, "; ", ROOM.decisions) : "none are on record.";
  }

  #rejectedText(): string {
    const calls = [...this.#failed].map(([what, times]) => (times === 1 ? what : `${what} ${times} times`));
    const items = [...this.#rejected.map((text) => plainText(text, EACH)), ...calls];
    return items.length > 0 ? listed(items, "; ", ROOM.rejected) : "none are on record.";
  }

  #constraintsText({ lane, isSandboxed }: SummaryFacts): string {
    const found = this.#protected;
    const paths =
      found === undefined
        ? "protected paths not looked at"
        : found === 0
          ? "no protected path changed"
          : `not all: ${found} protected ${found === 1 ? "path" : "paths"} changed`;
    return [
      lane
        ? `lane ${codeText(lane.name, NAME)}${lane.isReadOnly ? ", which writes no file" : ""}`
        : "no lane is on record",
      isSandboxed ? "in a sandbox" : "without a sandbox",
      paths,
    ].join("; ");
  }

  #validationText(tree: string | null): string {
    const verified = this.#verified;
    if (!verified || (verified.verdict === "unverified" && this.#checks.size === 0))
      return "unverified: no checks.";
    const isCurrent = verified.tree === tree;
    const of = `${plainText(verified.verdict, NAME)} for ${isCurrent ? "" : "another "}tree ${codeText(verified.tree.slice(0, 12), NAME)}`;
    const checks = [...this.#checks].map(
      ([name, passed]) => `${codeText(name, NAME)} ${passed ? "passed" : "failed"}`,
    );
    const counts = isCurrent ? "" : ", which the task did not leave: it counts for nothing";
    return `${of}${counts}${checks.length > 0 ? `: ${listed(checks, ", ", ROOM.validation)}` : ""}`;
  }
}

const part = (name: string, text: string) => `**${name}:** ${text}`;

function publishedText({ branch, unpublished }: SummaryFacts): string {
  if (branch !== null) return `, on branch ${codeText(branch, EACH)}`;
  return unpublished === null ? "" : `, not published: ${codeText(unpublished, NAME)}`;
}

const isProtected = (finding: unknown) =>
  typeof finding === "object" && finding !== null && "rule" in finding && finding.rule === "protected";

function filesText({ paths, files, insertions, deletions }: Changed): string {
  if (files === 0) return "none.";
  const names = paths.map((path) => codeText(path, EACH));
  return `${files} (+${insertions} -${deletions}): ${listed(names, ", ", ROOM.files, files)}`;
}
