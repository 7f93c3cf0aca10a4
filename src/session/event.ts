/**
 * Owns the check of what a caller wants to append: it becomes data that can be recorded, or is refused.
 */
import { eventSchema, HoldfastError, isEventType, type JsonObject } from "../contract/index.ts";
import { assertRecordable } from "../journal/index.ts";

/**
 * Checks data against the event's schema and makes it plain JSON, so that readers get back what was recorded.
 */
export function parseEvent(type: string, data: unknown): { data: JsonObject; json: string } {
  if (!isEventType(type))
    throw new HoldfastError("unknown_event", `${JSON.stringify(type)} is not an event type of Holdfast`);
  let json: string;
  let plain: JsonObject;
  try {
    json = JSON.stringify(data);
    plain = JSON.parse(json) as JsonObject;
  } catch (cause) {
    throw new HoldfastError(
      "invalid_data",
      `${type}: the data can't be converted to JSON`,
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
