/**
 * Owns the questions about requests on the terminal of a person who watches a task. An approval is given by
 * the first characters of its fingerprint, a denial by "no" and a reason, an answer as it is typed. An empty
 * line leaves the request waiting. No output of the task is shown between a question and its answer.
 */
import { type AskedOfPerson, type DecisionMade, type Dispatcher, Requests } from "../dispatch/index.ts";
import { grantTo } from "../operator/index.ts";
import { printable } from "../util/index.ts";
import { canAsk } from "./ask.ts";
import { aboutText, assertShown, isTyped, shownOf, TYPED_LENGTH, tellWhole } from "./deciding.ts";
import type { AskedAbout } from "./host-questions.ts";
import { alert, note } from "./screen.ts";
import type { TypedLines } from "./typed-lines.ts";

/** Undefined: it still waits. */
type Made = DecisionMade | undefined;

function left(why: string): undefined {
  note(why);
}

export class RequestQuestions {
  readonly #dispatcher: Dispatcher;
  readonly #requests: Requests;
  readonly #about: AskedAbout;
  readonly #typed: TypedLines;
  /** Those that the person was asked about, by their ids. */
  readonly #asked = new Set<string>();

  constructor(dispatcher: Dispatcher, about: AskedAbout, typed: TypedLines) {
    this.#dispatcher = dispatcher;
    this.#requests = new Requests(dispatcher);
    this.#about = about;
    this.#typed = typed;
  }

  /** Asks about what waits already. True if that lets a parked task go on. */
  async askWaiting(away: AbortSignal): Promise<boolean> {
    if (!canAsk()) return false;
    let goesOn = false;
    for (const { id } of await this.#all()) goesOn = (await this.ask(id, away)) || goesOn;
    return goesOn;
  }

  /**
   * Returns when the request is answered, left waiting, or settled elsewhere. A failure is reported, and
   * leaves it waiting. A request is asked about once. True if its task was parked for it and now goes on.
   */
  async ask(id: string, away: AbortSignal): Promise<boolean> {
    if (!canAsk() || away.aborted || this.#asked.has(id)) return false;
    const asked = await this.#find(id);
    if (!asked) return false;
    this.#asked.add(id);
    const over = new AbortController();
    alert(`holdfast: ${aboutText(asked)}`);
    try {
      const settled = this.#settled(id, over.signal);
      const ask = asked.kind === "approval" ? this.#askApproval : this.#askAnswer;
      const made = await ask.call(this, asked, away, settled);
      return (made?.process ?? null) !== null;
    } catch (error) {
      note(error instanceof Error ? printable(error.message) : String(error));
      return false;
    } finally {
      over.abort();
    }
  }

  async #askApproval(asked: AskedOfPerson, away: AbortSignal, settled: Promise<void>): Promise<Made> {
    const shown = await shownOf(this.#dispatcher, asked, process.stderr);
    tellWhole(shown, note);
    assertShown(this.#dispatcher, shown);
    const { id, session, user } = asked;
    const question = `Approve ${aboutText(asked)}?\nType the first ${TYPED_LENGTH} characters of the fingerprint to approve it once, "no REASON" to deny it, or press Enter to decide later: `;
    const typed = (await this.#typed.ask(question, away, settled))?.trim();
    if (typed === undefined || typed === "") return left(`${id} is still waiting: holdfast approve ${id}`);
    const denied = /^no?\b[\s:,]*(.*)$/i.exec(typed);
    if (denied) return this.#requests.deny(session, id, denied[1] ?? "", { user });
    if (isTyped(typed, String(asked.data["fingerprint"]))) return grantTo(this.#dispatcher, asked);
    return left(
      `That does not match the fingerprint; ${id} is still waiting. Try again: holdfast approve ${id}`,
    );
  }

  async #askAnswer(asked: AskedOfPerson, away: AbortSignal, settled: Promise<void>): Promise<Made> {
    tellWhole(await shownOf(this.#dispatcher, asked, process.stderr), note);
    const { id, session, user } = asked;
    const typed = await this.#typed.ask("Your answer (press Enter to answer later): ", away, settled);
    if (typed === undefined || typed.trim() === "")
      return left(`${id} is still waiting: holdfast answer ${id} TEXT`);
    return this.#requests.answer(session, id, typed.trim(), { user });
  }

  async #find(id: string): Promise<AskedOfPerson | undefined> {
    return (await this.#all()).find((one) => one.id === id);
  }

  #all(): Promise<AskedOfPerson[]> {
    const { session, user } = this.#about;
    return this.#requests.of(session, user === undefined ? {} : { user });
  }

  /** Resolves when the request no longer waits: it was decided elsewhere, or its task is over. */
  async #settled(id: string, stop: AbortSignal): Promise<void> {
    const { session, user } = this.#about;
    const ears = await this.#dispatcher.listen(session, user === undefined ? {} : { user });
    try {
      while (!stop.aborted) {
        if (!(await this.#find(id))) return;
        await ears.next();
      }
    } finally {
      ears.close();
    }
  }
}
