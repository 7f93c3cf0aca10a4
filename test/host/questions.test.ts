/**
 * Questions of an agent: how many may wait for a person, and what an agent hears of one more.
 */
import { describe, expect, it } from "vitest";
import { Questions } from "../../src/host/questions.ts";
import { systemClock } from "../../src/util/index.ts";
import { TaskHome } from "../support/tasks.ts";

describe("questions", () => {
  it("twenty wait at most: one more is refused, and is not said to be open", async () => {
    using home = new TaskHome();
    const session = await (await home.open()).openSession({ title: "asks" });
    const told: string[] = [];
    let ids = 0;
    const questions = new Questions({
      ...{ session, clock: systemClock, holdMs: 1, waits: (text: string) => void told.push(text) },
      newId: (prefix) => {
        ids += 1;
        return `${prefix}_${ids}`;
      },
    });
    const { signal } = new AbortController();
    for (let at = 0; at < 20; at += 1) expect(await questions.ask(`which ${at}?`, signal)).toBeUndefined();
    await expect(questions.ask("and which?", signal)).rejects.toMatchObject({ code: "arguments_invalid" });
    // One that waits is asked again, and is not another one.
    expect(await questions.ask("which 3?", signal)).toBeUndefined();
    expect(told).toHaveLength(20);
    expect(Object.keys(session.state.pending)).toHaveLength(20);
    await session.close();
  });
});
