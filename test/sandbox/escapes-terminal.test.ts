/**
 * An agent attacks the terminal of a person who watches: its output makes the terminal answer, and the answer
 * is typed as input. Each control is the same program in the same terminal without Holdfast.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AnsweringTerminal, CLIPBOARD } from "../support/answering.ts";
import { hasSandbox } from "../support/capsules.ts";
import { cliPath } from "../support/cli.ts";
import { HostHome, until } from "../support/hosts.ts";
import { hasScript } from "../support/terminal.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const asks = (text: string) => `stty raw -echo; printf '${text}'`;
/** Shows on the screen, in hex, what the terminal sent to the program. */
const HEARS = `timeout --foreground 20 perl -e '$/ = "22c"; print scalar <STDIN>' >heard; echo; echo "HEARD:$(od -An -tx1 heard | tr -d ' \\n'):"; rm heard`;

/** What the program heard from the terminal, in a window or without one. */
async function heard(script: string, isInWindow: boolean) {
  using home = new HostHome({ "agent.sh": script });
  const args = isInWindow ? ["run", "-i", ...wall, "--", "sh", "agent.sh"] : ["agent.sh"];
  await using terminal = new AnsweringTerminal(home, args, isInWindow ? undefined : "sh", 20);
  await terminal.shows(/HEARD:[0-9a-f]*:/);
  const hex = /HEARD:([0-9a-f]*):/.exec(terminal.screen)?.[1] ?? "";
  return { text: Buffer.from(hex, "hex").toString("latin1"), clipboard: terminal.clipboard };
}

/** What the late answers of a slow terminal type into the program that runs next. */
async function typedNext(script: string, isInWindow: boolean): Promise<string> {
  using home = new HostHome({ "agent.sh": script });
  const first = isInWindow
    ? `${process.execPath} ${cliPath} run -i ${wall.join(" ")} -- sh agent.sh`
    : "sh agent.sh";
  const file = join(home.dir, "..", "typed");
  const next = `${first}; stty raw -echo; timeout --foreground 2 cat >${file}; echo; echo NEXT OVER`;
  await using terminal = new AnsweringTerminal(home, ["-c", next], "sh", 200);
  await terminal.shows("NEXT OVER");
  expect(terminal.asked).not.toEqual([]);
  return readFileSync(file, "latin1");
}

const SECRET = Buffer.from(CLIPBOARD).toString("base64");
const TITLE = "rm -rf ~";
const questions: Record<string, readonly [asked: string, answer: string]> = {
  "its title, which the agent chose": [`\\033]2;${TITLE}\\007\\033[21t`, TITLE],
  "its title, by a number in another spelling": [
    `\\033]0;${TITLE}\\007\\033[0021t\\033[21;1t\\033[21t`,
    TITLE,
  ],
  "its title, by a number that overflows": [`\\033]0;${TITLE}\\007\\033[65557t`, TITLE],
  "the name of its icon": [`\\033]0;${TITLE}\\007\\033[20t`, TITLE],
  "its title, with an 8-bit control character": [`\\033]2;${TITLE}\\007\\033%%@\\302\\23321t`, TITLE],
  "the clipboard": ["\\033]52;c;?\\007", SECRET],
  "the clipboard, in two pieces": ["\\033]5' ; sleep 0.3; printf '2;c;?\\033\\\\", SECRET],
  "its answerback": ["\\005", "answerback"],
  "what is on its screen": ["\\033[1;1;1;1;1;1*y", "FEED"],
};

describe.skipIf(!hasScript)("the terminal of a person", () => {
  it.each(Object.entries(questions))("window-1 is not asked for %s", async (_, [asked, answer]) => {
    // The last question is one that programs need answered, so a window answers it too.
    const script = `${asks(`${asked}\\033[c`)}; ${HEARS}`;
    const [direct, inWindow] = await Promise.all([heard(script, false), heard(script, true)]);
    expect(direct.text).toContain(answer);
    expect(inWindow.text).toBe("\u001b[?62;22c");
  });

  it("window-1 keeps its clipboard when an agent tries to set it", async () => {
    const script = `${asks(`\\033]52;c;${Buffer.from("evil").toString("base64")}\\007\\033[c`)}; ${HEARS}`;
    expect((await heard(script, false)).clipboard).toBe("evil");
    expect((await heard(script, true)).clipboard).toBe(CLIPBOARD);
  });

  it("window-2 types no late answer into the program that runs after a window", async () => {
    // A window does not repeat questions from before it opened, so it has to be open first.
    const script = "sleep 2; printf '\\033[6n\\033[5n\\033[c\\033[6n'";
    expect(await typedNext(script, false)).toContain("\u001b[24;80R");
    expect(await typedNext(script, true)).toBe("");
  });

  it("window-2 types no late answer even where another question has the same answer as the last one", async () => {
    const script = "sleep 2; printf '\\033[5;5n\\033[6n\\033[6n\\033[6n'";
    expect(await typedNext(script, false)).toContain("\u001b[0n\u001b[24;80R");
    expect(await typedNext(script, true)).toBe("");
  });

  it("window-2 types no late answer into the program that runs after the person left a window", async () => {
    using home = new HostHome({ "agent.sh": "printf 'begun\\033[6n\\033[6n\\033[6n'; exec sleep 60" });
    const file = join(home.dir, "..", "typed");
    const next = `${process.execPath} ${cliPath} run -i ${wall.join(" ")} -- sh agent.sh; stty raw -echo; timeout --foreground 2 cat >${file}; echo NEXT OVER`;
    await using terminal = new AnsweringTerminal(home, ["-c", next], "sh", 200);
    await until(() => terminal.asked.length >= 3);
    terminal.type("\u001d");
    await terminal.shows("NEXT OVER");
    expect(readFileSync(file, "latin1")).toBe("");
  });

  it("printable-1 is asked nothing by the output of a task, whichever verb shows it", async () => {
    const all = Object.values(questions).map(([asked]) => asked);
    const script = `printf '${all.join("").replaceAll(/'.*?'/g, "")}\\033[c\\033[6n'`;
    using home = new HostHome({ "agent.sh": `${script}; ${script} >new; ${script} >&2; exit 1` });
    const run = ["run", "--name", "asks", ...wall, "--", "sh", "agent.sh"];
    const words = [
      run,
      ...["output", "log", "show", "diff", "attach", "checks"].map((verb) => [verb, "asks"]),
      ["ls"],
    ];
    // The only title that is set is Holdfast's own, once, when the task has ended.
    const own = "\u001b]0;holdfast: asks: task 1 failed\u0007";
    for (const args of words) {
      await using terminal = new AnsweringTerminal(home, args, undefined, 20);
      await until(() => terminal.process.exitCode !== null);
      expect([args[0], terminal.asked]).toEqual([args[0], args === run ? [own] : []]);
    }
    await using terminal = new AnsweringTerminal(home, ["agent.sh"], "sh", 20);
    await until(() => terminal.process.exitCode !== null);
    expect(terminal.asked.length).toBeGreaterThan(8);
  });
});
