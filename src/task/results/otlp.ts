/**
 * Owns the form of a trace in OpenTelemetry's JSON protocol (OTLP/JSON): ids in hex, times in nanoseconds,
 * whole numbers as texts. Every text in it has a limited length and is valid Unicode.
 */

/** The numbers of span kinds in OTLP. */
export const spanKinds = { internal: 1, client: 3 } as const;
const STATUS_ERROR = 2;
const MAX_TEXT = 500;
const MAX_LISTED = 200;

export type Value = string | number | boolean | readonly string[];
export type Attributes = Readonly<Record<string, Value | undefined>>;

/** Times are in the form that records have: ISO 8601. */
export interface Span {
  readonly id: string;
  /** Undefined for the root span. */
  readonly parent: string | undefined;
  readonly kind: keyof typeof spanKinds;
  name: string;
  startAt: string;
  endAt: string;
  attributes: Attributes;
  isError: boolean;
}

export function otlpTrace(traceId: string, spans: readonly Span[]): string {
  const trace = {
    resourceSpans: [
      {
        resource: { attributes: attributesOf({ "service.name": "holdfast" }) },
        scopeSpans: [{ scope: { name: "holdfast" }, spans: spans.map((span) => spanOf(traceId, span)) }],
      },
    ],
  };
  return `${JSON.stringify(trace)}\n`;
}

function spanOf(traceId: string, { id, parent, name, kind, startAt, endAt, attributes, isError }: Span) {
  return {
    traceId,
    spanId: id,
    ...(parent !== undefined && { parentSpanId: parent }),
    name: bounded(name),
    kind: spanKinds[kind],
    startTimeUnixNano: nanoseconds(startAt),
    // The session may come from a machine whose clock was ahead.
    endTimeUnixNano: nanoseconds(endAt < startAt ? startAt : endAt),
    attributes: attributesOf(attributes),
    status: isError ? { code: STATUS_ERROR } : {},
  };
}

function attributesOf(attributes: Attributes) {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value) }],
  );
}

function anyValue(value: Value) {
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "string") return { stringValue: bounded(value) };
  if (typeof value !== "number")
    return {
      arrayValue: { values: value.slice(0, MAX_LISTED).map((text) => ({ stringValue: bounded(text) })) },
    };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

const bounded = (text: string) => text.slice(0, MAX_TEXT).toWellFormed();

function nanoseconds(at: string): string {
  const ms = Date.parse(at);
  return Number.isSafeInteger(ms) && ms > 0 ? `${ms}000000` : "0";
}
