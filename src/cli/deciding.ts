/**
 * Owns what happens when a person at the command line decides about a request: they see all of it, and then
 * their decision is carried out. The operator's key is used here, after the person has named the fingerprint.
 */
import { type Action, HoldfastError, isHoldfastError } from "../contract/index.ts";
import {
  type AskedOfPerson,
  approvedAction,
  assertShowable,
  type DecisionMade,
  type Dispatcher,
  diffFor,
} from "../dispatch/index.ts";
import type { ShownDiff } from "../task/index.ts";
import { printable } from "../util/index.ts";
import { patchLines, requestLines, type ShownRequest } from "./request-text.ts";
import { note, say, widthOf } from "./screen.ts";

/** How many characters of a fingerprint a person types at a terminal. */
export const TYPED_LENGTH = 6;
/** A script names more characters, because no person has looked at the request. */
const GIVEN_LENGTH = 8;

/** Undefined if its files are gone, or it has none. */
async function shownDiff({ home }: Dispatcher, asked: AskedOfPerson): Promise<ShownDiff | undefined> {
  try {
    return await diffFor(home, asked);
  } catch (error) {
    if (isHoldfastError(error)) return undefined;
    throw error;
  }
}

/** Everything that a person is shown of a request. `on`: where it is printed. */
export async function shownOf(
  dispatcher: Dispatcher,
  asked: AskedOfPerson,
  on: NodeJS.WriteStream = process.stdout,
): Promise<ShownRequest> {
  const diff = asked.kind === "approval" ? await shownDiff(dispatcher, asked) : undefined;
  return { asked, action: actionOr(dispatcher, asked), diff, width: widthOf(on) };
}

function actionOr({ home }: Dispatcher, asked: AskedOfPerson): Action | undefined {
  try {
    return asked.kind === "approval" ? approvedAction(home, asked) : undefined;
  } catch (error) {
    if (isHoldfastError(error, "grant_invalid")) return undefined;
    throw error;
  }
}

/** Throws `grant_invalid` if the action, or the files that it is based on, can't be shown whole. */
export function assertShown({ home }: Dispatcher, { asked, diff }: ShownRequest): Action {
  const action = approvedAction(home, asked);
  if (action.tree !== (asked.data["tree"] ?? null))
    throw new HoldfastError(
      "grant_invalid",
      `${asked.id} can't be approved: its action names another tree than its record`,
    );
  if (action.tree !== null) assertShowable(asked, diff);
  return action;
}

/** Prints the patch first, so that the request is directly above the question. */
export function tellWhole(shown: ShownRequest, write: (line: string) => void = say): void {
  const { diff, width } = shown;
  if (diff && !diff.isTooLarge) for (const line of patchLines(diff.patch, width)) write(line);
  for (const line of requestLines(shown)) write(line);
}

/** Whether this many characters from a script name this fingerprint. */
export function isGiven(given: string, fingerprint: string): boolean {
  return given.length >= GIVEN_LENGTH && fingerprint.startsWith(given.toLowerCase());
}

/** Whether the characters that a person typed name this fingerprint. */
export function isTyped(typed: string, fingerprint: string): boolean {
  const text = typed.trim().toLowerCase();
  return text.length >= TYPED_LENGTH && fingerprint.startsWith(text);
}

/** Tells the person what follows from the decision. */
export function tellMade({ label }: AskedOfPerson, { process: started }: DecisionMade): void {
  if (started === "in line") note(`${label} is waiting for a free place: holdfast show ${label} says why`);
  else if (started === "started" || started === "there") note(`${label} continues`);
}

/** The end of each question: what it is about, once more, because what is printed above it can be long. */
export function aboutText({ data }: AskedOfPerson): string {
  return `${printable(JSON.stringify(String(data["tool"])))}, fingerprint ${String(data["fingerprint"])}`;
}
