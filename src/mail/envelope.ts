/**
 * Owns what may lie in an inbox or an outbox: one JSON document each. A message, a task and a decision of a
 * person are for the session, and wait for it however long it takes. An envelope that names an epoch is for
 * the process that has the session now, and means nothing to the next one.
 */
import * as z from "zod/mini";
import {
  budgetSchema,
  HoldfastError,
  hostPatternSchema,
  type Json,
  taskSpecSchema,
} from "../contract/index.ts";
import { MAX_ENVELOPE_BYTES } from "./maildir.ts";

const id = z.string().check(z.regex(/^[a-z0-9_]{1,64}$/));
const common = { id, from: z.string().check(z.minLength(1), z.maxLength(200)), at: z.string() };
/** The owner that it is meant for. */
const forOwner = { ...common, epoch: z.int() };

const envelopeSchema = z.discriminatedUnion("kind", [
  z.strictObject({ ...common, kind: z.literal("message"), to: z.string(), text: z.string() }),
  z.strictObject({ ...common, kind: z.literal("task"), spec: taskSpecSchema, priority: z.int() }),
  /** Whether retention leaves the session alone. */
  z.strictObject({ ...common, kind: z.literal("keep"), isKept: z.boolean() }),
  /** Cancels a task that has not begun. */
  z.strictObject({ ...common, kind: z.literal("cancel"), request: id }),
  /**
   * What a person decided. It counts whichever process owns the session by then; a grant counts only by its
   * signature.
   */
  z.strictObject({
    ...common,
    kind: z.literal("grant"),
    grant: z.custom<Json>((value) => value !== undefined),
  }),
  z.strictObject({ ...common, kind: z.literal("deny"), approval: id, reason: z.string() }),
  z.strictObject({ ...common, kind: z.literal("answer"), question: id, text: z.string() }),
  z.strictObject({ ...forOwner, kind: z.literal("interrupt") }),
  z.strictObject({ ...forOwner, kind: z.literal("pause") }),
  /** A person wants a shell beside the running command. */
  z.strictObject({
    ...forOwner,
    kind: z.literal("shell"),
    command: z.array(z.string()).check(z.minLength(1)),
  }),
  /** A person allows the running task to reach a host. */
  z.strictObject({ ...forOwner, kind: z.literal("allow_host"), host: hostPatternSchema }),
  /** A person adds these amounts to the limits of the session's budget. */
  z.strictObject({ ...forOwner, kind: z.literal("raise_budget"), amounts: budgetSchema }),
]);

export type Envelope = z.infer<typeof envelopeSchema>;
export type EnvelopeOf<K extends Envelope["kind"]> = Extract<Envelope, { kind: K }>;

/** The message itself, without its envelope. */
export const MAX_MESSAGE_BYTES = 256 * 1024;

export function assertMessageSize(text: string): void {
  if (Buffer.byteLength(text) > MAX_MESSAGE_BYTES)
    throw new HoldfastError("message_too_large", `the message is longer than ${MAX_MESSAGE_BYTES} bytes`);
}

export function encodeEnvelope(envelope: Envelope): Uint8Array {
  if (envelope.kind === "message") assertMessageSize(envelope.text);
  const bytes = Buffer.from(`${JSON.stringify(envelope)}\n`);
  if (bytes.length > MAX_ENVELOPE_BYTES)
    throw new HoldfastError(
      "message_too_large",
      `the ${envelope.kind} is longer than ${MAX_ENVELOPE_BYTES} bytes of JSON`,
    );
  return bytes;
}

/** Undefined if the file is not an envelope. */
export function decodeEnvelope(bytes: Buffer): Envelope | undefined {
  try {
    const value: Json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return envelopeSchema.safeParse(value).data;
  } catch {
    return undefined;
  }
}
