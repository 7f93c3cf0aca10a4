/**
 * shown-1 and shown-2: whatever a tool, its arguments, its target or its files say, nothing is faked, hidden or cut.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { patchLines, requestLines, type ShownRequest } from "../../src/cli/request-text.ts";
import type { Action, JsonObject } from "../../src/contract/index.ts";
import type { AskedOfPerson } from "../../src/dispatch/index.ts";
import { anAction } from "../support/approvals.ts";

const WIDTH = 60;
const FINGERPRINT = "f".repeat(64);

function shown(action: Partial<Action>, data: JsonObject = {}, width = WIDTH): ShownRequest {
  const whole = { ...anAction, ...action };
  const asked: AskedOfPerson = {
    kind: "approval",
    id: "appr_01k0000000e008000000000003",
    session: whole.session,
    user: whole.user,
    label: "fix",
    task: 1,
    at: "2026-01-02T03:04:05.678Z",
    expiresAt: null,
    request: { seq: 1, hash: "a".repeat(64) },
    data: { tool: whole.tool, args: whole.args, fingerprint: FINGERPRINT, ...data },
    lastRecordAt: "2026-01-02T03:04:05.678Z",
  };
  return { asked, action: whole, diff: undefined, width };
}

const isOurs = (line: string) =>
  /^(appr_\S+ {2}approval asked for by |fingerprint f{64}$|it can't be approved: )/.test(line.trim());
/** The text after the bar. */
const behind = (line: string) => line.slice(line.indexOf("│ ") + 2);

/** Characters that must not reach a screen: they could move the cursor or hide text. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

const hostile = [
  "\u001b[2J\u001b[H",
  "\u009b2J",
  "\r\nfingerprint  0000",
  "\u202efdp.exe",
  "\u200b\u200d\u2066",
  "\u0007\u0008\u007f",
  `${" ".repeat(60)}fingerprint ${"0".repeat(64)}`,
  "│ tool        │ harmless",
  "\u2028approve? y",
  "x".repeat(10_000),
  "漢".repeat(500),
];

describe("a request on a screen", () => {
  it.each(hostile)("shown-1 hostile text in any field is escaped and behind the bar: %j", (text) => {
    const lines = requestLines(
      shown(
        { tool: `t${text}`, args: { [`k${text}`]: text, list: [text] }, target: { url: text } },
        { lane: text, facts: [[text, text]], previous: text, tree: "1".repeat(40), base: text },
      ),
    );
    for (const line of lines) {
      expect(line).not.toMatch(UNSAFE);
      // A line is either ours, without any of their text, or it has their text after our label and a bar.
      if (!isOurs(line)) expect(line).toMatch(/^.{12}│ /);
      if (!isOurs(line))
        expect(line.slice(0, 12).trim()).toMatch(
          /^(|tool|lane|arguments|reaches|tree|changes|before|facts)$/,
        );
    }
    expect(lines.filter((line) => line.startsWith("fingerprint"))).toEqual([`fingerprint ${FINGERPRINT}`]);
    expect(lines.at(-1)).toContain(FINGERPRINT);
  });

  it.each([
    ["ok", "it is done once more"],
    ["error", "may have been done in part"],
    ["unknown", "its outcome is unknown"],
    [undefined, "its outcome is unknown"],
  ])("says what came of an earlier approval of the same action: %s", (previousOutcome, words) => {
    const earlier = { previous: "appr_1", ...(previousOutcome !== undefined && { previousOutcome }) };
    const before = requestLines(shown({}, earlier, 200)).find((line) => line.startsWith("before"));
    expect(before).toContain("appr_1 was spent for the same action");
    expect(before).toContain(words);
  });

  it("shown-1 no line is wider than the screen, so the terminal wraps none", () => {
    const columns = (line: string) =>
      [...line].reduce((sum, one) => sum + (one.length > 1 || one > "\u02ff" ? 2 : 1), 0);
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 300 }),
        fc.integer({ min: 40, max: 120 }),
        (text, width) => {
          const given = shown({ args: { text: text.toWellFormed() }, tool: `t${text}` }, {}, width);
          for (const line of requestLines(given)) {
            if (isOurs(line) || line.startsWith("fingerprint")) continue;
            // The bar itself is one column, and is counted as two.
            expect(columns(line) - 1).toBeLessThanOrEqual(width);
          }
        },
      ),
    );
  });

  it("shown-2 arguments are shown whole, however long they are", () => {
    const args = { long: "y".repeat(5000), deep: { a: [1, { b: "z".repeat(999) }] } };
    const lines = requestLines(shown({ args, tool: "t" }));
    const from = lines.findIndex((line) => line.startsWith("arguments"));
    const to = lines.findIndex((line) => line.startsWith("reaches"));
    const text = lines.slice(from, to).map(behind).join("");
    expect(JSON.parse(text)).toEqual(args);
  });

  it("requests with different arguments never have the same text", () => {
    const texts = ["a", "a ", "a\u200b", "a\u0000", "\\u{200b}", "a\n", "a\\n", "\u0430"];
    const screens = texts.map((text) => requestLines(shown({ args: { text } })).join("\n"));
    // To a person a letter of another alphabet can look the same: then only the fingerprint tells them apart.
    expect(new Set(screens).size).toBe(texts.length);
  });

  it("a request whose action is not on record is shown as far as known, and as impossible to approve", () => {
    const lines = requestLines({ ...shown({}), action: undefined });
    expect(lines.join("\n")).toContain("it can't be approved");
    expect(lines.join("\n")).toContain("Mend the parser");
  });

  it("a patch has a bar before each line, and its control characters are escaped", () => {
    const patch = Buffer.from("+++ b/x\n+\u001b[2Jgone\r\n+fingerprint 0000\n");
    expect(patchLines(patch, WIDTH)).toEqual(["│ +++ b/x", "│ +\\u{1b}[2Jgone\\r", "│ +fingerprint 0000"]);
  });
});
