/**
 * Owns the advice that `show` ends with: what a person can do next with a session that stands like this.
 */
import type { SessionView } from "../dispatch/index.ts";
import { reachedLimits } from "../session/index.ts";
import { labelOf } from "./which-session.ts";

export function nextSteps(session: SessionView): string[] {
  const { standing, branch, merged, task } = session;
  const name = labelOf(session);
  const published = branch?.tip && branch.tip !== merged?.from ? [`holdfast merge ${name}`] : [];
  switch (standing) {
    case "new":
      return [`holdfast run --session ${name} -- CMD`];
    case "queued":
      return [`holdfast queue ${name}`, "holdfast ls --watch"];
    case "working":
      return [`holdfast attach ${name}`, `holdfast diff ${name}`];
    case "waiting for you":
      if (Object.keys(session.pending).length > 0) return ["holdfast approvals", `holdfast log ${name}`];
      return task?.outcome === "needs_review"
        ? [`holdfast diff ${name}`, `holdfast branch ${name} --reviewed`]
        : [`holdfast log ${name}`];
    case "done":
      return [
        ...(task?.changed?.files ? [`holdfast diff ${name}`] : [`holdfast output ${name}`]),
        ...published,
      ];
    case "failed":
      return [
        task?.verified?.verdict === "failed" ? `holdfast checks ${name}` : `holdfast output ${name}`,
        `holdfast retry ${name}`,
      ];
    case "cancelled":
      return [`holdfast output ${name}`, `holdfast retry ${name}`];
    case "interrupted":
      return [`holdfast resume ${name}`, `holdfast retry ${name}`];
    case "parked":
      return parkedSteps(session);
    case "paused":
    case "closed":
    case "archived":
      return [`holdfast resume ${name}`];
    case "handed off":
      return [`holdfast handoff ${name} --return`];
    case "damaged":
      return [`holdfast audit ${name}`, `holdfast doctor --repair ${name}`];
  }
}

/** What lets the parked task go on, and what ends it. */
function parkedSteps(session: SessionView): string[] {
  const name = labelOf(session);
  const { task, budget, spent } = session;
  const [limit] = reachedLimits({ budget, spent });
  const resume = `holdfast resume ${name}`;
  const goOn = {
    // It was raised while the task was being parked.
    budget: limit === undefined ? resume : `holdfast budget ${name} --raise ${limit}=AMOUNT`,
    price: `${resume}, when prices in settings.yaml has the model`,
    usage_limit: `holdfast wait ${name}`,
    key: resume,
    approval: "holdfast approvals",
    answer: "holdfast approvals",
  };
  const request = task?.request?.slice(-REQUEST_LENGTH);
  return [
    goOn[task?.parked?.reason ?? "key"],
    ...(request === undefined ? [] : [`holdfast cancel ${name} ${request}`]),
  ];
}

/** The end of a request's id, which is nearly always enough to tell it from others. */
const REQUEST_LENGTH = 6;
