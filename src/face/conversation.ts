/**
 * Owns the forms in which the library gives a conversation: as it is, and as the APIs of providers take it.
 */
import {
  type AiSdkMessage,
  type AnthropicConversation,
  aiSdkForm,
  anthropicForm,
  type ModelMessage,
  type OpenAiMessage,
  openAiForm,
} from "../session/index.ts";

/** The type that each form of a conversation has. */
export interface ConversationForms {
  /** Messages as Holdfast has them. */
  readonly plain: ModelMessage[];
  /** For Anthropic's Messages API. */
  readonly anthropic: AnthropicConversation;
  /** For OpenAI's chat completions. */
  readonly openai: OpenAiMessage[];
  /** For the AI SDK. */
  readonly "ai-sdk": AiSdkMessage[];
}

export const conversationForms = {
  plain: (conversation: ModelMessage[]) => conversation,
  anthropic: anthropicForm,
  openai: openAiForm,
  "ai-sdk": aiSdkForm,
} as const satisfies {
  readonly [F in keyof ConversationForms]: (conversation: ModelMessage[]) => ConversationForms[F];
};
