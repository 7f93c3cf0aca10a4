/**
 * Owns what of a program's output reaches a person's terminal: all of it, without what the rules do not let through.
 * Nothing of a sequence is passed on before it is known whole, or, of a string, by its beginning; so there is nothing
 * that a terminal could read otherwise. Bounded: of a sequence that is longer, nothing is let through.
 *
 * Controls in one sign of eight bits (C1) are taken out, in whichever way they are encoded, and so are bytes that are no
 * character: terminals differ in what they make of them.
 */
import {
  isStatusQuestion,
  type Rule,
  ruleOfControl,
  ruleOfDeviceString,
  ruleOfEscape,
  ruleOfTitle,
} from "./terminal-rules.ts";
import { Utf8Sign } from "./utf8-sign.ts";

type Place = "text" | "escape" | "control" | "title" | "device" | "dropped";

const [ENQ, BEL, ESC, BACKSLASH, DEL] = [0x05, 0x07, 0x1b, 0x5c, 0x7f];
const CANCELS: readonly number[] = [0x18, 0x1a];
const OPENS: Readonly<Record<string, Place>> = {
  "[": "control",
  "]": "title",
  P: "device",
  // The name of a window of screen's, or tmux's.
  k: "dropped",
  X: "dropped",
  "^": "dropped",
  _: "dropped",
};
const MAX_HELD = 256;
/** So much of a string tells what it is. */
const MAX_BEGINNING = 64;

export class TerminalFilter {
  readonly #mayAsk: boolean;
  readonly #sign = new Utf8Sign();
  #place: Place = "text";
  #held = "";
  /** A string is let through, as it comes. */
  #isPassing = false;
  /** How often the terminal was asked for something, or told to say something, and how often for its status. */
  #asked = 0;
  #statusAsked = 0;
  #hasColours = false;

  /** `mayAsk`: otherwise no question is let through. */
  constructor({ mayAsk = true }: { readonly mayAsk?: boolean } = {}) {
    this.#mayAsk = mayAsk;
  }

  get asked(): number {
    return this.#asked;
  }

  /** Whether a colour was changed that stays so behind the program. */
  get hasColours(): boolean {
    return this.#hasColours;
  }

  get statusAsked(): number {
    return this.#statusAsked;
  }

  pass(bytes: Buffer): Buffer {
    const shown: number[] = [];
    for (const byte of bytes) this.#take(byte, shown);
    return Buffer.from(shown);
  }

  #take(byte: number, shown: number[]): void {
    if (byte === ENQ || byte === DEL) return;
    if (byte === ESC) this.#begin(byte, shown);
    else if (CANCELS.includes(byte)) this.#cancel(byte, shown);
    else if (this.#place === "text") this.#sign.take(byte, shown);
    else if (this.#place === "escape" || this.#place === "control") this.#hold(byte, shown);
    else this.#takeString(byte, shown);
  }

  /** Whatever was begun is over. A string that is let through has its end, also where it was cut off. */
  #begin(byte: number, shown: number[]): void {
    this.#endString(shown);
    if (this.#isPassing) shown.push(ESC, BACKSLASH);
    this.#go("escape");
    this.#held = String.fromCharCode(byte);
  }

  #cancel(byte: number, shown: number[]): void {
    if (this.#isPassing) shown.push(byte);
    this.#go("text");
  }

  #hold(byte: number, shown: number[]): void {
    // Obeyed as if it stood before the sequence.
    if (byte < 0x20) shown.push(byte);
    else if (byte > DEL) this.#go("text");
    else this.#holdSign(String.fromCharCode(byte), shown);
  }

  #holdSign(sign: string, shown: number[]): void {
    const isEscape = this.#place === "escape";
    const opened = isEscape && this.#held.length === 1 ? OPENS[sign] : undefined;
    if (opened !== undefined) {
      this.#place = opened;
      this.#held = opened === "control" ? `${this.#held}${sign}` : "";
      return;
    }
    const isFinal = isEscape ? sign >= "0" : sign >= "@";
    if (!isFinal) this.#held = `${this.#held}${sign}`.slice(0, MAX_HELD);
    else this.#end(sign, shown);
  }

  #end(final: string, shown: number[]): void {
    const isEscape = this.#place === "escape";
    const held = this.#held.slice(isEscape ? 1 : 2);
    const rule = isEscape ? ruleOfEscape(held, final) : ruleOfControl(held, final);
    if (this.#held.length < MAX_HELD && this.#lets(rule)) {
      shown.push(...Buffer.from(this.#held + final, "latin1"));
      if (!isEscape && isStatusQuestion(held, final)) this.#statusAsked += 1;
    }
    this.#go("text");
  }

  #takeString(byte: number, shown: number[]): void {
    if (byte === BEL && this.#place === "title") {
      this.#endString(shown);
      if (this.#isPassing) shown.push(BEL);
      this.#go("text");
    } else if (byte >= 0x20 && this.#isPassing) this.#sign.take(byte, shown);
    else if (byte >= 0x20 && this.#place !== "dropped") {
      this.#held += String.fromCharCode(byte);
      if (this.#held.length >= MAX_BEGINNING) this.#decide(shown);
    }
  }

  /** One that was too short to be judged by its beginning is judged by all of it. */
  #endString(shown: number[]): void {
    if ((this.#place === "title" || this.#place === "device") && !this.#isPassing) this.#decide(shown);
  }

  #decide(shown: number[]): void {
    const isTitle = this.#place === "title";
    const beginning = this.#held;
    this.#held = "";
    if (!this.#lets(isTitle ? ruleOfTitle(beginning, MAX_BEGINNING) : ruleOfDeviceString(beginning))) {
      this.#place = "dropped";
      return;
    }
    this.#isPassing = true;
    shown.push(ESC, (isTitle ? "]" : "P").charCodeAt(0));
    for (const byte of Buffer.from(beginning, "latin1")) this.#sign.take(byte, shown);
  }

  #lets({ isLetThrough, isQuestion, isTold, isColour }: Rule): boolean {
    if (!isLetThrough || (isQuestion && !this.#mayAsk)) return false;
    if (isQuestion || isTold) this.#asked += 1;
    if (isColour) this.#hasColours = true;
    return true;
  }

  #go(place: Place): void {
    this.#place = place;
    this.#held = "";
    this.#isPassing = false;
    this.#sign.cut();
  }
}
