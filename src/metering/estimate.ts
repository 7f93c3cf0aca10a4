/**
 * Owns the estimate of what a request cost if its answer does not report that. Some servers never do, OpenAI's chat
 * completions do in a stream only if the request asks for it, and most do at the end, when a client may have hung up.
 * Without an estimate, an agent could ask again and again and reach no budget.
 */
import type { Usage } from "./reading.ts";

/** About what a text has; models differ. */
const BYTES_PER_TOKEN = 4;
/** A picture or a file in the request: its tokens do not follow from its length. */
const ENCODED = /[A-Za-z0-9+/]{4096,}={0,2}/g;
const ENCODED_TOKENS = 1500;
/** An event of a stream has about so many bytes beside its text. */
const BYTES_AROUND = 200;

/** What came of an answer. `parts`: its events, where it is a stream. */
export interface Came {
  readonly bytes: number;
  readonly parts: number;
}

function inputTokensOf(asked: Buffer): number {
  let files = 0;
  const text = asked.toString("latin1").replace(ENCODED, () => {
    files += 1;
    return "";
  });
  return Math.ceil(text.length / BYTES_PER_TOKEN) + files * ENCODED_TOKENS;
}

/** An event has one token, and a long one has more. */
function outputTokensOf({ bytes, parts }: Came): number {
  return Math.max(parts, Math.ceil(Math.max(0, bytes - parts * BYTES_AROUND) / BYTES_PER_TOKEN));
}

/** What was told, and an estimate of what was not. */
export function withEstimate(
  told: Partial<Usage>,
  asked: Buffer,
  came: Came,
): { readonly usage: Partial<Usage>; readonly isEstimated: boolean } {
  const { inputTokens, outputTokens } = told;
  if (inputTokens !== undefined && outputTokens !== undefined) return { usage: told, isEstimated: false };
  const usage = {
    ...told,
    inputTokens: inputTokens ?? inputTokensOf(asked),
    outputTokens: outputTokens ?? outputTokensOf(came),
  };
  return { usage, isEstimated: true };
}
