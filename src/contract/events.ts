/**
 * Owns the list of all events: the vocabulary of the journal. One entry is a fact that happened, in the past
 * tense. No I/O and no clock: a browser can import this file.
 *
 * Rules for a change:
 *
 * event-1 An event type is never renamed or reused; a field may be added if it is optional.
 * event-2 Unknown fields are kept: a newer writer's record passes through an older reader unharmed.
 *
 * Whatever the fold reads is small: numbers, names, ids. Long content is only carried along, because a field
 * over 4 KiB is stored as a blob, and the fold never opens one.
 */
import type * as z from "zod/mini";
import { fields, name } from "./events/fields.ts";
import { fileEvents } from "./events/files.ts";
import { laterEvents } from "./events/later.ts";
import { lifeEvents } from "./events/life.ts";
import { mailEvents } from "./events/mail.ts";
import { processEvents } from "./events/process.ts";
import { requestEvents } from "./events/requests.ts";
import { taskEvents } from "./events/task.ts";
import { turnEvents } from "./events/turn.ts";
import { verifyEvents } from "./events/verify.ts";

export { MOMENT } from "./events/fields.ts";
export { metadataSchema, type PauseReason, pauseReasons, tagsSchema } from "./events/life.ts";
export { type Parked, type ParkReason, parkReasons, type Stage, stages } from "./events/task.ts";
export type { Usage } from "./events/turn.ts";
export { type PolicyRule, type Verdict, verdicts } from "./events/verify.ts";

/**
 * Every event type, with the form of its data. Each form is made when it is first needed, to keep a start
 * short.
 */
export const eventForms = {
  ...lifeEvents,
  ...turnEvents,
  ...taskEvents,
  ...fileEvents,
  ...mailEvents,
  ...requestEvents,
  ...verifyEvents,
  ...processEvents,
  ...laterEvents,
  /** Events of other harnesses: they choose the name and the other fields. */
  custom: () => fields({ name }),
} as const satisfies Record<string, () => z.ZodMiniType>;

/** The name of an event. */
export type EventType = keyof typeof eventForms;
/** The data of an event. */
export type EventData<T extends EventType> = z.input<ReturnType<(typeof eventForms)[T]>>;

const made = new Map<EventType, z.ZodMiniType>();

export function eventSchema(type: EventType): z.ZodMiniType {
  const schema = made.get(type) ?? eventForms[type]();
  made.set(type, schema);
  return schema;
}

export function isEventType(type: string): type is EventType {
  return Object.hasOwn(eventForms, type);
}
