/**
 * Owns which modes a program has switched on in a terminal, read from its output: mouse, bracketed paste, the
 * alternate screen, keyboard protocols and the like. Pure, and bounded: of a sequence that is cut off it
 * keeps a few bytes, of a long string none. It knows nothing of what is drawn.
 *
 * `on` brings a usual terminal into these modes, `off` brings it back. Both name only what the program has
 * changed, so a terminal is never sent what it was not sent before.
 */

const ESC = 0x1b;
const BEL = 0x07;
const CANCELS: readonly number[] = [0x18, 0x1a];
const MAX_HELD = 64;
const MAX_STACK = 16;

/** Mode → the letter that sets it to its usual state. `?` marks the private modes of DEC. */
const USUAL: Readonly<Record<string, "h" | "l">> = {
  "4": "l",
  "12": "h",
  "20": "l",
  "?1": "l",
  "?5": "l",
  "?6": "l",
  "?7": "h",
  "?9": "l",
  "?25": "h",
  "?66": "l",
  "?69": "l",
  "?1000": "l",
  "?1001": "l",
  "?1002": "l",
  "?1003": "l",
  "?1004": "l",
  "?1005": "l",
  "?1006": "l",
  "?1007": "l",
  "?1015": "l",
  "?1016": "l",
  "?2004": "l",
  "?2026": "l",
  "?2031": "l",
  "?2048": "l",
  "?9001": "l",
};
const SCREENS: readonly string[] = ["?47", "?1047", "?1049"];
/** What a soft reset (DECSTR) resets. */
const SOFT: readonly string[] = ["4", "?1", "?6", "?7", "?25", "?66"];
const PASTE = "?2004";

interface Modes {
  /** The modes that are not in their usual state. */
  readonly changed: ReadonlySet<string>;
  /** The mode that led to the alternate screen, or none. */
  readonly screen: string;
  /**
   * Flags of kitty's keyboard protocol, a stack for each screen; the first entry is what was there before any
   * push.
   */
  readonly keyboards: { readonly main: readonly number[]; readonly other: readonly number[] };
  readonly otherKeys: string;
  readonly region: string;
  readonly cursor: string;
}

const usual: Modes = {
  changed: new Set(),
  screen: "",
  keyboards: { main: [0], other: [0] },
  otherKeys: "",
  region: "",
  cursor: "",
};

type Place = "text" | "escape" | "control" | "title" | "string";

const OPENS: Readonly<Record<string, Place>> = {
  "[": "control",
  "]": "title",
  P: "string",
  X: "string",
  "^": "string",
  _: "string",
};

export class TerminalModes {
  #modes = usual;
  #place: Place = "text";
  #held = "";

  copy(): TerminalModes {
    const copy = new TerminalModes();
    copy.#modes = this.#modes;
    copy.#place = this.#place;
    copy.#held = this.#held;
    return copy;
  }

  get isInSequence(): boolean {
    return this.#place !== "text";
  }

  get isPasteBracketed(): boolean {
    return this.#modes.changed.has(PASTE);
  }

  take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at += this.takeSequence(bytes.subarray(at)) || bytes.length;
  }

  /**
   * Takes what comes before the end of the next sequence; returns how much that was. 0: it does not end here.
   */
  takeSequence(bytes: Buffer): number {
    const begin = this.#place === "text" ? bytes.indexOf(ESC) : 0;
    if (begin < 0) return 0;
    for (let at = begin; at < bytes.length; at += 1) {
      this.#step(bytes[at] ?? 0);
      if (this.#place === "text") return at + 1;
    }
    return 0;
  }

  #step(byte: number): void {
    if (byte === ESC) this.#go("escape");
    else if (CANCELS.includes(byte)) this.#go("text");
    else if (byte === BEL && this.#place === "title") this.#go("text");
    else if (this.#place === "title" || this.#place === "string") return;
    // Obeyed as if it came before the sequence.
    else if (byte < 0x20 || byte === 0x7f) return;
    else if (byte > 0x7f) this.#go("text");
    else this.#read(String.fromCharCode(byte));
  }

  #read(sign: string): void {
    const isEscape = this.#place === "escape";
    const opened = isEscape && this.#held === "" ? OPENS[sign] : undefined;
    if (opened) {
      this.#go(opened);
      return;
    }
    const isFinal = isEscape ? sign >= "0" : sign >= "@";
    if (!isFinal) this.#held = `${this.#held}${sign}`.slice(0, MAX_HELD);
    // A sequence that was cut off is none that is known.
    else if (this.#held.length < MAX_HELD) this.#apply(isEscape, this.#held, sign);
    if (isFinal) this.#go("text");
  }

  #go(place: Place): void {
    this.#place = place;
    this.#held = "";
  }

  #apply(isEscape: boolean, held: string, final: string): void {
    if (isEscape) {
      if (held === "" && final === "c") this.#modes = usual;
      else if (held === "" && (final === "=" || final === ">"))
        this.#switch("?66", final === "=" ? "h" : "l");
      return;
    }
    const is = (prefix: string, letter: string) => final === letter && held.startsWith(prefix);
    if (final === "h" || final === "l") {
      const prefix = held.startsWith("?") ? "?" : "";
      for (const number of held.slice(prefix.length).split(";")) this.#switch(prefix + number, final);
    } else if (final === "u") this.#setKeyboard(held);
    else if (is(">4", "m") && /^>4(;\d*)?$/.test(held)) {
      const value = held.slice(3);
      this.#change({ otherKeys: /^0*$/.test(value) ? "" : value });
    } else if (final === "r" && /^[\d;]*$/.test(held)) this.#change({ region: held });
    else if (final === "q" && /^\d* $/.test(held)) this.#change({ cursor: /^0* $/.test(held) ? "" : held });
    else if (final === "p" && held === "!") {
      const changed = [...this.#modes.changed].filter((mode) => !SOFT.includes(mode));
      this.#change({ changed: new Set(changed), region: "" });
    }
  }

  #switch(mode: string, letter: "h" | "l"): void {
    if (SCREENS.includes(mode)) this.#turnTo(letter === "h" ? mode : "");
    if (!Object.hasOwn(USUAL, mode)) return;
    const changed = new Set(this.#modes.changed);
    // Of several mouse modes, the last one counts.
    changed.delete(mode);
    if (letter !== USUAL[mode]) changed.add(mode);
    this.#change({ changed });
  }

  /** What was pushed on the alternate screen is gone with it. */
  #turnTo(screen: string): void {
    const { main, other } = this.#modes.keyboards;
    this.#change({ screen, keyboards: { main, other: screen === "" ? [0] : other } });
  }

  #setKeyboard(held: string): void {
    const [first = 0, second] = held.slice(1).split(";").map(Number);
    if (!/^[<>=][\d;]*$/.test(held)) return;
    const which = this.#modes.screen === "" ? "main" : "other";
    const stack = this.#modes.keyboards[which];
    const top = stack.at(-1) ?? 0;
    const set = second === 2 ? top | first : second === 3 ? top & ~first : first;
    const left = stack.slice(0, Math.max(0, stack.length - Math.max(1, first)));
    const next = {
      "<": left.length > 0 ? left : [0],
      ">": [...stack, first].slice(0, MAX_STACK),
      "=": [...stack.slice(0, -1), set],
    }[held[0] as "<" | ">" | "="];
    this.#change({ keyboards: { ...this.#modes.keyboards, [which]: next } });
  }

  #change(change: Partial<Modes>): void {
    this.#modes = { ...this.#modes, ...change };
  }

  /** For a terminal in its usual state. */
  on(): string {
    const { changed, screen, keyboards, otherKeys, region, cursor } = this.#modes;
    const keyboard = ([base = 0, ...pushed]: readonly number[]) =>
      `${base ? `\u001b[=${base}u` : ""}${pushed.map((flags) => `\u001b[>${flags}u`).join("")}`;
    return [
      keyboard(keyboards.main),
      screen && `\u001b[${screen}h`,
      screen && keyboard(keyboards.other),
      otherKeys && `\u001b[>4;${otherKeys}m`,
      region && `\u001b[${region}r`,
      cursor && `\u001b[${cursor}q`,
      ...[...changed].map((mode) => `\u001b[${mode}${USUAL[mode] === "h" ? "l" : "h"}`),
    ].join("");
  }

  /** For the terminal that has shown all this. Letters and colours are always reset. */
  off(): string {
    const { changed, screen, keyboards, otherKeys, region, cursor } = this.#modes;
    const keyboard = ([base = 0, ...pushed]: readonly number[]) =>
      `${pushed.length > 0 ? `\u001b[<${pushed.length}u` : ""}${base ? "\u001b[=0u" : ""}`;
    return [
      // A sequence that was cut off is ended first.
      this.isInSequence && "\u001b\\",
      ...[...changed].map((mode) => `\u001b[${mode}${USUAL[mode]}`),
      screen && keyboard(keyboards.other),
      screen && `\u001b[${screen}l`,
      keyboard(keyboards.main),
      otherKeys && "\u001b[>4m",
      // This sequence moves the cursor, so its position is saved and restored.
      region && "\u001b7\u001b[r\u001b8",
      cursor && "\u001b[0 q",
      "\u001b(B\u000f\u001b[0m",
    ]
      .filter(Boolean)
      .join("");
  }
}
