/**
 * Questions of an agent: how many may wait for a person, and what the agent is told about one more.
 */
import { describe, expect, it } from "vitest";
import { Questions } from "../../src/host/questions.ts";
import { systemClock } from "../../src/util/index.ts";
import { TaskHome } from "../support/tasks.ts";

describe("the questions of an agent", () => {
  it("wait for a person up to a limit of twenty; one more is refused and not recorded", async () => {
    using home = new TaskHome();
    const session = await (await home.open()).openSession({ title: "asks" });
    const told: string[] = [];
    let ids = 0;
    const questions = new Questions({
      ...{ session, sessionDir: home.sessionDir(session.id), task: 1 },
      ...{ clock: systemClock, holdMs: 1, waits: (text: string) => void told.push(text) },
      newId: (prefix) => {
        ids += 1;
        return `${prefix}_${ids}`;
      },
    });
    const { signal } = new AbortController();
    for (let at = 0; at < 20; at += 1)
      expect(await questions.ask(`which ${at}?`, signal)).toEqual({
        question: `q_${at + 1}`,
        answer: undefined,
      });
    await expect(questions.ask("and which?", signal)).rejects.toMatchObject({ code: "arguments_invalid" });
    // To ask a question again that already waits does not add one.
    expect(await questions.ask("which 3?", signal)).toEqual({ question: "q_4", answer: undefined });
    expect(told).toHaveLength(20);
    expect(Object.keys(session.state.pending)).toHaveLength(20);
    await session.close();
  });
});
