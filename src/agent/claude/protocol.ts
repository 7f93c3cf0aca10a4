/**
 * Owns the messages of Claude Code's control protocol that Holdfast uses, in both directions. Messages of any
 * other form are ignored.
 */
import * as z from "zod/mini";
import type { Json } from "../../contract/index.ts";

const text = z.string();
const json = z.custom<Json>();
/** For a subagent: the tool call that started it. */
const parent = { parent_tool_use_id: z.optional(z.nullable(text)) };

const block = z.union([
  z.looseObject({ type: z.literal("text"), text }),
  z.looseObject({ type: z.literal("tool_use"), id: text, name: text, input: json }),
  z.looseObject({
    type: z.literal("tool_result"),
    tool_use_id: text,
    content: z.optional(json),
    is_error: z.optional(z.nullable(z.boolean())),
  }),
  z.looseObject({ type: text }),
]);
export type Block = z.infer<typeof block>;

const said = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("control_request"),
    request_id: text,
    request: z.looseObject({
      subtype: text,
      /** For a question before a tool. */
      tool_name: z.optional(text),
      input: z.optional(json),
      tool_use_id: z.optional(text),
    }),
  }),
  z.looseObject({ type: z.literal("system"), subtype: text }),
  z.looseObject({
    type: z.literal("assistant"),
    message: z.looseObject({ content: z.array(block) }),
    ...parent,
  }),
  z.looseObject({
    type: z.literal("user"),
    message: z.looseObject({ content: z.union([text, z.array(block)]) }),
    uuid: z.optional(text),
    isReplay: z.optional(z.boolean()),
    ...parent,
  }),
  z.looseObject({
    type: z.literal("stream_event"),
    event: z.looseObject({
      type: text,
      delta: z.optional(z.looseObject({ type: z.optional(text), text: z.optional(text) })),
    }),
    ...parent,
  }),
  z.looseObject({
    type: z.literal("result"),
    subtype: text,
    is_error: z.optional(z.boolean()),
    result: z.optional(text),
  }),
]);
export type Said = z.infer<typeof said>;

const hook = z.looseObject({ tool_name: text, tool_input: json, tool_use_id: text });
export type ToolQuestion = {
  readonly call: string;
  readonly tool: string;
  readonly args: Json;
};

/** Undefined for messages that Holdfast does not use. */
export function saidIn(message: unknown): Said | undefined {
  return said.safeParse(message).data;
}

type Asked = Extract<Said, { type: "control_request" }>["request"];

/**
 * The tool that the question is about. It comes from the agent's own permissions, or from the hook that it
 * was given.
 */
export function questionIn({ subtype, tool_name, input, tool_use_id }: Asked): ToolQuestion | undefined {
  if (subtype === "can_use_tool" && tool_name !== undefined)
    return { call: tool_use_id ?? "", tool: tool_name, args: input ?? null };
  const asked = subtype === "hook_callback" ? hook.safeParse(input).data : undefined;
  return asked && { call: asked.tool_use_id, tool: asked.tool_name, args: asked.tool_input };
}

/** Makes the agent ask before each tool and wait for the answer. */
export const INITIALIZE = {
  type: "control_request",
  request_id: "initialize",
  request: {
    subtype: "initialize",
    hooks: { PreToolUse: [{ matcher: null, hookCallbackIds: ["before_tool"] }] },
  },
};

/** `refusal`: why the tool may not run. */
export function answerTo(requestId: string, { subtype, input }: Asked, refusal: string | undefined): object {
  const ofHook = {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: refusal === undefined ? "allow" : "deny",
      ...(refusal !== undefined && { permissionDecisionReason: refusal }),
    },
  };
  const ofPermission =
    refusal === undefined
      ? { behavior: "allow", updatedInput: input }
      : { behavior: "deny", message: refusal };
  const response = subtype === "hook_callback" ? ofHook : ofPermission;
  return { type: "control_response", response: { subtype: "success", request_id: requestId, response } };
}

/** The agent ignores a message whose id it has already taken in. */
export const userMessage = (uuid: string, content: string) => ({
  type: "user",
  uuid,
  message: { role: "user", content },
});
