/**
 * Owns what the scripted model answers to a request. Pure: it follows from the request and the scripts alone.
 */
import type { Answer, Asked, Usage } from "./api/api.ts";
import { bind, kindOf } from "./bind/bind.ts";
import { sampleOf } from "./bind/schema.ts";
import { callId, NO_TOOL, type Place, placeOf } from "./place.ts";
import { intentsOf, type Scripts, type Step, usageOfStep } from "./script.ts";

/** The step of a script that is due for a request. */
export interface Due {
  readonly place: Place;
  readonly step: Step;
}

/** Undefined for a conversation that has not chosen a script, or whose script is over. */
export function dueIn(asked: Asked, scripts: Scripts): Due | undefined {
  const place = placeOf(asked.items, scripts);
  const step = place && scripts[place.name]?.[place.step];
  return place && step && { place, step };
}

export function stepAnswer({ place, step }: Due, asked: Asked): Answer {
  const bound = intentsOf(step).map((intent) => ({ intent, call: bind(intent, asked) }));
  const missing = bound.filter(({ call }) => !call).map(({ intent }) => `${NO_TOOL} ${kindOf(intent)}`);
  return {
    text: [step.say ?? "", ...missing].filter(Boolean).join("\n"),
    calls: bound.flatMap(({ call }, index) => (call ? [{ id: callId(place, index), ...call }] : [])),
    usage: usageOfStep(step),
  };
}

/** `ANSWER-n`, where n is one more than the last one in the request. */
export function plainAnswer(body: string): Answer {
  const numbers = [...body.matchAll(/ANSWER-(\d+)/g)].map(([, number]) => Number(number));
  return { text: `ANSWER-${Math.max(0, ...numbers) + 1}`, calls: [], usage: usageOfStep({}) };
}

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/**
 * For a request without tools, which is no turn of the conversation: an agent may want a title for it. It
 * costs nothing, so that the usage of a session is what its script names, whatever else its agent asks.
 */
export function sideAnswer({ form }: Asked): Answer {
  return { text: form ? JSON.stringify(sampleOf(form)) : "A title", calls: [], usage: NOTHING };
}
