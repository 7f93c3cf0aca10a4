/**
 * Owns the lines about checks: one for each receipt, and one for each further fact that a person should know.
 */
import type { JsonObject } from "../contract/index.ts";
import { present } from "../util/index.ts";
import { plural } from "./amounts.ts";
import type { StageLine } from "./stage-lines.ts";

const NAMED = 5;
const SHOWN_LINES = 20;
const DOTS = 24;

/** `npm-test ........ PASS  tree=9b1e…`; after a failed check, the end of its output. */
export function checkLines(receipt: JsonObject): StageLine[] {
  const { check, tree, passed, exitCode = null, signal = null, reason = null, durationMs, output } = receipt;
  const name = String(check);
  const how = reason ?? signal ?? (exitCode === null ? "" : `exit ${exitCode}`);
  const verdict = passed === true ? "PASS" : `FAIL  ${how}`;
  const facts = { check, tree, passed, exitCode, signal, reason, durationMs };
  const text = `${name} ${".".repeat(Math.max(3, DOTS - name.length))} ${verdict}  tree=${short(tree)}`;
  const last = passed === true ? [] : lastLines(String(output ?? ""));
  return [
    { stage: "verify", facts, text },
    ...last.map((line) => ({ stage: "verify", facts: { check, line }, text: `  ${line}` })),
  ];
}

/** `gh_pr_create .... HOLD  approve with: holdfast approve appr_…`, and what became of it. */
export function approvalLines(type: string, data: JsonObject, tool: string): StageLine[] {
  const { approval, by, reason } = data;
  const verdicts: Readonly<Record<string, string>> = {
    approval_requested: `HOLD  approve with: holdfast approve ${approval}`,
    approval_granted: `GRANTED  by ${by}`,
    approval_denied: `DENIED  by ${by}${reason ? `: ${reason}` : ""}`,
    approval_expired: "EXPIRED",
  };
  const verdict = verdicts[type];
  if (verdict === undefined) return [];
  const dots = ".".repeat(Math.max(3, DOTS - tool.length));
  const facts = { approval, tool, event: type, ...present({ by, reason, fingerprint: data["fingerprint"] }) };
  return [{ stage: "verify", facts, text: `${tool} ${dots} ${verdict}` }];
}

/** What the receipts alone do not show. */
export function verificationLines(data: JsonObject): StageLine[] {
  const { verdict, tree } = data;
  const lines: StageLine[] = [];
  const add = (facts: StageLine["facts"], text: string) => lines.push({ stage: "verify", facts, text });
  if (verdict === "unverified")
    add(
      { verdict, tree },
      "unverified: no check ran on this tree (to verify work, add checks to holdfast.yaml)",
    );
  const skipped = listed(data["skipped"]);
  if (skipped.length > 0) add({ skipped }, `not run, because none of their paths changed: ${some(skipped)}`);
  if (verdict !== "passed" && verdict !== "failed") return lines;
  const more = (data["more"] ?? {}) as Readonly<Record<string, number>>;
  const watched = Array.isArray(data["watched"]) ? (data["watched"] as unknown as Watched[]) : [];
  if (watched.length > 0) {
    const files = watched.map(({ path, why }) => `${path} (${why})`);
    add({ watched }, `the change includes files that decide what checks do: ${some(files, more["watched"])}`);
  }
  const uncovered = listed(data["uncovered"]);
  if (uncovered.length > 0) {
    const count = uncovered.length + (more["uncovered"] ?? 0);
    const files = some(uncovered, more["uncovered"]);
    add({ uncovered }, `no check covers ${plural(count, "changed file")}: ${files}`);
  }
  return lines;
}

interface Watched {
  readonly path: string;
  readonly why: string;
}

const listed = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
const short = (id: unknown) => String(id).slice(0, 12);

/** `unlisted`: how many there are besides `names`. */
function some(names: readonly string[], unlisted = 0): string {
  const left = Math.max(0, names.length - NAMED) + unlisted;
  return `${names.slice(0, NAMED).join(", ")}${left > 0 ? `, and ${left} more` : ""}`;
}

function lastLines(output: string): string[] {
  return output.trimEnd().split("\n").slice(-SHOWN_LINES).filter(Boolean);
}
