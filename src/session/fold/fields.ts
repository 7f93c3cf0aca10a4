/**
 * Owns the reading of a record's data: one small reader for each kind of field. A reader accepts any value
 * and returns one of its kind, because the fold also reads records that this program did not write
 * (machine-1).
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
  type LaneTools,
  MOMENT,
  type ParkReason,
  parkReasons,
  type Stage,
  stages,
  toolClasses,
  whyNoHost,
} from "../../contract/index.ts";
import type { TurnRange } from "../state.ts";
import type { HomeState } from "../task-state.ts";

export type Reader<V> = (value: Json | undefined) => V;

/** The fields of an event that its rule reads, each with its reader. */
export type Fields = Readonly<Record<string, Reader<unknown>>>;
export type FieldsRead<F extends Fields> = { readonly [K in keyof F]: ReturnType<F[K]> };

type Known<D> = keyof { [K in keyof D as string extends K ? never : K]: D[K] };
/** The names of the fields in an event's schema. */
export type FieldOf<T extends EventType> = Known<EventData<T>>;

export function readFields<F extends Fields>(fields: F, data: JsonObject): FieldsRead<F> {
  const read: Record<string, unknown> = {};
  for (const name in fields) read[name] = fields[name]?.(data[name]);
  return read as FieldsRead<F>;
}

/** The empty string for everything that is not text. */
export function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function textOrNull(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}

/** The texts of a list; what is none is left out. */
export function textsIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** The texts of an object, by name; what is none is left out. */
export function textMapIn(value: Json | undefined): Readonly<Record<string, string>> {
  const entries = Object.entries(objectIn(value)).filter(([, one]) => typeof one === "string");
  return Object.fromEntries(entries) as Record<string, string>;
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

/** The empty object for everything that is not an object. */
export function objectIn(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The name becomes the name of a branch, so only a valid one is accepted. */
export function nameIn(value: Json | undefined): string | null {
  return typeof value === "string" && isSessionName(value) ? value : null;
}

const BUDGET_LIMITS: ReadonlySet<string> = new Set<BudgetLimit>(["tokens", "usd", "minutes", "turns"]);

/** Keeps only valid limits. */
export function budgetIn(value: Json | undefined): Budget {
  const limits = Object.entries(objectIn(value)).filter(
    ([name, limit]) => BUDGET_LIMITS.has(name) && amountIn(limit) > 0,
  );
  return Object.fromEntries(limits) as Budget;
}

/** Null for everything that is not a definition. */
export function definitionIn(value: Json | undefined): AgentDefinition | null {
  return agentDefinitionSchema.safeParse(value).data ?? null;
}

/** Null when the record has no HOME. */
export function homeIn(value: Json | undefined): HomeState | null {
  if (!isObject(value)) return null;
  return { commit: textIn(value["snapshot"]), manifest: textIn(value["manifest"]) };
}

/** Null for one that this version doesn't know. */
export function stageIn(value: Json | undefined): Stage | null {
  return stages.find((stage) => stage === value) ?? null;
}

/** A reason that this version doesn't know is treated as a missing key, which waits for a person. */
export function parkReasonIn(value: Json | undefined): ParkReason {
  return parkReasons.find((reason) => reason === value) ?? "key";
}

/** Null for everything that is not a time. */
export function momentIn(value: Json | undefined): string | null {
  return typeof value === "string" && MOMENT.test(value) ? value : null;
}

/** Null only where the field is missing. A value that is not a time counts as one that passed long ago. */
export function givenMoment(value: Json | undefined): string | null {
  if (value === undefined) return null;
  return typeof value === "string" && MOMENT.test(value) ? value : "";
}

/** Pairs of a first and a last turn. Only ascending pairs are kept. */
export function rangesIn(value: Json | undefined): readonly TurnRange[] {
  const ranges: TurnRange[] = [];
  for (const pair of Array.isArray(value) ? value : []) {
    const [first, last] = Array.isArray(pair) ? pair.map(amountIn) : [];
    if (first === undefined || last === undefined) continue;
    if (first > (ranges.at(-1)?.[1] ?? 0) && last >= first) ranges.push([first, last]);
  }
  return ranges;
}

/** The default tools where the field is missing. A class that is not a list has no tools. */
export function laneToolsIn(value: Json | undefined): LaneTools | null {
  if (!isObject(value)) return null;
  const texts = (list: Json | undefined) =>
    (Array.isArray(list) ? list : []).filter((one) => typeof one === "string");
  const { read, write, external, approval } = value;
  const asking = texts(approval);
  return {
    read: texts(read),
    write: texts(write),
    external: texts(external),
    approval: toolClasses.filter((one) => asking.includes(one)),
  };
}

/** Keeps only valid host patterns. */
export function hostsIn(value: Json | undefined): readonly string[] {
  const texts = (Array.isArray(value) ? value : []).filter((one) => typeof one === "string");
  return texts.filter((text) => whyNoHost(text) === undefined);
}
