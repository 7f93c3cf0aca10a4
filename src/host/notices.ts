/**
 * Owns telling a person who is not looking that a session waits for them, or is done. The user's own command
 * is started for that (`notify` in settings.yaml), once for several notices at the same time. No notice is
 * sent while a terminal shows the session. Only the end of the session process waits for the command, for a
 * moment.
 *
 * notice-1 Text that an agent wrote never becomes a word of a shell: it fills words of the user's command,
 *          and is printable.
 * notice-2 No notice is lost: those that come within a few seconds are sent as one, including the end of a
 *          task.
 */
import type { JournalRecord, JsonObject } from "../contract/index.ts";
import { baseEnvironment, runProgram, userHome } from "../process/index.ts";
import type { Session } from "../session/index.ts";
import { type Clock, deadline, News, printable } from "../util/index.ts";

export interface NoticesPlace {
  readonly session: Session;
  readonly clock: Clock;
  /** From the user's settings as they are then; undefined: no command is set. */
  command(): Promise<readonly string[] | undefined>;
  /** Whether a person sees it anyway. */
  isWatched(): boolean;
  /** The command failed; reported once. */
  onFailure(why: string): void;
}

/** Notices that come within this time after another one are sent together. */
const QUIET_MS = 5000;
const TIMEOUT_MS = 10_000;
const MAX_TEXT = 300;

export class Notices {
  readonly #place: NoticesPlace;
  readonly #news = new News();
  /** What is to be told, the oldest first. */
  #due: string[] = [];
  #telling: Promise<void> | undefined;
  #isEnding = false;
  #hasFailed = false;

  constructor(place: NoticesPlace) {
    this.#place = place;
    place.session.observe((records) => {
      for (const record of records) this.#note(record);
    });
  }

  /** Sends the notices that are left. None follow. */
  async done(): Promise<void> {
    this.#isEnding = true;
    this.#news.tell();
    await this.#telling;
  }

  #note({ type, data }: JournalRecord): void {
    const text = textOf(type, data);
    if (text === undefined || this.#place.isWatched()) return;
    this.#due.push(text);
    this.#telling ??= this.#tellAll();
  }

  /** notice-2: the first at once, and what comes within a while after it together. */
  async #tellAll(): Promise<void> {
    while (this.#due.length > 0) {
      await this.#tell(togetherText(this.#due.splice(0))).catch(() => {});
      const quiet = deadline(this.#place.clock, QUIET_MS);
      while (!this.#isEnding && !quiet.isPast) await this.#news.next(quiet.leftMs);
    }
    this.#telling = undefined;
  }

  async #tell(text: string): Promise<void> {
    const words = await this.#place.command();
    if (!words) return;
    const { id, name } = this.#place.session.state;
    // notice-1
    const values = {
      session: name ?? id,
      title: `holdfast: ${name ?? id}`,
      text: printable(text).slice(0, MAX_TEXT),
    };
    const argv = words.map((word) =>
      word.replace(/\$\{(session|title|text)\}/g, (_, key: keyof typeof values) => values[key]),
    );
    const env = baseEnvironment({ HOME: userHome() });
    const why = await runProgram(argv, { cwd: "/", env, timeoutMs: TIMEOUT_MS }).then(
      ({ exitCode }) => (exitCode === 0 ? undefined : `it ended with status ${exitCode}`),
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    if (why === undefined || this.#hasFailed) return;
    this.#hasFailed = true;
    this.#place.onFailure(`notify in settings.yaml failed: ${why}`);
  }
}

/** Newest first, because the newest counts most if there is no room for all of them. */
const togetherText = (texts: readonly string[]) => texts.toReversed().join(" · ");

/** Undefined: that is nothing to be told of. */
function textOf(type: string, data: JsonObject): string | undefined {
  if (type === "approval_requested")
    return `${data["tool"]} waits for you: holdfast approve ${data["approval"]}`;
  if (type === "question_asked") return `asks you: holdfast answer ${data["question"]}`;
  if (type === "task_ended") return `task ${data["task"]}: ${data["outcome"]}`;
  return undefined;
}
