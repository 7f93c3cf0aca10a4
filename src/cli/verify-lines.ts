/**
 * Owns the lines that are said of checks: one for each receipt, and what is to be known beside them.
 */
import type { JsonObject } from "../contract/index.ts";
import { plural } from "./amounts.ts";
import type { StageLine } from "./stage-lines.ts";

const NAMED = 5;
const SHOWN_LINES = 20;
const DOTS = 24;

/** `npm-test ........ PASS  tree=9b1e…`, and of one that failed the end of what it wrote. */
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

/** What the checks don't say by themselves. */
export function verificationLines(data: JsonObject): StageLine[] {
  const { verdict, tree } = data;
  const lines: StageLine[] = [];
  const add = (facts: StageLine["facts"], text: string) => lines.push({ stage: "verify", facts, text });
  if (verdict === "unverified")
    add({ verdict, tree }, "unverified: no check ran on this tree (checks in holdfast.yaml name some)");
  const skipped = listed(data["skipped"]);
  if (skipped.length > 0) add({ skipped }, `not run, because none of their paths changed: ${some(skipped)}`);
  if (verdict !== "passed" && verdict !== "failed") return lines;
  const watched = Array.isArray(data["watched"]) ? (data["watched"] as unknown as Watched[]) : [];
  if (watched.length > 0) {
    const files = watched.map(({ path, why }) => `${path} (${why})`);
    add({ watched }, `the change has a say in what checks do: ${some(files)}`);
  }
  const uncovered = listed(data["uncovered"]);
  if (uncovered.length > 0)
    add({ uncovered }, `no check covers ${plural(uncovered.length, "changed file")}: ${some(uncovered)}`);
  return lines;
}

interface Watched {
  readonly path: string;
  readonly why: string;
}

const listed = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
const short = (id: unknown) => String(id).slice(0, 12);

function some(names: readonly string[]): string {
  const more = names.length > NAMED ? `, and ${names.length - NAMED} more` : "";
  return `${names.slice(0, NAMED).join(", ")}${more}`;
}

function lastLines(output: string): string[] {
  return output.trimEnd().split("\n").slice(-SHOWN_LINES).filter(Boolean);
}
