/**
 * The fold derives the stage of a task from its stage records, even when a crash left some of them out.
 */
import { describe, expect, it } from "vitest";
import { type Event, folded, next } from "../support/fold.ts";

describe("stages", () => {
  const started: Event = ["task_started", { task: 1 }];
  const at = (stage: string, task = 1): Event => ["stage_started", { task, stage }];
  const stageOf = (...events: Event[]) => folded(...events).task?.stage;

  it("a task is at the stage that started last and has not ended", () => {
    expect(stageOf(started)).toBeNull();
    expect(stageOf(started, at("act"))).toBe("act");
    expect(stageOf(started, at("act"), ["stage_ended", { task: 1, stage: "act", outcome: "ok" }])).toBeNull();
    // After a crash the same stage starts again, or the next one does.
    expect(stageOf(started, at("act"), at("act"), at("persist"))).toBe("persist");
    expect(stageOf(started, at("persist"), ["task_ended", { task: 1, outcome: "done" }])).toBeNull();
    expect(
      stageOf(started, at("act"), ["session_rewound", { toTurn: 0, fromTurn: 0, history: [] }]),
    ).toBeNull();
    expect(stageOf(started, at("act"), at("dance"))).toBeNull();
  });

  it("the next task may record stages before it starts; stage records of other tasks are oddities", () => {
    expect(
      folded(at("route"), ["stage_ended", { task: 1, stage: "route" }], at("capsule"), started),
    ).toMatchObject({ oddities: 0, task: { number: 1, stage: null } });
    const another: Event = ["stage_ended", { task: 1, stage: "persist" }];
    for (const odd of [at("act", 0), at("act", 3), another]) {
      const state = next(folded(started, at("act")), odd);
      expect(state, JSON.stringify(odd)).toMatchObject({ oddities: 1, task: { stage: "act" } });
    }
    const ended = folded(started, ["task_ended", { task: 1, outcome: "done" }]);
    expect(next(ended, at("persist"))).toMatchObject({ oddities: 1, task: { stage: null } });
  });
});
