/**
 * An agent's own commits on a branch of their own: `branch --commits` judges them as published work is judged.
 */
import { describe, expect, it } from "vitest";
import { eventsOf } from "../support/merging.ts";
import { gitIn } from "../support/repo.ts";
import { TaskHome, turn } from "../support/tasks.ts";

const FILES = { "a.txt": "1\n2\n3\n4\n5\n", "b.txt": "b\n" };
const TOKEN = ["ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("");

/** Every ref and object of the user's repo. */
const allOf = (home: TaskHome) =>
  [["for-each-ref"], ["cat-file", "--batch-all-objects", "--batch-check"]]
    .map((args) => gitIn(home.main, ...args))
    .join("\n");

describe("an agent's commits", () => {
  it("keep-3 verify-5 are published on a branch of their own only after a review, as the work is", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const { session, task } = await home.start(hf, "the work");
    await turn(
      task,
      `echo 'token = "${TOKEN}"' > n; mkdir .github; echo 1 > .github/x; git add .; git commit -qm c1`,
    );
    expect((await task.end("done")).outcome).toBe("needs_review");
    await session.pause();
    const cleaned = await home.start(hf, "cleaned");
    await turn(
      cleaned.task,
      `echo 'token = "${TOKEN}"' > n; git add .; git commit -qm c1; echo 1 > n; git commit -qam c2`,
    );
    // The work itself has nothing to review; one of its commits has.
    expect((await cleaned.task.end("done")).unpublished).toBeNull();
    await cleaned.session.pause();
    const before = allOf(home);
    for (const [{ id }, words] of [
      [session, /the work of task 1 needs a review/],
      [cleaned.session, /a secret in n \(.*in commit [0-9a-f]{12}\)/],
    ] as const) {
      await expect(hf.branchSession(id, { commits: true })).rejects.toMatchObject({
        code: "needs_review",
        exitStatus: 3,
        message: expect.stringMatching(words),
      });
      expect(allOf(home)).toBe(before);
    }
    for (const { id } of [session, cleaned.session]) {
      const { branch, commit } = await hf.branchSession(id, { commits: true, isReviewed: true });
      expect(gitIn(home.main, "rev-parse", branch)).toBe(commit);
      const [judged, published] = (await eventsOf(hf, id, /policy_applied|commits_published/)).slice(-2);
      expect(judged?.data).toMatchObject({
        findings: expect.arrayContaining([expect.objectContaining({ rule: "secret", path: "n" })]),
      });
      expect(published?.data).toMatchObject({ commit, isReviewed: true });
    }
  });
});
