/**
 * Owns reading one approval from the journal: the record that asked for it, and the grant as it was given.
 * The fold only knows that they exist.
 */
import { HoldfastError, type Json } from "../contract/index.ts";
import { readRecords } from "../session/index.ts";
import { isPlainObject } from "../util/index.ts";

export interface Asked {
  /** The record of the request, which a grant names. */
  readonly request: { readonly seq: number; readonly hash: string };
  /** The grant as it was recorded; it still has to be verified. */
  readonly grant: Json;
}

export async function findAsked(sessionDir: string, approval: string): Promise<Asked> {
  let request: Asked["request"] | undefined;
  for await (const { type, data, seq, hash } of readRecords(sessionDir)) {
    if (data["approval"] !== approval) continue;
    if (type === "approval_requested") request = { seq, hash };
    if (type === "approval_granted" && request) return { request, grant: data["grant"] ?? null };
  }
  throw new HoldfastError("grant_invalid", `the journal has no grant of ${approval}`);
}

/** The tool of an action that has begun. */
export async function toolOf(sessionDir: string, approval: string): Promise<string> {
  for await (const { type, data } of readRecords(sessionDir))
    if (type === "action_begun" && data["approval"] === approval) return String(data["tool"]);
  return "an action";
}

export interface Before {
  /** The last spent approval of the same action, and what came of it. */
  readonly spent: { readonly approval: string; readonly outcome: "ok" | "error" | "unknown" } | undefined;
  /** Why a person denied it, if no call has got that answer yet. */
  readonly denial: { readonly approval: string; readonly reason: string } | undefined;
}

/** What is recorded about the same action, from all of its requests. */
export async function askedBefore(sessionDir: string, fingerprint: string, tool: string): Promise<Before> {
  const asked = new Set<string>();
  const calls = new Set<string>();
  const isSpent = new Set<string>();
  let spent: Before["spent"];
  let denial: Before["denial"];
  for await (const { type, data } of readRecords(sessionDir)) {
    const approval = String(data["approval"]);
    if (type === "approval_requested" && data["fingerprint"] === fingerprint) asked.add(approval);
    else if (type === "tool_called" && data["tool"] === tool) calls.add(String(data["call"]));
    else if (type === "tool_returned" && calls.has(String(data["call"])) && !isHeld(data["facts"]))
      denial = undefined;
    else if (!asked.has(approval)) continue;
    else if (type === "approval_denied") denial = { approval, reason: String(data["reason"] ?? "") };
    else if (type === "approval_spent") isSpent.add(approval);
    else if (type === "action_ended" && isSpent.has(approval))
      spent = { approval, outcome: data["outcome"] as "ok" | "error" | "unknown" };
  }
  return { spent, denial };
}

/** The call was answered without a decision. */
const isHeld = (facts: unknown) => isPlainObject(facts) && facts["is_held"] === true;
