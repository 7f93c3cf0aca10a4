/**
 * The story of a session, for an agent that does not know it.
 */
import { describe, expect, it } from "vitest";
import type { HistoryTurn } from "../../src/session/index.ts";
import { type Facts, tellStory } from "../../src/task/story.ts";
import { TaskHome } from "../support/tasks.ts";

const said = (text: string) => ({ kind: "message", role: "assistant", content: text }) as const;
const call = (name: string, outcome = "ok") =>
  ({ kind: "tool_call", call: name, tool: "bash", args: name, outcome, output: "no" }) as const;
const turn = (number: number, ...entries: HistoryTurn["entries"]): HistoryTurn => ({
  turn: number,
  input: `ask ${number}`,
  entries,
  outcome: "completed",
  usage: {},
});
const tell = (turns: readonly HistoryTurn[], more: Partial<Facts> = {}) =>
  tellStory({ turns, count: turns.length, files: [], decisions: [], ...more });

describe("the story of a session", () => {
  it("tells requests, messages, calls, refusals, decisions and changed files", () => {
    const files = Array.from({ length: 70 }, (_, index) => `src/file-${index}.ts`);
    const story = tell([turn(1, said("SAID"), call("ran"), call("tried", "refused"))], {
      files,
      decisions: ["ani answered: use tabs"],
    });
    for (const text of ["Asked: ask 1", "Said: SAID", "- bash ran", "- bash tried → refused: no"])
      expect(story).toContain(text);
    expect(story).toContain("Files changed so far:\n- src/file-0.ts");
    expect(story).toContain("- and 10 more");
    expect(story).toContain("- ani answered: use tabs");
    expect(story).toContain("Background processes from earlier turns have ended.");
  });

  it("names the call that a person denied", async () => {
    using home = new TaskHome();
    const { session, task } = await home.start(await home.open());
    const work = task.workplace({});
    await (await work.beginTurn("push it")).end();
    const asked = { approval: "appr_1", fingerprint: "0".repeat(64), task: 1, turn: 1 };
    await session.append("approval_requested", { ...asked, tool: "git_push", args: { branch: "main" } });
    await session.append("approval_denied", { approval: "appr_1", by: "user:ani", reason: "not today" });
    expect(await work.story()).toContain('- user:ani denied git_push {"branch":"main"}: not today');
    await task.end("cancelled");
    await session.close();
  });

  it("leaves out the oldest turns when it gets too long, and tells how many", () => {
    const long = Array.from({ length: 9 }, (_, index) =>
      turn(index + 1, ...Array.from({ length: 5 }, () => said("x".repeat(1400)))),
    );
    const story = tell(long, { count: 20 });
    expect(story.length).toBeLessThan(25_000);
    expect(story).toContain("Asked: ask 9");
    expect(story).not.toContain("Asked: ask 1\n");
    expect(story).toContain("(Turns left out here: 17.)");
    const short = tell([turn(1), turn(19), turn(20)], { count: 20 });
    expect(short).toMatch(/ask 1\n\n\(Turns left out here: 17\.\)\n\n## Turn 19/);
  });

  it("tells only the last messages of a turn that has many, and counts the earlier ones", () => {
    const story = tell([turn(1, ...Array.from({ length: 30 }, (_, index) => said(`m${index}.`)))]);
    expect(story).toContain("- 24 earlier messages");
    expect(story).not.toContain("m23.");
    expect(story).toContain("m29.");
  });
});
