/**
 * Owns the holding back of model requests: what keeps one from going, and how long that is waited for with the agent's
 * processes alive. After that the task is parked.
 */
import type { Budget, Parked } from "../contract/index.ts";
import { reachedLimits, type Session } from "../session/index.ts";
import { type Clock, deadline, News } from "../util/index.ts";

/** Undefined: it may go. */
export type WhyHeld = () => Promise<Parked | undefined> | Parked | undefined;

export class ModelHold {
  readonly #clock: Clock;
  readonly #holdMs: number;
  readonly #waiting = new Set<News>();
  readonly #onHeld: (why: Parked) => void;

  constructor(
    session: Session,
    options: { readonly clock: Clock; readonly holdMs: number; onHeld(why: Parked): void },
  ) {
    this.#clock = options.clock;
    this.#holdMs = options.holdMs;
    this.#onHeld = options.onHeld;
    // A budget that is raised is a record.
    session.observe(() => this.tell());
  }

  /** Something may have changed. */
  tell(): void {
    for (const news of this.#waiting) news.tell();
  }

  /** Resolves when it may go, to undefined; or to what still keeps it when it was held for long enough. */
  async pass(why: WhyHeld, gone: AbortSignal): Promise<Parked | undefined> {
    let held = await why();
    if (!held) return undefined;
    this.#onHeld(held);
    const news = new News();
    const patience = deadline(this.#clock, this.#holdMs);
    this.#waiting.add(news);
    gone.addEventListener("abort", news.tell, { once: true });
    try {
      while (held && !patience.isPast && !gone.aborted) {
        // A key is brought to the broker, and not to us: so we look, too.
        await news.next(Math.min(LOOK_MS, patience.leftMs));
        held = await why();
      }
      return held;
    } finally {
      gone.removeEventListener("abort", news.tell);
      this.#waiting.delete(news);
    }
  }
}

const LOOK_MS = 2000;

/** `isCounted`: whether money can be counted for the model that is asked for. */
export function whyHeldByBudget(session: Session, model: string, isCounted: boolean): Parked | undefined {
  const { budget } = session.state;
  const limits = reachedLimits({ budget, spent: session.spentSoFar });
  if (limits.length > 0) return { reason: "budget", detail: `the budget is reached: ${limits.join(", ")}` };
  if (isCounted) return undefined;
  return {
    reason: "budget",
    detail: `no price is known for ${model}, so its budget of ${usd(budget)} can't be kept`,
  };
}

const usd = ({ usd }: Budget) => `${usd ?? 0} USD`;
