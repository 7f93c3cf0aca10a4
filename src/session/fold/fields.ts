/**
 * Owns the reading of a record's data: one small reader for each kind of field. Every reader takes whatever stands
 * there and gives back a value of its kind, because the fold also reads what this program did not write (M1).
 */
import {
  type AgentDefinition,
  agentDefinitionSchema,
  type Budget,
  type BudgetLimit,
  type EventData,
  type EventType,
  isSessionName,
  type Json,
  type JsonObject,
  MOMENT,
  type ParkReason,
  parkReasons,
  type Stage,
  stages,
  whyNoHost,
} from "../../contract/index.ts";
import type { TurnRange } from "../state.ts";
import type { HomeState } from "../task-state.ts";

export type Reader<V> = (value: Json | undefined) => V;

/** The fields of an event that its rule reads, each with its reader. */
export type Fields = Readonly<Record<string, Reader<unknown>>>;
export type FieldsRead<F extends Fields> = { readonly [K in keyof F]: ReturnType<F[K]> };

type Known<D> = keyof { [K in keyof D as string extends K ? never : K]: D[K] };
/** The names of the fields that the form of an event has. */
export type FieldOf<T extends EventType> = Known<EventData<T>>;

export function readFields<F extends Fields>(fields: F, data: JsonObject): FieldsRead<F> {
  const read: Record<string, unknown> = {};
  for (const name in fields) read[name] = fields[name]?.(data[name]);
  return read as FieldsRead<F>;
}

/** The empty text for everything that is none. */
export function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function textOrNull(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}

/** Null only where the field is missing. */
export function givenText(value: Json | undefined): string | null {
  return value === undefined ? null : textIn(value);
}

export function isGiven(value: Json | undefined): boolean {
  return value !== undefined;
}

export function isTrue(value: Json | undefined): boolean {
  return value === true;
}

/** A number above zero; zero for everything else. */
export function amountIn(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

/** Null only where the field is missing. */
export function givenAmount(value: Json | undefined): number | null {
  return value === undefined ? null : amountIn(value);
}

export function numberIn(value: Json | undefined): number {
  return typeof value === "number" ? value : 0;
}

export function exitCodeIn(value: Json | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : null;
}

/** An empty object for everything that is none. */
export function objectIn(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** It becomes a branch, so only what can be one. */
export function nameIn(value: Json | undefined): string | null {
  return typeof value === "string" && isSessionName(value) ? value : null;
}

const BUDGET_LIMITS: ReadonlySet<string> = new Set<BudgetLimit>(["tokens", "usd", "minutes", "turns"]);

/** Only what is a limit. */
export function budgetIn(value: Json | undefined): Budget {
  const limits = Object.entries(objectIn(value)).filter(
    ([name, limit]) => BUDGET_LIMITS.has(name) && amountIn(limit) > 0,
  );
  return Object.fromEntries(limits) as Budget;
}

/** Null for what is none. */
export function definitionIn(value: Json | undefined): AgentDefinition | null {
  return agentDefinitionSchema.safeParse(value).data ?? null;
}

/** Null where nothing is said of HOME. */
export function homeIn(value: Json | undefined): HomeState | null {
  if (!isObject(value)) return null;
  return { commit: textIn(value["snapshot"]), manifest: textIn(value["manifest"]) };
}

/** Null for one that this version doesn't know. */
export function stageIn(value: Json | undefined): Stage | null {
  return stages.find((stage) => stage === value) ?? null;
}

/** One that this version doesn't know waits for a person, as a missing key does. */
export function parkReasonIn(value: Json | undefined): ParkReason {
  return parkReasons.find((reason) => reason === value) ?? "key";
}

/** Null for what is none. */
export function momentIn(value: Json | undefined): string | null {
  return typeof value === "string" && MOMENT.test(value) ? value : null;
}

/** Null only where the field is missing. What is no moment counts as one that is long over. */
export function givenMoment(value: Json | undefined): string | null {
  if (value === undefined) return null;
  return typeof value === "string" && MOMENT.test(value) ? value : "";
}

/** Pairs of the first and the last turn, and only those that rise. */
export function rangesIn(value: Json | undefined): readonly TurnRange[] {
  const ranges: TurnRange[] = [];
  for (const pair of Array.isArray(value) ? value : []) {
    const [first, last] = Array.isArray(pair) ? pair.map(amountIn) : [];
    if (first === undefined || last === undefined) continue;
    if (first > (ranges.at(-1)?.[1] ?? 0) && last >= first) ranges.push([first, last]);
  }
  return ranges;
}

/** Only what is a pattern of hosts. */
export function hostsIn(value: Json | undefined): readonly string[] {
  const texts = (Array.isArray(value) ? value : []).filter((one) => typeof one === "string");
  return texts.filter((text) => whyNoHost(text) === undefined);
}
