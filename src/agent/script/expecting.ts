/**
 * Owns whether a step's result meets the expectation of its script.
 */
import { runInNewContext } from "node:vm";
import type { Expectation } from "./form.ts";
import { filledText, type Result, type Values } from "./variables.ts";

/** A regular expression that takes longer counts as one that never ends. */
const MATCH_MS = 1000;
const SHOWN = 200;

/** The reason in words; undefined: the result is as expected. */
export function whyNot(result: Result, expected: Expectation = {}, values: Values): string | undefined {
  const { outcome, contains, matches, equals, exit_code: exitCode } = expected;
  const wanted = outcome ?? (exitCode === undefined ? "ok" : undefined);
  const text = (source: string) => String(filledText(source, values));
  if (wanted !== undefined && result.outcome !== wanted)
    return `its outcome was ${result.outcome}, not ${wanted}`;
  if (exitCode !== undefined && result.facts["exit_code"] !== exitCode)
    return `its exit status was ${JSON.stringify(result.facts["exit_code"] ?? null)}, not ${exitCode}`;
  if (contains !== undefined && !result.text.includes(text(contains)))
    return `it does not contain ${shown(text(contains))}`;
  if (matches !== undefined && !isMatched(result.text, matches)) return `it does not match ${shown(matches)}`;
  if (equals !== undefined && result.text.trimEnd() !== text(equals).trimEnd())
    return `it is not ${shown(text(equals))}`;
  return undefined;
}

/** Runs where it can be ended: a regular expression may take forever. */
function isMatched(text: string, source: string): boolean {
  try {
    return (
      runInNewContext("new RegExp(source, 'm').test(text)", { source, text }, { timeout: MATCH_MS }) === true
    );
  } catch {
    return false;
  }
}

const shown = (text: string) => JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
