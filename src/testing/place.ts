/**
 * Owns where a conversation is in its script, and how calls are named so that this can be found again. Pure:
 * it depends on the conversation alone, so an agent that was killed, resumed, forked or started twice just
 * goes on.
 *
 * A step counts as given if one of its calls, or its whole text if it has no calls, is in the conversation.
 * So a call is never made twice, and a text that was cut off is sent again.
 */
import type { Item } from "./api/api.ts";
import { intentsOf, type Script, type Scripts, type Step } from "./script.ts";

/** Begins the text that stands for a call that could not be made. */
export const NO_TOOL = "NO-TOOL";

export interface Place {
  readonly name: string;
  /** The user's text that chose the script. */
  readonly chosenBy: string;
  /**
   * How many texts of this conversation have chosen a script: ids stay different when a script begins again.
   */
  readonly run: number;
  /** The number of the step that is due; the number of steps when the script is over. */
  readonly step: number;
}

/** A script is chosen by the last `[[name]]` in a user's text; a name that no script has is no marker. */
export function placeOf(items: readonly Item[], scripts: Scripts): Place | undefined {
  const choices = items.flatMap((item, at) => {
    const name = item.kind === "user" && markerIn(item.text, scripts);
    return name ? [{ name, at, chosenBy: item.text }] : [];
  });
  const choice = choices.at(-1);
  if (!choice) return undefined;
  const { name, at, chosenBy } = choice;
  return { name, chosenBy, run: choices.length, step: stepAfter(items.slice(at + 1), scripts[name] ?? []) };
}

export function callId({ run, step }: Pick<Place, "run" | "step">, index: number): string {
  return `scripted_${run}_${step}_${index}`;
}

function markerIn(text: string, scripts: Scripts): string | undefined {
  const names = [...text.matchAll(/\[\[([^[\]]+)\]\]/g)].map(([, name = ""]) => name);
  return names.findLast((name) => Object.hasOwn(scripts, name));
}

function stepAfter(items: readonly Item[], script: Script): number {
  let step = 0;
  let isGiven = false;
  for (const item of items) {
    const called = item.kind === "call" ? stepIn(item.id) : undefined;
    if (called !== undefined) {
      step = Math.max(step, called + 1);
      isGiven = false;
    } else if (item.kind === "user" || item.kind === "result") {
      if (isGiven) step += 1;
      isGiven = false;
    } else {
      isGiven ||= isOf(item, script[step]);
    }
  }
  return isGiven ? step + 1 : step;
}

/** Undefined for an id that is not ours: Gemini's calls may have none, and agents may make their own. */
function stepIn(id: string | undefined): number | undefined {
  const number = /scripted_\d+_(\d+)_\d+/.exec(id ?? "")?.[1];
  return number === undefined ? undefined : Number(number);
}

function isOf(item: Item, step: Step | undefined): boolean {
  if (step === undefined) return false;
  const hasCalls = intentsOf(step).length > 0;
  if (!("text" in item)) return hasCalls;
  return item.text.includes(hasCalls ? NO_TOOL : (step.say ?? "").trim());
}
