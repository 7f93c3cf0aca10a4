/**
 * Owns the holding back of model requests: what keeps one from going, and how long that is waited for with the agent's
 * processes alive. After that the task is parked.
 *
 * The time belongs to what is waited for, not to the request: an agent's client may give up earlier, and ask again. It
 * runs on from the first request that waited, until one passes.
 */
import type { Budget, Parked } from "../contract/index.ts";
import { reachedLimits, type Session } from "../session/index.ts";
import { type Clock, type Deadline, deadline, News } from "../util/index.ts";

/** What requests wait for: the limits of the budget, the price of a model, or the key of a provider. */
type Need = "limits" | "price" | `key of ${string}`;

export interface Held {
  readonly need: Need;
  readonly why: Parked;
}

/** Undefined: it may go. */
export type WhyHeld = () => Promise<Held | undefined> | Held | undefined;

export interface Passing {
  readonly provider: string;
  /** The budget is not asked for it. */
  readonly isFree?: boolean;
}

interface HoldOptions {
  readonly clock: Clock;
  readonly holdMs: number;
  /** Called once for what is waited for, and not for each request. */
  onHeld(why: Parked): void;
}

export class ModelHold {
  /** Ends following the session's records. */
  readonly close: () => void;
  readonly #options: HoldOptions;
  readonly #waiting = new Set<News>();
  readonly #patience = new Map<Need, Deadline>();
  #held: Parked | undefined;

  constructor(session: Session, options: HoldOptions) {
    this.#options = options;
    // A budget that is raised is a record.
    this.close = session.observe(() => this.tell());
  }

  /** Why the last request did not go, if none has passed since. */
  get held(): Parked | undefined {
    return this.#held;
  }

  /** Something may have changed. */
  tell(): void {
    for (const news of this.#waiting) news.tell();
  }

  /** Resolves when it may go, to undefined; or to what still keeps it when that was waited for long enough. */
  async pass(
    { provider, isFree = false }: Passing,
    whyHeld: WhyHeld,
    gone: AbortSignal,
  ): Promise<Parked | undefined> {
    const news = new News();
    this.#waiting.add(news);
    gone.addEventListener("abort", news.tell, { once: true });
    try {
      for (;;) {
        const held = await whyHeld();
        if (!held) {
          if (!gone.aborted) this.#passed(provider, isFree);
          return undefined;
        }
        const patience = this.#patienceFor(held);
        if (patience.isPast || gone.aborted) return held.why;
        // A key is brought to the broker, and not to us: so we look, too.
        await news.next(Math.min(LOOK_MS, patience.leftMs));
      }
    } finally {
      gone.removeEventListener("abort", news.tell);
      this.#waiting.delete(news);
    }
  }

  #patienceFor({ need, why }: Held): Deadline {
    const { clock, holdMs, onHeld } = this.#options;
    this.#held = why;
    const known = this.#patience.get(need);
    if (known) return known;
    const patience = deadline(clock, holdMs);
    this.#patience.set(need, patience);
    onHeld(why);
    return patience;
  }

  /** It shows nothing about the prices of other models; and one that costs nothing, nothing about the budget. */
  #passed(provider: string, isFree: boolean): void {
    this.#patience.delete(keyOf(provider));
    if (isFree && this.#held?.reason !== "key") return;
    this.#held = undefined;
    if (!isFree) this.#patience.delete("limits");
  }
}

export const keyOf = (provider: string) => `key of ${provider}` as const;

const LOOK_MS = 2000;

/** `isCounted`: whether money can be counted for the model that is asked for. */
export function whyHeldByBudget(session: Session, model: string, isCounted: boolean): Held | undefined {
  const { budget } = session.state;
  const limits = reachedLimits({ budget, spent: session.spentSoFar });
  if (limits.length > 0)
    return {
      need: "limits",
      why: { reason: "budget", detail: `the budget is reached: ${limits.join(", ")}` },
    };
  if (isCounted) return undefined;
  const why = `no price is known for ${model}, so its budget of ${usd(budget)} can't be kept`;
  return {
    need: "price",
    why: { reason: "price", detail: `${why}: add the model to prices in settings.yaml` },
  };
}

const usd = ({ usd }: Budget) => `${usd ?? 0} USD`;
