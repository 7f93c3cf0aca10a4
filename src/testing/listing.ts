/**
 * Owns the answers to what agents ask beside conversations: which models there are, and how many tokens a
 * text has.
 */

const MODEL = { id: "scripted", object: "model", type: "model", display_name: "Scripted" };
/** The same number for any text: agents ask for it to know how full their window is. */
const TOKENS = 100;

/** Undefined for a path that has no listing. */
export function listingAt(path: string): object | undefined {
  if (path.endsWith("/count_tokens")) return { input_tokens: TOKENS };
  if (path.endsWith(":countTokens")) return { totalTokens: TOKENS };
  // One list for all: OpenAI and Anthropic have it below data, Gemini below models.
  if (path.endsWith("/models"))
    return { object: "list", has_more: false, data: [MODEL], models: [geminiModel(MODEL.id)] };
  const id = /\/models\/([^/:]+)$/.exec(path)?.[1];
  return id === undefined ? undefined : { ...MODEL, id, ...geminiModel(id) };
}

const geminiModel = (id: string) => ({
  name: `models/${id}`,
  displayName: MODEL.display_name,
  supportedGenerationMethods: ["generateContent", "countTokens"],
});
