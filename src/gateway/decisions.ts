/**
 * Owns what people have decided about requests of a task: which are pending, and which are granted and not
 * used. It also owns the wait for a decision. It follows the session's records.
 */
import type { JournalRecord } from "../contract/index.ts";
import { deadline, News } from "../util/index.ts";
import type { GatePlace } from "./place.ts";

export type Decision =
  | { readonly kind: "granted" | "undecided" }
  | { readonly kind: "denied"; readonly reason: string };

export class Decisions {
  readonly #place: GatePlace;
  readonly #waiting = new Map<string, Set<News>>();
  readonly #denials = new Map<string, string>();
  readonly #unobserve: () => void;
  #lastRecordMs = 0;

  constructor(place: GatePlace) {
    this.#place = place;
    this.#unobserve = place.session.observe((records) => {
      for (const record of records) this.#note(record);
    });
  }

  /** Its task's agent has ended. */
  close(): void {
    this.#unobserve();
  }

  /** Whether a call waits for the decision. */
  isAwaited(approval: string): boolean {
    return this.#waiting.has(approval);
  }

  /** Never earlier than the session's last record, so that setting the clock back extends no grant. */
  get nowMs(): number {
    return Math.max(this.#place.home.io.clock.nowMs(), this.#lastRecordMs, Date.parse(this.#updatedAt) || 0);
  }

  /** The approval that permits this action now, if there is one. */
  grantFor(fingerprint: string): string | undefined {
    const now = new Date(this.nowMs).toISOString();
    const { grants } = this.#place.session.state;
    return Object.entries(grants).find(
      ([, grant]) =>
        grant.fingerprint === fingerprint &&
        grant.task === this.#place.task.number &&
        !grant.hasBegun &&
        grant.expiresAt > now,
    )?.[0];
  }

  /** The pending request for it. */
  requestFor(fingerprint: string): string | undefined {
    const { pending } = this.#place.session.state;
    return Object.entries(pending).find(
      ([, one]) =>
        one.kind === "approval" && one.fingerprint === fingerprint && one.task === this.#place.task.number,
    )?.[0];
  }

  /** Waits at most as long as a call is held. */
  async wait(approval: string, gone: AbortSignal): Promise<Decision> {
    const patience = deadline(this.#place.home.io.clock, this.#place.holdMs);
    const news = new News();
    const waiting = this.#waiting.get(approval) ?? new Set();
    this.#waiting.set(approval, waiting.add(news));
    gone.addEventListener("abort", news.tell, { once: true });
    try {
      for (;;) {
        const decision = this.#decisionOn(approval);
        if (decision.kind !== "undecided" || patience.isPast || gone.aborted) return decision;
        await news.next(patience.leftMs);
      }
    } finally {
      gone.removeEventListener("abort", news.tell);
      waiting.delete(news);
      if (waiting.size === 0) this.#waiting.delete(approval);
    }
  }

  #decisionOn(approval: string): Decision {
    const { pending, grants } = this.#place.session.state;
    if (Object.hasOwn(grants, approval)) return { kind: "granted" };
    if (Object.hasOwn(pending, approval)) return { kind: "undecided" };
    return { kind: "denied", reason: this.#denials.get(approval) ?? "" };
  }

  #note({ type, data, at }: JournalRecord): void {
    this.#lastRecordMs = Date.parse(at) || 0;
    const approval = String(data["approval"] ?? "");
    if (type === "approval_denied") this.#denials.set(approval, String(data["reason"] ?? ""));
    if (type !== "approval_granted" && type !== "approval_denied" && type !== "approval_expired") return;
    for (const news of this.#waiting.get(approval) ?? []) news.tell();
  }

  get #updatedAt(): string {
    return this.#place.session.state.updatedAt;
  }
}
