/**
 * Owns redaction: the port that takes secrets out of a batch before it is appended, and out of a message
 * before it is put into an inbox or an outbox.
 *
 * redaction-1 A record in which a rule found a secret names the rule and no longer has the text.
 * redaction-2 Each record is judged by itself: nothing in one record affects another.
 *
 * One run of the rules costs about as much for a batch as for one text, so the texts of a batch are joined. A
 * match that seems to reach from one record into the next is checked again, record by record.
 */
import type { Json, JsonObject } from "../contract/index.ts";
import type { Redaction, Redactor } from "../journal/index.ts";
import { withoutAssigned } from "./assignments.ts";
import { findSecrets } from "./rules.ts";
import type { Span } from "./span.ts";

const BETWEEN_RECORDS = "\n\n\n\n";
const BETWEEN_TEXTS = "\n\n";
/** As in a file of settings: many rules recognize a secret by the name before it. */
const BETWEEN_NAME_AND_VALUE = ": ";

interface Joined {
  readonly text: string;
  /** Where each text begins, in the order in which the texts are visited. */
  readonly offsets: readonly number[];
}

export const redactSecrets: Redactor = async (batch, types = []) => {
  const redactions = await redactByRules(batch);
  return redactions.map(({ data, rules }, index) => {
    const assigned = withoutAssigned(data, types[index]);
    return { data: assigned.data, rules: [...rules, ...assigned.rules].sort() };
  });
};

async function redactByRules(batch: readonly JsonObject[]): Promise<readonly Redaction[]> {
  const joined = batch.map(join);
  const whole = joined.map(({ text }) => text).join(BETWEEN_RECORDS);
  const spans = await findSecrets(whole);
  if (spans.length === 0) return batch.map((data) => ({ data, rules: [] }));

  const redactions: Redaction[] = [];
  let start = 0;
  for (const [index, data] of batch.entries()) {
    const record = joined[index] as Joined;
    const end = start + record.text.length;
    const touching = spans.filter((span) => span.end > start && span.start < end);
    const isInside = touching.every((span) => span.start >= start && span.end <= end);
    const own = isInside ? touching.map((span) => moved(span, -start)) : await findSecrets(record.text);
    redactions.push(own.length === 0 ? { data, rules: [] } : redact(data, record, own));
    start = end + BETWEEN_RECORDS.length;
  }
  return redactions;
}

/** Redacts one text, for callers that do not write it into a journal. */
export async function withoutSecrets(redact: Redactor, text: string): Promise<string> {
  const [redaction] = await redact([{ text }]);
  return String(redaction?.data["text"] ?? "");
}

function moved({ start, end, rule }: Span, by: number): Span {
  return { start: start + by, end: end + by, rule };
}

/** All texts of a record, keys included, as one. */
function join(data: JsonObject): Joined {
  const parts: string[] = [];
  const offsets: number[] = [];
  let length = 0;
  const add = (text: string, separator: string) => {
    offsets.push(length);
    parts.push(text, separator);
    length += text.length + separator.length;
  };
  const visit = (value: Json): void => {
    if (typeof value === "string") add(value, BETWEEN_TEXTS);
    else if (Array.isArray(value)) for (const item of value) visit(item);
    else if (typeof value === "object" && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        add(key, typeof item === "string" ? BETWEEN_NAME_AND_VALUE : BETWEEN_TEXTS);
        visit(item);
      }
    }
  };
  visit(data);
  return { text: parts.join(""), offsets };
}

/** Visits the texts in the order of `join`, and removes from each what a span covers. */
function redact(data: JsonObject, { offsets }: Joined, spans: readonly Span[]): Redaction {
  const fired = new Set<string>();
  let visited = 0;
  let passed = 0;
  const change = (text: string, isKey: boolean): string => {
    const offset = offsets[visited] ?? 0;
    visited += 1;
    while ((spans[passed]?.end ?? Number.POSITIVE_INFINITY) <= offset) passed += 1;
    const ahead = spans.slice(passed);
    // A name is changed only for a secret inside it: a secret that spans several names would remove fields.
    const within = (span: Span) => span.start >= offset && span.end <= offset + text.length;
    return redactText(text, offset, isKey ? ahead.filter(within) : ahead, fired);
  };
  const visit = (value: Json): Json => {
    if (typeof value === "string") return change(value, false);
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== "object" || value === null) return value;
    const entries = new Map<string, Json>();
    for (const [key, item] of Object.entries(value)) {
      const name = change(key, true);
      // Two secrets as keys become the same text. Neither value may be lost.
      entries.set(entries.has(name) ? `${name}#${entries.size}` : name, visit(item));
    }
    return Object.fromEntries(entries);
  };
  const redacted = visit(data) as JsonObject;
  return { data: redacted, rules: [...fired].sort() };
}

function redactText(text: string, offset: number, spans: readonly Span[], fired: Set<string>): string {
  let result = "";
  let done = 0;
  for (const { start, end, rule } of spans) {
    if (start - offset >= text.length) break;
    const from = Math.max(start - offset, done);
    const to = Math.min(end - offset, text.length);
    if (from >= to) continue;
    result += `${text.slice(done, from)}[redacted:${rule}]`;
    done = to;
    fired.add(rule);
  }
  return result + text.slice(done);
}
