/**
 * Which part of a program's output reaches a person's terminal. test/sandbox/escapes-terminal.test.ts checks
 * that real terminals are kept from answering.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Replay } from "../../src/host/replay.ts";
import { TerminalFilter } from "../../src/host/terminal-filter.ts";

const ESC = "\u001b";
const ST = `${ESC}\\`;
const passed = (text: string, encoding: BufferEncoding = "utf8") =>
  new TerminalFilter().pass(Buffer.from(text, encoding)).toString(encoding);

/** What the screens of real agents and editors are made of. */
const SHOWN: readonly string[] = [
  "plain text\r\n\ttabs \u0007",
  "ä ß 漢字 🙂 \u00a0",
  ...["[1;38;5;200m", "[2J", "[10;20H", "[?1049h", "[?25l", "[?2004h", "[>1u", "[<1u", "[=1;1u", "[!p"],
  ...["7", "8", "(B", "(0", "=", ">", "c", "M", "#8"],
  // Questions whose answers are numbers.
  ...["[c", "[>c", "[=c", "[6n", "[5n", "[?6n", "[?u", "[?2026$p", "[>q", "[14t", "[18t", "[?1;1;0S"],
].map((one) => (/^[ !-~]{1,12}$/.test(one) && !one.includes(" ") ? ESC + one : one));

const SHOWN_STRINGS: readonly string[] = [
  ...["]0;a title", "]2;a title with words", "]8;;https://example.org/", "]8;;", "]10;?", "]11;?", "]4;1;?"],
  ...["]9;4;1;50", "]9;it is done", "]777;notify;a;b", "]104", "]110", "]22;pointer", "]133;A"],
  ...["Pq#0;2;0;0;0#0~~@@vv", "P+q544e", "P$qm", "P$q q"],
].map((one) => `${ESC}${one}${ST}`);

const DROPPED: readonly string[] = [
  ...["[20t", "[21t", "[021t", "[21;1t", "[>2;0t", "[1;1;1;1;1;1*y", "[4;1y", "[5i", "[?5i", "[1*z"],
  ...["[?46h", "[?1;46h", "[?046h", "[?38h", "Z", "%@", "%G", " F", " G", "!m"],
  // Numbers that some terminals cut to 16 or 32 bits.
  ...["[65557t", "[4294967317t", "[22;65557t", "[?65582h", "[?4294967342h", "[?46:1h"],
  // Answers in 8-bit controls, attributes of what is on the screen, another console, a locked keyboard.
  ...['[62;0"p', '[64"p', "[1;1;9;9#|", "[12;2]", "[2h", "[4;2h"],
  // It is not known whether one answer comes, or several, or none.
  ...["[5;5n", "[5:1n", "[;5n", "[?5;6n"],
].map((one) => ESC + one);

const DROPPED_STRINGS: readonly string[] = [
  ...["]52;c;?", "]52;c;ZXZpbA==", "]052;c;?", "]5522;type=read", "]1337;ReportVariable=x", "]50;?", "]51;E"],
  ...[
    "]1337;File=name=eA==:eA==",
    "]7;file:///",
    "]3;a=b",
    "]99;a=report;x",
    "]9;6;macro",
    "]46;file",
    "]Pabc",
  ],
  "kthe name of a window",
  ...["P0;1|17/414243", "Ptmux;x", "P1000p", "P$q~~~", "P+p544e", "_Gi=1,a=q", "^private", "Xstring"],
].map((one) => `${ESC}${one}${ST}`);

const FORBIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these.
  /[\u0005\u0080-\u009f]|\u001b\]0*52|\u001b\[0*2[01](?:;\d*)*t/;

describe("the filter of a terminal", () => {
  it.each([...SHOWN, ...SHOWN_STRINGS])("lets %j through", (text) => {
    const shown = passed(`a${text}b`);
    expect(shown).toBe(`a${text}b`);
  });

  it.each([...DROPPED, ...DROPPED_STRINGS])("window-1 drops %j, even within another sequence", (text) => {
    expect(passed(`a${text}b`)).toBe("ab");
    // In the middle of another sequence, after one that it cuts off, and after a long one.
    expect(passed(`a${ESC}[1;${text}b`)).toBe("ab");
    expect(passed(`a${ESC}]2;x${text}b`)).toBe(`a${ESC}]2;x${ST}b`);
    expect(passed(`a${ESC}]2;${"x".repeat(999)}${text}b`)).toBe(`a${ESC}]2;${"x".repeat(999)}${ST}b`);
  });

  it.each(["\u0005", "\u009b21t", "\u009d52;c;?", "\u0090", "\u009f"])(
    "window-1 removes a control character, alone and in a string: %j",
    (text) => {
      const [first = ""] = text;
      expect(passed(`a${text}b`)).toBe(`a${text.slice(1)}b`);
      expect(passed(`${ESC}]2;a${text}b${ST}`)).not.toContain(first);
      expect(passed(`${ESC}[${first}21t`)).not.toContain(ESC);
    },
  );

  it.each([
    "\x9b21t",
    "\xe0\x82\x9b21t",
    "\xf0\x80\x82\x9b21t",
    "\xc0\x9b[21t",
    "\xc2",
    "\xff\x9b",
    "\xe2\x9b",
  ])("window-1 removes bytes that are not a character: %j", (bytes) => {
    expect(passed(`a${bytes}b`, "latin1")).toMatch(/^a[ -~]*b$/);
  });

  it.each(["[?4m", "[?1g", "[#R", "[&u", '["v', "['|", "[1$u", "]22;?__current__", "[5n", "]4;0;?;1;?"])(
    "window-2 counts a question, and drops it where it may not be asked again: %j",
    (question) => {
      const text = `${ESC}${question}${question.startsWith("]") ? ST : ""}`;
      const filter = new TerminalFilter();
      expect(filter.pass(Buffer.from(text)).toString()).toBe(text);
      expect(filter.asked).toBe(1);
      expect(new TerminalFilter({ mayAsk: false }).pass(Buffer.from(text)).length).toBe(0);
    },
  );

  it.each(["[?1004h", "[?2048h", "[?1;2031h", "[?1003h", "[?9001h", "[1'v", "[?5W"])(
    "window-2 counts what may make a terminal send something, and shows it to each window: %j",
    (text) => {
      const filter = new TerminalFilter({ mayAsk: false });
      expect(filter.pass(Buffer.from(ESC + text)).toString()).toBe(ESC + text);
      expect(filter.asked).toBe(1);
    },
  );

  it("window-2 does not count drawing, so that nothing is waited for", () => {
    const drawn = [
      "[1;38;5;200m",
      "[38:2::1:2:3m",
      "[2J",
      "[?2J",
      "[10;20H",
      "[?1049h",
      "[?25l",
      "[>1u",
      "[u",
    ];
    drawn.push(
      "[<1u",
      "[=1;1u",
      "[!p",
      "[2 q",
      "[1;5r",
      "[>4;2m",
      "[22;0t",
      "[3g",
      "[2@",
      "[5X",
      "[?1006h",
      "7",
    );
    for (const one of drawn) {
      const filter = new TerminalFilter();
      expect(filter.pass(Buffer.from(ESC + one)).toString()).toBe(ESC + one);
      expect([one, filter.asked]).toEqual([one, 0]);
    }
  });

  it("knows whether a program has changed colours that outlive it", () => {
    const hasColours = (text: string) => {
      const filter = new TerminalFilter();
      filter.pass(Buffer.from(text));
      return filter.hasColours;
    };
    for (const one of ["]11;#000000", "]4;1;red", `]4;${"1;red;".repeat(20)}`, "]4;1;?;2;red"])
      expect([one, hasColours(`${ESC}${one}${ST}`)]).toEqual([one, true]);
    for (const one of ["]11;?", "]2;11;red", "]104"])
      expect([one, hasColours(`${ESC}${one}${ST}`)]).toEqual([one, false]);
  });

  it("shows nothing of a sequence that is too long, and goes on after its end", () => {
    const filter = new TerminalFilter();
    expect(filter.pass(Buffer.from(`${ESC}[${"1;".repeat(100_000)}`)).length).toBe(0);
    expect(filter.pass(Buffer.from("m")).length).toBe(0);
    expect(filter.pass(Buffer.from("text")).toString()).toBe("text");
  });

  it("gives the same output however the input is cut, and a second pass removes nothing more", () => {
    const piece = fc.oneof(
      fc.constantFrom(...SHOWN, ...SHOWN_STRINGS, ...DROPPED, ...DROPPED_STRINGS),
      fc.constantFrom(ESC, "[", "]", "P", ";", "2", "\\", "\u0007", "\u0018", "\u009b", "ü", "t"),
      fc.string({ maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), fc.array(fc.nat(200)), (pieces, cuts) => {
        const bytes = Buffer.from(pieces.join(""));
        const whole = new TerminalFilter().pass(bytes);
        const filter = new TerminalFilter();
        const places = [0, ...cuts.filter((at) => at <= bytes.length).sort((a, b) => a - b), bytes.length];
        const parts = places.slice(1).map((end, index) => filter.pass(bytes.subarray(places[index], end)));
        expect(Buffer.concat(parts).equals(whole)).toBe(true);
        expect(new TerminalFilter().pass(whole).equals(whole)).toBe(true);
        expect(whole.toString()).not.toMatch(FORBIDDEN);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a window that comes later", () => {
  it("is shown everything but the questions that an earlier window was asked", () => {
    const replay = new Replay();
    replay.add(Buffer.from(`one${ESC}[c${ESC}[6n${ESC}]11;?${ST}${ESC}]11;#000000${ST}${ESC}[1mtwo`));
    expect(replay.bytes().toString()).toContain(`${ESC}[6n`);
    expect(replay.bytes().toString()).toBe(`one${ESC}]11;#000000${ST}${ESC}[1mtwo`);
  });
});
