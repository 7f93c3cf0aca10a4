/**
 * Owns the first message to an agent: whether it continues an earlier conversation, and what a new one is
 * told about the session.
 */
import type { Conversation, Workplace } from "./adapter.ts";
import type { CutCalls } from "./cut-calls.ts";

export type Opening =
  /** `conversation`: the id of the conversation that is continued. */
  | { readonly how: "resumed"; readonly conversation: string; readonly text: string }
  | { readonly how: Exclude<Conversation["how"], "resumed">; readonly text: string };

export interface Asked {
  readonly prompt: string;
  readonly continues: boolean;
}

const CUT_OFF =
  "Your process was ended in the middle of your work and has been started again. The files are as you left them. A command that was running may or may not have had its effect: check before you repeat it. Background processes have ended. Continue with what you were asked to do.";

/**
 * Continues the agent's conversation, or begins a new one. `cut`: calls that the agent may have forgotten.
 */
export async function openingOf(
  work: Workplace,
  agent: string,
  asked: Asked,
  cut: CutCalls,
): Promise<Opening> {
  const known = work.conversationOf(agent);
  const { prompt, continues } = asked;
  const resumed = (id: string, ...words: string[]): Opening => ({
    how: "resumed",
    conversation: id,
    text: words.filter(Boolean).join("\n\n"),
  });
  if (known?.isAtThisTask && work.isGoingOn) return resumed(known.id, CUT_OFF, cut.open, cut.done);
  if (known && continues) return resumed(known.id, prompt && cut.open, prompt);
  return newOpening(work, asked);
}

/** For an agent that doesn't know the session, or has lost its conversation. */
export async function newOpening(work: Workplace, { prompt }: Asked): Promise<Opening> {
  const story = await work.story();
  if (story === undefined) return { how: "new", text: prompt };
  const asked = prompt === "" ? "Nothing yet: wait for the first message." : prompt;
  return { how: "primed", text: `${story}\n\n# What you are asked to do now\n\n${asked}` };
}
