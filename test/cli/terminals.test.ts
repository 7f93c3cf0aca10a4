/**
 * Several windows of different sizes on one session's terminal; and `send --type`, which types into it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, until } from "../support/hosts.ts";
import { hasScript, Terminal, Window } from "../support/terminal.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const TOKEN = ["ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("");

/** A command in a terminal that has no window yet. */
async function inTerminal(home: HostHome, script: string): Promise<{ id: string; path: string }> {
  const run = ["run", "-i", "--detach", ...wall, "--repo", home.main, "--", "sh", "-c", script];
  const id = home.idOf((await home.cli(...run)).stdout.trim());
  const dispatcher = await home.dispatcher();
  const path = await until(() => dispatcher.processOf(id)?.terminal ?? "");
  return { id, path };
}

describe.skipIf(!hasScript)("windows on a terminal", () => {
  it("the size is that of the window used last, and goes back when that window leaves", async () => {
    using home = new HostHome();
    const { path } = await inTerminal(
      home,
      "trap 'echo; stty size' WINCH; echo ready; while :; do sleep 0.05; done",
    );
    using first = new Window(path);
    await first.shows("ready");
    const known: string[] = [];
    const seen = () => first.shown.match(/^\d+ \d+/gm)?.filter((size) => size !== "24 80") ?? [];
    const changesTo = async (size: string) => {
      known.push(size);
      await until(seen, (sizes) => sizes.length >= known.length);
      expect(seen()).toEqual(known);
    };
    first.has(100, 30);
    await changesTo("30 100");
    {
      using second = new Window(path);
      second.has(120, 40);
      await changesTo("40 120");
      first.type("a");
      await changesTo("30 100");
      // What a window answers by itself, and its focus reports, do not count as use.
      for (const answer of ["\u001b[12;34R", "\u001b[?62;22c", "\u001b]11;rgb:0/0/0\u001b\\", "\u001b[I"])
        second.type(answer);
      await first.shows("rgb:0/0/0");
      await first.shows("^[[I");
      // Time for a change to show up, which must not happen.
      await sleep(500);
      first.has(101, 31);
      await changesTo("31 101");
      second.type("b");
      await changesTo("40 120");
    }
    await changesTo("31 101");
    {
      using third = new Window(path);
      third.has(90, 20);
      await changesTo("20 90");
      {
        using fourth = new Window(path);
        fourth.has(70, 10);
        await changesTo("10 70");
        // When a window leaves that was not used last, nothing changes: the next change is the fourth one's
        // leaving.
        third[Symbol.dispose]();
      }
      await changesTo("31 101");
    }
  });

  it("the size stays when the last window leaves", async () => {
    using home = new HostHome();
    const { path } = await inTerminal(home, "echo ready; while read -r _; do stty size; done");
    {
      using window = new Window(path);
      await window.shows("ready");
      window.has(90, 20);
      await until(
        async () => {
          window.type("\r");
          await sleep(100);
          return window.shown;
        },
        (shown) => shown.includes("20 90"),
      );
    }
    using later = new Window(path);
    await later.shows("20 90");
    const before = later.shown.length;
    later.type("\r");
    await until(
      () => later.shown.slice(before),
      (shown) => /^\d+ \d+/m.test(shown),
    );
    expect(later.shown.slice(before)).toMatch(/^20 90/m);
  });

  it("a later window gets the modes that the program set long ago, and is reset when it leaves", async () => {
    using home = new HostHome();
    const { id, path } = await inTerminal(
      home,
      `printf '\\033[?1049h\\033[?1003h\\033[?1006h\\033[?2004h\\033[?1h\\033=\\033[>1u\\033[?25l\\033[5 q'
       i=0; while [ $i -lt 2500 ]; do echo "line $i of a long, long story"; i=$((i + 1)); done; echo all-told; cat`,
    );
    {
      using first = new Window(path);
      await first.shows("all-told");
    }
    await using window = new Terminal(home, ["attach", id]);
    await window.shows("all-told");
    expect(window.screen).not.toContain("line 1 of");
    for (const mode of ["[?1049h", "[>1u", "[5 q", "[?1003h", "[?1006h", "[?2004h", "[?1h", "[?66h", "[?25l"])
      expect(window.screen, mode).toContain(`\u001b${mode}`);
    const shown = window.screen.length;
    window.type("\u001d");
    await window.shows("Detached; the program is still running");
    const left = window.screen.slice(shown);
    for (const mode of [
      "[?1049l",
      "[<1u",
      "[0 q",
      "[?1003l",
      "[?1006l",
      "[?2004l",
      "[?1l",
      "[?66l",
      "[?25h",
      "[0m",
    ])
      expect(left, mode).toContain(`\u001b${mode}`);
    await window.ended;
  });
});

describe.skipIf(!hasScript)("send to an agent in a terminal", () => {
  it("says that the agent does not read its inbox; --type types the text, recorded without secrets", async () => {
    using home = new HostHome();
    const { id, path } = await inTerminal(
      home,
      `stty raw -echo; printf 'ready\\r\\n'; head -c 12 | cat -v; printf '\\033[?2004hpaste\\r\\n'; exec cat -v`,
    );
    using window = new Window(path);
    await window.shows("ready");
    const sent = await home.cli("send", id, "for the inbox");
    expect(sent).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^msg_\w+\n$/),
      stderr: expect.stringMatching(
        /runs in a terminal and does not read its inbox: .*holdfast send --type stty-raw /,
      ),
    });
    expect((await home.cli("send", "--type", "--no-enter", id, "abc")).status).toBe(0);
    expect((await home.cli("send", "--type", id, "de\nfghij\n")).status).toBe(0);
    await window.shows("abcde^Mfghij^M");
    await window.shows("paste");
    const typed = await home.cli("send", "--type", id, `two\nlines ${TOKEN}`);
    expect(typed).toMatchObject({ status: 0, stdout: expect.stringMatching(/^msg_\w+\n$/), stderr: "" });
    await window.shows(`^[[200~two^Mlines ${TOKEN}^[[201~^M`);
    const log = (await home.cli("log", id, "--json")).stdout;
    const records = log
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; data: Record<string, unknown> })
      .filter(({ data }) => data["message"] === typed.stdout.trim());
    expect(records).toMatchObject([
      {
        type: "message_received",
        data: { from: expect.stringMatching(/^user:/), text: "two\nlines [redacted:github]" },
      },
      { type: "message_handed", data: { turn: 1 } },
      { type: "message_entered_context", data: { turn: 1, certain: false } },
    ]);
    // The message in the inbox is still unread; the typed one is not.
    expect((await (await home.dispatcher()).show(id)).unread).toBe(1);
    for (const [args, code] of [
      [["send", "--type", id, "\u001b[A"], "invalid_data"],
      [["send", "--type", "--no-enter", id, ""], "invalid_data"],
      [["send", "--type", id, "x".repeat(70_000)], "message_too_large"],
      [["send", "--no-enter", id, "x"], "usage"],
      [["send", "--type", "--id", "msg_mine", id, "x"], "usage"],
    ] as const)
      expect((await home.cli(...args)).stderr, args.join(" ").slice(0, 40)).toMatch(
        new RegExp(`^holdfast: ${code}: .+ \\(.+\\)\\n$`),
      );
    await home.cli("interrupt", id);
    await home.quiet();
    expect((await home.cli("send", "--type", id, "x")).stderr).toMatch(/^holdfast: no_terminal: /);
  });
});
