/**
 * Owns the way in: what a caller wants to append becomes data that can be recorded, or is refused.
 */
import { eventSchema, HoldfastError, isEventType, type JsonObject } from "../contract/index.ts";
import { assertRecordable } from "../journal/index.ts";

/** Checked against the event's form, and made plain JSON: what is recorded is what would be read back. */
export function parseEvent(type: string, data: unknown): { data: JsonObject; json: string } {
  if (!isEventType(type))
    throw new HoldfastError("unknown_event", `${JSON.stringify(type)} is not an event type`);
  let json: string;
  let plain: JsonObject;
  try {
    json = JSON.stringify(data);
    plain = JSON.parse(json) as JsonObject;
  } catch (cause) {
    throw new HoldfastError(
      "invalid_data",
      `${type}: the data can't be written as JSON`,
      { type },
      { cause },
    );
  }
  const parsed = eventSchema(type).safeParse(plain);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const field = issue?.path.join(".") ?? "";
    throw new HoldfastError(
      "invalid_data",
      `${type}: ${field || "data"}: ${issue?.message ?? "is not valid"}`,
      { type, field },
    );
  }
  assertRecordable(plain, json.length);
  return { data: plain, json };
}
