/**
 * Every verb once, in one home, in the order in which a person would come to need them.
 */
import { describe, expect, it } from "vitest";
import { verbs } from "../../src/cli/verbs.ts";
import { hasSandbox } from "../support/capsules.ts";
import { runCli } from "../support/cli.ts";
import { TaskHome } from "../support/tasks.ts";

/** The tour takes half a minute, and has a test of its own (test/package). */
const ELSEWHERE = ["demo"];

const USAGE = 2;
const UNKNOWN = 4;
const REFUSED = 5;

type Step = readonly [status: number, ...words: string[]];

const passThrough = (home: TaskHome): readonly Step[] => [
  [0, "new", "--name", "empty"],
  [0, "trust", "--list"],
  [0, "lanes"],
  [0, "agents"],
  [0, "run", "--name", "one", "--", "sh", "-c", "echo made > made"],
  [0, "ls"],
  [0, "show", "one"],
  [0, "log", "one"],
  [0, "output", "one"],
  [0, "diff", "one"],
  [0, "checks", "one"],
  [0, "queue", "one"],
  [0, "tools", "one"],
  [0, "usage", "--by", "day"],
  [0, "search", "made"],
  [0, "wait", "one"],
  [0, "branch", "one"],
  [0, "run", "--name", "two", "--budget-usd", "5", "--", "sh", "-c", "echo two > two"],
  [0, "conflicts"],
  [0, "merge", "one"],
  [0, "rebase", "two"],
  [0, "rewind", "two", "--to", "0"],
  [0, "rewind", "two", "--to", "1"],
  [0, "retry", "two"],
  [0, "fork", "two", "--at", "1", "--name", "three"],
  [0, "teardown", "two"],
  [0, "restore", "two"],
  [0, "handoff", "two", "--to", home.join("by-hand")],
  [0, "handoff", "two", "--return"],
  [0, "keep", "two"],
  [0, "budget", "two", "--raise", "usd=1"],
  [0, "pause", "two"],
  [0, "resume", "two"],
  [0, "send", "two", "the tests are in test/"],
  [REFUSED, "interrupt", "two"],
  [UNKNOWN, "cancel", "two", "task_nothing"],
  [0, "attach", "two"],
  [REFUSED, "shell", "two", "--", "true"],
  [0, "open", "two"],
  [0, "handoff", "two", "--return"],
  [REFUSED, "allow", "two", "example.org"],
  [0, "approvals"],
  [UNKNOWN, "approve", "appr_nothing"],
  [UNKNOWN, "deny", "appr_nothing", "--why", "no"],
  [UNKNOWN, "answer", "ask_nothing", "yes"],
  [0, "token", "rotate", "two"],
  [0, "audit", "two"],
  [0, "doctor"],
  [0, "export", "two", "-o", home.join("two.holdfast")],
  [0, "import", home.join("two.holdfast"), "--home", home.join("elsewhere")],
  [0, "close", "two"],
  [0, "archive", "two"],
  [0, "rm", "three", "--force"],
  [0, "gc", "--dry-run"],
  [0, "completion", "bash"],
  [USAGE, "serve", "--listen", "192.0.2.1:7070"],
];

describe.runIf(hasSandbox)("the verbs", () => {
  it("all end with the expected status, called one after the other", { timeout: 120_000 }, async () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const steps = passThrough(home);
    const passed = new Set([...ELSEWHERE, ...steps.map(([, verb]) => verb)]);
    expect(verbs.map(({ name }) => name).filter((name) => !passed.has(name))).toEqual([]);
    for (const [wanted, ...words] of steps) {
      const { status, stderr } = await runCli(home.dir, words, { EDITOR: "true", VISUAL: "" }, home.main);
      expect(status, `holdfast ${words.join(" ")}: ${stderr}`).toBe(wanted);
    }
  });
});
