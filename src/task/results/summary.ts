/**
 * Owns the summary of a task, in Markdown, for a person and for the agent that comes next: what was asked, the root cause,
 * the files, decisions and rejected paths, what held, and what the checks said. A part of which nothing is on record says
 * that. Whatever an agent wrote stands in it as text.
 *
 * O4 It has 400 tokens at most, at 4 characters each; what is left out of a list is counted.
 */
import type { JournalRecord } from "../../contract/index.ts";
import { textIn } from "../../session/index.ts";
import { codeText, listed, plainText } from "./markdown.ts";
import { messageText, saidAs } from "./said-lines.ts";

const CHARACTERS_PER_TOKEN = 4;
export const MAX_TOKENS = 400;
/** So many of a kind are kept while records are read. */
const MAX_KEPT = 20;
/** In characters, each part with its name; together they are fewer than the tokens allow. */
const ROOM = { asked: 160, rootCause: 200, files: 200, decisions: 150, rejected: 170, validation: 130 };
const EACH = 90;
const NAME = 40;

/** The work of a task: some of its files by name, and all in numbers. */
export interface Changed {
  readonly paths: readonly string[];
  readonly files: number;
  readonly insertions: number;
  readonly deletions: number;
}

/** What its records don't say of a task. */
export interface SummaryFacts {
  readonly task: number;
  readonly outcome: string;
  /** The branch that its work is on, or the code of why it is on none. */
  readonly branch: string | null;
  readonly unpublished: string | null;
  readonly asked: string | null;
  readonly changed: Changed;
  readonly lane: { readonly name: string; readonly isReadOnly: boolean } | null;
  readonly isSandboxed: boolean;
  /** The tree that the task left. */
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
  /** By the tool's name and how its calls ended, how often. */
  readonly #failed = new Map<string, number>();
  readonly #tools = new Map<string, string>();
  readonly #checks = new Map<string, boolean>();
  #verified: Checked | undefined;
  /** How many protected paths the policy found changed; undefined: it was not applied. */
  #protected: number | undefined;

  /** In the order of the journal; messages with their whole content. */
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
        // What ran before was of another tree, or is run again.
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
    // The last ones count: an agent may think again.
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
