/**
 * Owns the name and the attributes of the span that a record begins or ends. They follow OpenTelemetry's
 * `gen_ai` conventions where these have a name, and are under `holdfast` otherwise. Contents appear only as
 * sizes.
 */
import { isBlobReference, type JournalRecord, type Json } from "../../contract/index.ts";
import { amountIn, textIn } from "../../session/index.ts";
import type { Attributes, Span } from "./otlp.ts";

type Data = JournalRecord["data"];

/** The part of a span that comes from the record's data, and not from its position. */
export type Said = Pick<Span, "name" | "kind" | "attributes"> & { readonly startAt?: string };

export function stageSpan(stage: string): Said {
  return { name: `stage ${stage}`, kind: "internal", attributes: { "holdfast.stage": stage } };
}

export function turnSpan(session: string, { turn }: Data): Said {
  const attributes = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.conversation.id": session,
    "holdfast.turn": amountIn(turn),
  };
  return { name: "invoke_agent", kind: "internal", attributes };
}

export function toolSpan({ tool, call, args }: Data): Said {
  const name = textIn(tool);
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    "gen_ai.tool.call.id": textIn(call),
    "holdfast.arguments_bytes": sizeOf(args),
  };
  return { name: `execute_tool ${name}`, kind: "internal", attributes };
}

/**
 * A request has one record, written when it was answered. Its span is that moment, and an attribute marks it
 * as such.
 */
export function requestSpan(session: string, data: Data): Said {
  const { provider, model, usd, cacheReadTokens, cacheWriteTokens } = data;
  const name = textIn(model);
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.conversation.id": session,
    "gen_ai.provider.name": textIn(provider),
    "gen_ai.request.model": name,
    ...usageOf(data),
    "gen_ai.usage.cache_read.input_tokens": amountIn(cacheReadTokens),
    "gen_ai.usage.cache_creation.input_tokens": amountIn(cacheWriteTokens),
    "holdfast.usd": typeof usd === "number" ? usd : undefined,
    "holdfast.is_end_only": true,
  };
  return { name: `chat ${name}`, kind: "client", attributes };
}

export function checkSpan({ check, tree }: Data): Said {
  const name = textIn(check);
  const attributes = { "holdfast.check": name, "holdfast.tree": textIn(tree) };
  return { name: `check ${name}`, kind: "internal", attributes };
}

export function receiptOf({ exitCode, signal, durationMs, output }: Data): Attributes {
  return {
    "holdfast.exit_code": typeof exitCode === "number" ? exitCode : undefined,
    "holdfast.signal": textIn(signal) || undefined,
    "holdfast.duration_ms": amountIn(durationMs),
    "holdfast.output_bytes": sizeOf(output),
  };
}

/**
 * The usage in a record, if it has one. By the conventions, tokens read from a cache or written to one count
 * as input.
 */
export function usageOf(usage: Json | undefined): Attributes {
  if (typeof usage !== "object" || usage === null || Array.isArray(usage)) return {};
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const input = amountIn(inputTokens) + amountIn(cacheReadTokens) + amountIn(cacheWriteTokens);
  return {
    "gen_ai.usage.input_tokens": inputTokens === undefined ? undefined : input,
    "gen_ai.usage.output_tokens": outputTokens === undefined ? undefined : amountIn(outputTokens),
  };
}

export function sizeOf(content: Json | undefined): number {
  if (content === undefined) return 0;
  if (isBlobReference(content)) return amountIn(content.$blob.bytes);
  return Buffer.byteLength(typeof content === "string" ? content : JSON.stringify(content));
}
