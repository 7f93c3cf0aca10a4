/**
 * The modes that a program left on in a terminal, compared with a naive reading of its whole output at once.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Replay } from "../../src/host/replay.ts";
import { TerminalModes } from "../../src/host/terminal-modes.ts";

const SEQUENCE =
  // A string with its end or with what cuts it off; a control sequence; another escape. Controls that are
  // obeyed at once may come in the middle of each.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these.
  /\x1b[\x00-\x17\x19\x1c-\x1f\x7f]*(?:\](?<title>[^\x07\x18\x1a\x1b]*)(?:[\x07\x18\x1a]|(?=\x1b)|$)|[PX^_](?<string>[^\x18\x1a\x1b]*)(?:[\x18\x1a]|(?=\x1b)|$)|\[(?<held>[\x00-\x17\x19\x1c-\x3f\x7f]*)(?<final>[@-~])|(?<escape>[\x00-\x17\x19\x1c-\x2f\x7f]*[0-Z\\`-~]))/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these.
const OBEYED_AT_ONCE = /[\x00-\x1f\x7f]/g;
const OFF =
  "4 20 ?1 ?5 ?6 ?9 ?66 ?69 ?1000 ?1001 ?1002 ?1003 ?1004 ?1005 ?1006 ?1007 ?1015 ?1016 ?2004 ?2026 ?2031 ?2048 ?9001";
const ON = "12 ?7 ?25";

/** Resets the character set and the colours. */
const USUAL_TEXT = "\u001b(B\u000f\u001b[0m";

/** A terminal as a table of modes, which reads the whole text at once. */
function terminalAfter(text: string) {
  const fresh = () => ({
    ...Object.fromEntries(OFF.split(" ").map((mode) => [mode, false])),
    ...Object.fromEntries(ON.split(" ").map((mode) => [mode, true])),
    other: false,
    keyboard: [[0], [0]] as number[][],
    keys: "",
    region: "",
    cursor: "",
  });
  let state: Record<string, unknown> & ReturnType<typeof fresh> = fresh();
  for (const { groups = {} } of text.matchAll(SEQUENCE)) {
    const held = groups["held"]?.replace(OBEYED_AT_ONCE, "");
    const other = groups["escape"]?.replace(OBEYED_AT_ONCE, "");
    const { final } = groups;
    if (other === "c") state = fresh();
    if (other === "=" || other === ">") state["?66"] = other === "=";
    if (held === undefined || held.length >= 64) continue;
    if (final === "h" || final === "l")
      for (const number of held.replace("?", "").split(";")) {
        const mode = held.startsWith("?") ? `?${number}` : number;
        if (["?47", "?1047", "?1049"].includes(mode)) {
          state.other = final === "h";
          if (final === "l") state.keyboard[1] = [0];
        } else if (mode in state && /\d/.test(mode)) state[mode] = final === "h";
      }
    const stack = state.keyboard[state.other ? 1 : 0] ?? [];
    const [a = 0, b = 1] = held.slice(1).split(";").map(Number);
    if (final === "u" && /^>[\d;]*$/.test(held) && stack.length < 16) stack.push(a);
    if (final === "u" && /^<[\d;]*$/.test(held)) {
      for (let n = Math.max(a, 1); n > 0 && stack.length > 0; n -= 1) stack.pop();
      if (stack.length === 0) stack.push(0);
    }
    if (final === "u" && /^=[\d;]*$/.test(held)) {
      const top = stack.pop() ?? 0;
      stack.push(b === 2 ? top | a : b === 3 ? top & ~a : a);
    }
    if (final === "m" && /^>4(;\d*)?$/.test(held)) state.keys = held.slice(3).replace(/^0*$/, "");
    if (final === "r" && /^[\d;]*$/.test(held)) state.region = held;
    if (final === "q" && /^\d* $/.test(held)) state.cursor = held.trim().replace(/^0*$/, "");
    if (final === "p" && held === "!")
      Object.assign(state, {
        "4": false,
        "?1": false,
        "?6": false,
        "?7": true,
        "?25": true,
        "?66": false,
        region: "",
      });
  }
  return state;
}

const number = fc.constantFrom(
  ..."0 1 2 3 4 7 25 47 1000 1003 1006 1047 1049 2004 2026 99999 3:1".split(" "),
);
const piece = fc.oneof(
  fc
    .tuple(fc.constantFrom(...`${OFF} ${ON} ?47 ?1049`.split(" ")), fc.constantFrom("h", "l"))
    .map(([mode, letter]) => `\u001b[${mode}${letter}`),
  fc.constantFrom(
    "text",
    "é",
    "\r\n",
    "\u0007",
    "\u0018",
    "\u001b",
    "\u001b[",
    "\u001b\\",
    "[?1049h",
    ";",
    "\u007f",
  ),
  fc.constantFrom(
    "\u001bc",
    "\u001b=",
    "\u001b>",
    "\u001b[!p",
    "\u001b(B",
    "\u001b7",
    "\u001b[31m",
    "\u001b[?1049$p",
  ),
  fc
    .tuple(
      fc.constantFrom("", "?", ">", "<", "=", ">4;", "?\n"),
      fc.array(number, { maxLength: 3 }),
      fc.constantFrom("h", "l", "u", "m", "r", " q", "p"),
    )
    .map(([prefix, numbers, final]) => `\u001b[${prefix}${numbers.join(";")}${final}`),
  fc.constantFrom(
    "\u001b]0;a \u001b[?1000",
    "\u001b]0;title\u0007",
    "\u001bPq#0\u001b\\",
    "\u001b_Gdata\u001b\\",
  ),
  fc.constantFrom(`\u001b[?${"1;".repeat(40)}1000h`, "\u001b[>1u".repeat(17), "\u001b[?\u007f1004h"),
);
const text = fc.array(piece, { maxLength: 30, size: "max" }).map((pieces) => pieces.join(""));

/** Reads the bytes in pieces, cut anywhere, even within a character. */
function read(bytes: Buffer, cuts: readonly number[]): TerminalModes {
  const modes = new TerminalModes();
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (const [index, from] of at.entries()) modes.take(bytes.subarray(from, at[index + 1] ?? bytes.length));
  return modes;
}

describe("the modes of a terminal", () => {
  it("agree with a naive reading of the whole output, however it is cut into pieces", () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(500)), (shown, cuts) => {
        const modes = read(Buffer.from(shown), cuts);
        expect(terminalAfter(modes.on())).toEqual(terminalAfter(shown));
        expect(terminalAfter(shown + modes.off())).toEqual(terminalAfter(""));
      }),
      { numRuns: 2000 },
    );
  });

  it("are switched on and off only if they were changed", () => {
    expect(new TerminalModes().on()).toBe("");
    expect(new TerminalModes().off()).toBe(USUAL_TEXT);
    const modes = read(Buffer.from("\u001b[?1049h\u001b[?1000;1006h\u001b[>1u\u001b[?25l\u001b[2 q"), []);
    expect(modes.on()).toBe("\u001b[?1049h\u001b[>1u\u001b[2 q\u001b[?1000h\u001b[?1006h\u001b[?25l");
    expect(modes.off()).toBe(
      `\u001b[?1000l\u001b[?1006l\u001b[?25h\u001b[<1u\u001b[?1049l\u001b[0 q${USUAL_TEXT}`,
    );
  });

  it("are known after any amount of output, and a replay begins with them and not inside a sequence", () => {
    const replay = new Replay();
    const line = Buffer.from("\u001b[38;5;123m0123456789\u001b[0m\r\n");
    replay.add(Buffer.from("\u001b[?1049h\u001b[?1003h\u001b[?2004h"));
    for (let n = 0; n < 5000; n += 1) replay.add(line);
    const shown = replay.bytes().toString("latin1");
    expect(shown.length).toBeLessThan(70_000);
    const modes = "\u001b[?1049h\u001b[?1003h\u001b[?2004h";
    expect(shown.startsWith(modes)).toBe(true);
    expect("\u001b0123456789\r\n").toContain(shown[modes.length]);
    expect(terminalAfter(shown)).toMatchObject({ other: true, "?1003": true, "?2004": true });
    expect(replay.modes().isPasteBracketed).toBe(true);
    // A string that never ends shows nothing.
    replay.add(Buffer.from(`\u001b]52;c;${"a".repeat(200_000)}`));
    expect(replay.bytes().toString("latin1")).not.toContain("aaa");
    replay.add(Buffer.from("\u0007\u001b[?1049l\u001b[?2004lseen"));
    expect(replay.bytes().toString("latin1")).toMatch(/seen$/);
    expect(replay.modes().isPasteBracketed).toBe(false);
    expect(replay.modes().off()).toBe(`\u001b[?1003l${USUAL_TEXT}`);
  });
});
