/**
 * Owns the questions that an agent asks a person: they are recorded when they are asked, and waited for while
 * the agent works. A question that is not answered in time stays open; its answer comes as a message.
 */
import { HoldfastError, type JournalRecord } from "../contract/index.ts";
import type { Session } from "../session/index.ts";
import { type Clock, deadline, News } from "../util/index.ts";

export interface QuestionsPlace {
  readonly session: Session;
  readonly clock: Clock;
  readonly newId: (prefix: string) => string;
  readonly holdMs: number;
  waits(text: string): void;
}

/** More than a person would read. */
const MAX_DUE = 20;

export class Questions {
  readonly #place: QuestionsPlace;
  readonly #waiting = new Map<string, News>();
  readonly #answers = new Map<string, string>();
  /** By their text. */
  readonly #due = new Map<string, string>();

  constructor(place: QuestionsPlace) {
    this.#place = place;
    place.session.observe((records) => {
      for (const record of records) this.#note(record);
    });
  }

  /** Undefined: it was not answered while it was waited for. */
  async ask(text: string, gone: AbortSignal): Promise<string | undefined> {
    const { session, clock, newId, holdMs, waits } = this.#place;
    const known = this.#due.get(text);
    const isDue = known !== undefined && Object.hasOwn(session.state.pending, known);
    if (!isDue && Object.keys(session.state.pending).length >= MAX_DUE)
      throw new HoldfastError(
        "arguments_invalid",
        `${MAX_DUE} requests wait for a person already: no question can be added`,
      );
    // The same question again waits for the same answer.
    const question = isDue ? known : newId("q");
    this.#due.set(text, question);
    const news = new News();
    this.#waiting.set(question, news);
    gone.addEventListener("abort", news.tell, { once: true });
    try {
      if (!isDue) {
        await session.append("question_asked", { question, text });
        waits(`the agent asks: holdfast answer ${question} TEXT`);
      }
      const patience = deadline(clock, holdMs);
      while (!this.#answers.has(question) && !patience.isPast && !gone.aborted)
        await news.next(patience.leftMs);
      return this.#answers.get(question);
    } finally {
      gone.removeEventListener("abort", news.tell);
      this.#waiting.delete(question);
      this.#answers.delete(question);
    }
  }

  #note({ type, data }: JournalRecord): void {
    if (type !== "question_answered") return;
    const question = String(data["question"]);
    const news = this.#waiting.get(question);
    if (!news) {
      this.#tellAgent(question, String(data["text"]));
      return;
    }
    this.#answers.set(question, String(data["text"]));
    news.tell();
  }

  #tellAgent(question: string, text: string): void {
    const { session, newId } = this.#place;
    const message = { message: newId("msg"), from: "holdfast", text: `The answer to ${question}: ${text}` };
    session.append("message_received", message).catch(() => {});
  }
}
