/**
 * Owns the forms of the events of messages. That a message was received, and that it entered the context, are
 * two facts.
 */
import * as z from "zod/mini";
import { content, fields, name, turn } from "./fields.ts";

export const mailEvents = {
  /** `about`: the request of the agent that it tells the decision of. */
  message_received: () => fields({ message: name, from: name, text: content, about: z.optional(name) }),
  /** The intent, if a message is written to an agent that can't confirm it. */
  message_handed: () => fields({ message: name, turn: z.optional(turn) }),
  message_entered_context: () => fields({ message: name, turn: z.optional(turn), certain: z.boolean() }),
  message_set_aside: () => fields({ message: name, reason: z.string() }),
  message_sent: () => fields({ message: name, to: name, text: content }),
} as const;
