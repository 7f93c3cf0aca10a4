/**
 * Owns the questions that an agent asks a person: they are recorded when they are asked, and waited for while
 * the agent works. A question that is not answered in time stays open. Its answer comes as a message, or when
 * the agent asks the same question again, also in a later process.
 */
import { HoldfastError, type JournalRecord } from "../contract/index.ts";
import { withoutSecrets } from "../redaction/index.ts";
import { readRecords, type Session, textIn } from "../session/index.ts";
import { type Clock, deadline, isPlainObject, News } from "../util/index.ts";

export interface QuestionsPlace {
  readonly session: Session;
  readonly sessionDir: string;
  /** The task whose agent asks. */
  readonly task: number;
  readonly clock: Clock;
  readonly newId: (prefix: string) => string;
  readonly holdMs: number;
  waits(text: string): void;
}

export interface Asked {
  readonly question: string;
  /** Undefined: it was not answered while it was waited for. */
  readonly answer: string | undefined;
}

/** More than a person would read. */
const MAX_DUE = 20;

export class Questions {
  readonly #place: QuestionsPlace;
  readonly #unobserve: () => void;
  readonly #waiting = new Map<string, Set<News>>();
  /** One at a time, so that the same question is asked once. */
  #asking: Promise<unknown> = Promise.resolve();

  constructor(place: QuestionsPlace) {
    this.#place = place;
    this.#unobserve = place.session.observe((records) => {
      for (const record of records) this.#note(record);
    });
  }

  /** The agent has ended. */
  close(): void {
    this.#unobserve();
  }

  /** Whether a call waits for the answer. */
  isAwaited(question: string): boolean {
    return this.#waiting.has(question);
  }

  async ask(text: string, gone: AbortSignal): Promise<Asked> {
    const { session, clock, holdMs } = this.#place;
    const finding = this.#asking.then(() => this.#find(text));
    this.#asking = finding.catch(() => {});
    const question = await finding;
    const news = new News();
    const waiting = this.#waiting.get(question) ?? new Set();
    this.#waiting.set(question, waiting.add(news));
    gone.addEventListener("abort", news.tell, { once: true });
    try {
      const patience = deadline(clock, holdMs);
      const isPending = () => Object.hasOwn(session.state.pending, question);
      while (isPending() && !patience.isPast && !gone.aborted) await news.next(patience.leftMs);
      if (isPending()) return { question, answer: undefined };
      return { question, answer: (await this.#asked()).get(question)?.answer };
    } finally {
      gone.removeEventListener("abort", news.tell);
      waiting.delete(news);
      if (waiting.size === 0) this.#waiting.delete(question);
    }
  }

  /** The same question again waits for the same answer, or gets the one that no call has got yet. */
  async #find(text: string): Promise<string> {
    const { session, task, newId, waits } = this.#place;
    const recorded = await withoutSecrets(session.redact, text);
    const asked = [...(await this.#asked())].filter(([, one]) => one.text === recorded && !one.isOver);
    const { pending } = session.state;
    const known = asked.findLast(([id, { answer }]) => answer !== undefined || Object.hasOwn(pending, id));
    if (known) return known[0];
    if (Object.keys(pending).length >= MAX_DUE)
      throw new HoldfastError(
        "arguments_invalid",
        `${MAX_DUE} requests wait for a person already: no question can be added`,
      );
    const question = newId("q");
    await session.append("question_asked", { question, text, task });
    waits(`the agent asks: holdfast answer ${question} TEXT`);
    return question;
  }

  async #asked(): Promise<ReadonlyMap<string, AskedQuestion>> {
    const { sessionDir, task } = this.#place;
    return askedIn(sessionDir, task);
  }

  #note({ type, data }: JournalRecord): void {
    if (type !== "question_answered") return;
    for (const news of this.#waiting.get(textIn(data["question"])) ?? []) news.tell();
  }
}

interface AskedQuestion {
  readonly text: string;
  answer: string | undefined;
  /** The agent has got its answer. */
  isOver: boolean;
}

/** The questions of a task, oldest first. */
async function askedIn(sessionDir: string, task: number): Promise<Map<string, AskedQuestion>> {
  const asked = new Map<string, AskedQuestion>();
  /** The question that a message is about. */
  const told = new Map<string, string>();
  const end = (question: unknown) => {
    const one = asked.get(textIn(question));
    if (one) one.isOver = true;
  };
  for await (const { type, data } of readRecords(sessionDir)) {
    const { question, message, facts } = data;
    const one = asked.get(textIn(question));
    if (type === "question_asked" && data["task"] === task)
      asked.set(textIn(question), { text: textIn(data["text"]), answer: undefined, isOver: false });
    else if (type === "question_answered" && one) one.answer = textIn(data["text"]);
    else if (type === "message_received") told.set(textIn(message), textIn(data["about"]));
    else if (type === "message_entered_context") end(told.get(textIn(message)));
    else if (type === "tool_returned" && isPlainObject(facts) && facts["is_answered"] === true)
      end(facts["question"]);
  }
  return asked;
}
