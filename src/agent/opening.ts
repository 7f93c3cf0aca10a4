/**
 * Owns the first words to an agent: whether an earlier conversation goes on, and what an agent that starts anew is told
 * of the session.
 */
import type { Conversation, Workplace } from "./adapter.ts";

export type Opening =
  /** `conversation`: an earlier one, which goes on. */
  | { readonly how: "resumed"; readonly conversation: string; readonly text: string }
  | { readonly how: Exclude<Conversation["how"], "resumed">; readonly text: string };

export interface Asked {
  readonly prompt: string;
  readonly continues: boolean;
}

const CUT_OFF =
  "The process that you ran in was ended in the middle of your work, and has been started again. The files are as you left them. A command that ran at that moment may have had its effect or not: look before you repeat it. Processes in the background are gone. Go on with what you were asked to do.";

/** In a conversation that the agent has, or in a new one. */
export async function openingOf(work: Workplace, agent: string, asked: Asked): Promise<Opening> {
  const known = work.conversationOf(agent);
  const { prompt, continues } = asked;
  if (known?.isAtThisTask && work.isGoingOn)
    return { how: "resumed", conversation: known.id, text: await cutOff(work) };
  if (known && continues) return { how: "resumed", conversation: known.id, text: prompt };
  return newOpening(work, asked);
}

/** An agent may have been ended before it wrote down what it was about to do: so it is told. */
async function cutOff(work: Workplace): Promise<string> {
  const calls = await work.cutCalls();
  if (calls.length === 0) return CUT_OFF;
  const list = calls.map((call) => `- ${call}`).join("\n");
  return `${CUT_OFF}\n\nThese calls were open, whether you remember them or not:\n${list}`;
}

/** For an agent that knows nothing of the session, or has lost what it knew. */
export async function newOpening(work: Workplace, { prompt }: Asked): Promise<Opening> {
  const story = await work.story();
  if (story === undefined) return { how: "new", text: prompt };
  const asked = prompt === "" ? "Nothing yet: wait for it." : prompt;
  return { how: "primed", text: `${story}\n\n# What you are asked to do now\n\n${asked}` };
}
