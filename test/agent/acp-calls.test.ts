/**
 * What agents of the Agent Client Protocol report about their calls, in the forms of three of them, and which
 * of it is recorded.
 */
import { describe, expect, it } from "vitest";
import { Calls } from "../../src/agent/acp/calls.ts";
import { TestHome } from "../support/home.ts";

async function turnAt(home: TestHome) {
  const session = await (await home.open()).openSession();
  const turn = await session.beginTurn("please");
  const isOnRecord = () => Object.keys(session.state.openTurn?.calls ?? {});
  return { session, turn, calls: new Calls(turn), isOnRecord };
}

describe("the calls that an agent reports", () => {
  it("are left to the gate, and not recorded again, if they are calls of the session's own tools", async () => {
    using home = new TestHome();
    const { session, turn, calls, isOnRecord } = await turnAt(home);
    const rawInput = { branch: "one" };
    const asked: string[] = [];
    const titles = ["holdfast_git_push", "holdfast: git push", "git_push (holdfast MCP Server)"];
    for (const title of titles) {
      const why = await calls.ask(title, { kind: "other", title, rawInput }, () => "it is refused");
      asked.push(why ?? "left to the gate");
      await calls.tell(title, { title, rawInput, status: "in_progress" });
      // goose asks a model for a title, and reports it while the tool runs.
      await calls.tell(title, { title: "A title" });
      expect(isOnRecord(), title).toEqual([]);
      await calls.tell(title, { status: "completed", rawOutput: {} });
    }
    expect(asked).toEqual(titles.map(() => "left to the gate"));
    expect(isOnRecord()).toEqual([]);
    await turn.end();
    await session.close();
  });

  it("are judged and recorded if their titles only mention holdfast", async () => {
    using home = new TestHome();
    const { session, turn, calls, isOnRecord } = await turnAt(home);
    const told = [
      { kind: "edit", title: "holdfast.yaml" },
      { kind: "execute", title: "holdfast ls" },
      { kind: "edit", title: "holdfast_notes" },
      { kind: "other", title: "write · holdfast.yaml" },
      { kind: "other", title: "see holdfast: the manual" },
    ] as const;
    for (const [index, { kind, title }] of told.entries()) {
      const id = `call ${index}`;
      const update = { kind, title, rawInput: { path: title } };
      expect(await calls.ask(id, update, () => "it is refused"), title).toBe("it is refused");
      await calls.tell(`more ${index}`, { ...update, status: "in_progress" });
    }
    expect(isOnRecord()).toHaveLength(told.length);
    await calls.close();
    await turn.end();
    await session.close();
  });
});
