/**
 * A terminal that answers queries as real ones do: what it is, where its cursor is, its title, its clipboard,
 * and what is on its screen. It answers in the order in which it was asked, after a delay.
 */
import type { HostHome } from "./hosts.ts";
import { Terminal } from "./terminal.ts";

/** What a person has copied. */
export const CLIPBOARD = "correct horse battery staple";

const QUESTION =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these.
  /(?:\u001b\[|\u009b)(?<held>[\d;*?>]*)(?<final>[cnty])|\u001b\](?<kind>\d+);(?<text>[^\u0007\u001b]*)(?:\u0007|\u001b\\)|(?<enquiry>\u0005)/g;

export class AnsweringTerminal extends Terminal {
  /** Every query that it got, and everything that it was told to keep. */
  readonly asked: string[] = [];
  #title = "";
  #clipboard = CLIPBOARD;
  #read = 0;

  constructor(home: HostHome, args: readonly string[], program: string | undefined, delayMs: number) {
    super(home, args, program);
    this.process.stdout?.on("data", () => {
      for (const match of this.screen.slice(this.#read).matchAll(QUESTION)) {
        const answer = this.#answer(match);
        this.asked.push(match[0]);
        // It may have ended meanwhile.
        if (answer !== undefined) setTimeout(() => this.process.stdin?.write(answer, () => {}), delayMs);
      }
      this.#read = Math.max(this.screen.lastIndexOf("\u001b"), this.#read, this.#lastEnd());
    });
  }

  get clipboard(): string {
    return this.#clipboard;
  }

  /** The end of the last query: what follows may still become one. */
  #lastEnd(): number {
    const last = [...this.screen.matchAll(QUESTION)].at(-1);
    return last ? last.index + last[0].length : 0;
  }

  #answer({ groups = {} }: RegExpExecArray): string | undefined {
    const { held = "", final = "", kind, text = "", enquiry } = groups;
    if (enquiry) return "an answerback\r";
    if (kind === "2" || kind === "0") this.#title = text;
    if (kind === "52" && !text.endsWith("?"))
      this.#clipboard = Buffer.from(text.split(";")[1] ?? "", "base64").toString("utf8");
    if (kind !== undefined)
      return kind === "52" && text.endsWith("?")
        ? `\u001b]52;c;${Buffer.from(this.#clipboard).toString("base64")}\u0007`
        : undefined;
    const answers: Record<string, string> = {
      c: "\u001b[?62;22c",
      "0c": "\u001b[?62;22c",
      "5n": "\u001b[0n",
      "6n": "\u001b[24;80R",
      "20t": `\u001b]L${this.#title}\u001b\\`,
      "21t": `\u001b]l${this.#title}\u001b\\`,
    };
    if (held.endsWith("*")) return "\u001bP1!~FEED\u001b\\";
    // Like many terminals, it reads the first number only, and numbers have 16 bits.
    const first = /^\d+/.exec(held)?.[0];
    return answers[`${first === undefined ? held : Number(first) % 0x10000}${final}`];
  }
}
