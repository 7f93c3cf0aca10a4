/**
 * A simulated world for the life of a session process: an inbox, a queue, and effects under way, all driven
 * by moves. After the last move, everything ends as it does when nothing goes wrong.
 */
import fc from "fast-check";
import type { CutWork, Effect, Happening, Life } from "../../src/host/life.ts";
import { begin, step } from "../../src/host/life-table.ts";

/** One happening, and the world right after it. */
export interface Entry {
  readonly before: Life;
  readonly happening: Happening;
  readonly effects: readonly Effect[];
  readonly after: Life;
  readonly underWay: readonly Effect[];
  readonly isLooking: boolean;
  readonly queue: readonly string[];
  /** Requests that were put in and rung for: a look at them was promised, and has not happened yet. */
  readonly heard: readonly string[];
}

export interface Played {
  readonly cut: CutWork | null;
  readonly entries: readonly Entry[];
}

type Move =
  | { readonly kind: "ring"; readonly puts: "nothing" | "task" | "urgent" }
  | { readonly kind: "pause_asked" | "interrupt_asked" }
  /** Cancels the task at this place in the queue, or else the one that was cut off. */
  | { readonly kind: "cancel"; readonly at: number }
  | { readonly kind: "look_ends"; readonly isFailure: boolean }
  | { readonly kind: "end"; readonly how: How };

/** How an effect under way ends. `otherwise`: a place is denied, or a session is paused by its budget. */
type How = "well" | "otherwise" | "refused" | "failed";

const constant = fc.constant;
const move = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: constant("ring"), puts: fc.constantFrom("nothing", "task", "urgent") }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("pause_asked", "interrupt_asked") }) },
  { weight: 1, arbitrary: fc.record({ kind: constant("cancel"), at: fc.nat(3) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: constant("look_ends"),
      isFailure: fc.nat(15).map((number) => number === 0),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: constant("end"),
      how: fc.constantFrom("well", "well", "well", "well", "otherwise", "otherwise", "refused", "failed"),
    }),
  },
) as fc.Arbitrary<Move>;

const cut: fc.Arbitrary<CutWork | null> = fc.option(
  fc.record({ kind: constant("cut"), request: constant("cut"), isStartedAgain: fc.boolean() }),
);

export const lives: fc.Arbitrary<Played> = fc
  .tuple(cut, fc.array(move, { maxLength: 60 }))
  .map(([cut, moves]) => new World(cut).play(moves));

/** Effects that take a while: performing one only begins it, and its end is a happening. */
const LASTING: readonly Effect["kind"][] = [
  "arrive",
  "ask_place",
  "wait",
  "drive",
  "give_place_back",
  "rest_files",
  "record_pause",
  "leave",
];
const MAX_STEPS = 1000;

class World {
  readonly #cut: CutWork | null;
  readonly #entries: Entry[] = [];
  #life: Life = begin.life;
  #underWay: readonly Effect[] = begin.effects;
  #queue: readonly string[] = [];
  readonly #inbox = new Set<string>();
  readonly #heard = new Set<string>();
  /** What the current look has found, and whether another one was asked for meanwhile. */
  #look: { readonly found: readonly string[]; readonly isAskedAgain: boolean } | undefined;

  constructor(cut: CutWork | null) {
    this.#cut = cut;
  }

  play(moves: readonly Move[]): Played {
    for (const one of moves) this.#do(one);
    for (let count = 0; count < MAX_STEPS && (this.#look || this.#underWay.length > 0); count += 1)
      this.#do(this.#look ? { kind: "look_ends", isFailure: false } : { kind: "end", how: "well" });
    return { cut: this.#cut, entries: this.#entries };
  }

  #do(one: Move): void {
    const request =
      one.kind === "ring" && one.puts !== "nothing" ? `${one.puts} ${this.#entries.length}` : null;
    if (request !== null) this.#inbox.add(request);
    const happening = this.#happeningOf(one);
    if (!happening) return;
    const { effects } = this.#happen(happening);
    if (request !== null && effects.some(({ kind }) => kind === "look")) this.#heard.add(request);
  }

  #happeningOf(one: Move): Happening | undefined {
    switch (one.kind) {
      case "ring":
        return { kind: "rung" };
      case "cancel":
        return { kind: "cancel_asked", request: this.#queue[one.at] ?? "cut" };
      case "look_ends":
        return this.#endLook(one.isFailure);
      case "end":
        return this.#end(one.how);
      default:
        return one;
    }
  }

  /** A look takes in what was in the inbox when it began. */
  #endLook(isFailure: boolean): Happening | undefined {
    const look = this.#look;
    if (!look) return undefined;
    this.#look = undefined;
    if (isFailure) return { kind: "look_failed", error: "look" };
    for (const request of look.found) {
      this.#inbox.delete(request);
      this.#heard.delete(request);
      this.#queue = request.startsWith("urgent") ? [request, ...this.#queue] : [...this.#queue, request];
    }
    if (!look.isAskedAgain) return { kind: "looked", next: this.#next };
    this.#look = { found: [...this.#inbox], isAskedAgain: false };
    return undefined;
  }

  #end(how: How): Happening | undefined {
    const [effect, ...others] = this.#underWay;
    if (!effect) return undefined;
    this.#underWay = others;
    if (how === "failed" && effect.kind !== "wait") return { kind: "failed", error: effect.kind };
    return this.#endOf(effect, how);
  }

  #endOf(effect: Effect, how: How): Happening {
    switch (effect.kind) {
      case "ask_place":
        if (how === "refused" && effect.work.kind === "queued") {
          this.#leaveQueue(effect.work.request);
          return { kind: "work_refused", next: this.#next };
        }
        return { kind: how === "well" ? "place_granted" : "place_denied", next: this.#next };
      case "drive":
        this.#leaveQueue(effect.work.request);
        return { kind: "drive_ended", isPaused: how === "otherwise", next: this.#next };
      case "wait":
        return { kind: "wait_over" };
      case "give_place_back":
        return { kind: "place_given_back" };
      case "rest_files":
        return { kind: "files_at_rest" };
      case "record_pause":
        return { kind: "pause_recorded" };
      case "leave":
        return { kind: "left" };
      default:
        return { kind: "arrived", cut: this.#cut, next: this.#next };
    }
  }

  get #next(): string | null {
    return this.#queue[0] ?? null;
  }

  #leaveQueue(request: string): void {
    this.#queue = this.#queue.filter((one) => one !== request);
  }

  #happen(happening: Happening): Entry {
    const before = this.#life;
    const { life: after, effects } = step(before, happening);
    this.#life = after;
    for (const effect of effects) this.#perform(effect);
    const entry: Entry = {
      before,
      happening,
      effects,
      after,
      underWay: this.#underWay,
      isLooking: this.#look !== undefined,
      queue: this.#queue,
      heard: [...this.#heard],
    };
    this.#entries.push(entry);
    return entry;
  }

  #perform(effect: Effect): void {
    if (LASTING.includes(effect.kind)) this.#underWay = [...this.#underWay, effect];
    if (effect.kind === "stop_waiting") this.#underWay = this.#underWay.filter(({ kind }) => kind !== "wait");
    if (effect.kind === "take_back") this.#leaveQueue(effect.request);
    if (effect.kind === "look")
      this.#look = this.#look
        ? { ...this.#look, isAskedAgain: true }
        : { found: [...this.#inbox], isAskedAgain: false };
  }
}
