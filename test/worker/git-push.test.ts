/**
 * A push to a real bare repo on this machine has exactly the tree that was approved, on the task's base.
 */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../src/worker/index.ts";
import { ActingHome, besideHome, quiet } from "../support/acting.ts";
import { gitIn } from "../support/repo.ts";
import { turn } from "../support/tasks.ts";

function withRemote(home: ActingHome): string {
  const bare = besideHome(home, "bare.git");
  gitIn(home.main, "clone", "-q", "--bare", home.main, bare);
  gitIn(home.main, "remote", "add", "origin", `file://${bare}`);
  return bare;
}

describe("git_push to a repo of this machine", () => {
  it("worker-7 pushes the approved work as one commit on the base, without later changes", async () => {
    await using home = new ActingHome();
    const bare = withRemote(home);
    await home.begin("", "echo two > a.txt; echo new > b.txt; git add -A; git commit -qm mine");
    const { prepared, action } = await home.prepare("git_push", { branch: "work" });
    const grant = await home.grant(action);
    await turn(home.task, "echo three > a.txt; echo evil > c.txt; git commit -qam evil");
    const outcome = await prepared.act(grant, quiet());
    expect(outcome.text).toContain("refs/heads/work");
    expect(outcome.outcome).toBe("ok");
    expect(gitIn(bare, "rev-parse", "work^{tree}")).toBe(action.tree);
    expect(gitIn(bare, "rev-parse", "work^")).toBe(gitIn(home.main, "rev-parse", "main"));
    expect(gitIn(bare, "show", "work:a.txt")).toBe("two");
    expect(gitIn(bare, "log", "-1", "--format=%s", "work")).toBe("mine");
    expect(outcomeOf(home.task.room.sessionDir, 1, grant.approval)).toEqual({ kind: "ended", outcome });
    expect(existsSync(home.sessionDir(home.session.id, "tasks", "1", "acting"))).toBe(false);
    expect(home.strays().length).toBeLessThanOrEqual(2);
  });
});
