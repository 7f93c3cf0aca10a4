/**
 * Removing a session for good: when it is allowed, what is removed with it, and what stays untouched.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LocalHome } from "../../src/library/local-home.ts";
import { sessionWithTurns, TestHome } from "../support/home.ts";
import { PowerLoss, PowerLossDisk } from "../support/power-loss-disk.ts";
import { commitFiles, gitIn } from "../support/repo.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

const HOUR_MS = 60 * 60 * 1000;
const later = (hours: number) => ({
  clock: { nowMs: () => Date.now() + hours * HOUR_MS, monotonicMs: () => performance.now() },
});

/** A session at rest, with one task. */
async function worked(home: TaskHome, hf: LocalHome, outcome: "done" | "failed" = "done"): Promise<string> {
  const { session, task } = await home.start(hf);
  await turn(task, "echo two > a.txt; echo a-rare-word > b.txt");
  await task.end(outcome);
  await task.rest();
  await session.close();
  return session.id;
}

/** Refs that name a session, in the store and in the user's repo, except its branch. */
function refsOf(home: TaskHome, id: string): string[] {
  const repos = join(home.dir, "repos");
  const stores = readdirSync(repos).map((key) => join(repos, key, "store.git"));
  const refs = [...stores, home.main].flatMap((dir) =>
    gitIn(dir, "for-each-ref", "--format=%(refname)").split("\n"),
  );
  return refs.filter((ref) => ref.includes(id));
}

describe("removing a session", () => {
  it("deletes everything that it has except its branch, and leaves its forks whole", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "holdfast.yaml": "capsule: { ports: [PORT] }\n" });
    const hf = await home.open();
    const id = await worked(home, hf);
    const tip = gitIn(home.main, "rev-parse", home.branchOf(id));
    const fork = await hf.forkSession(id);
    await fork.pause();
    expect((await hf.search(["echo"])).map((hit) => hit.session)).toContain(id);
    const plan = await hf.planRemoval(id);
    expect(plan).toMatchObject({
      session: id,
      turns: 1,
      tasks: 1,
      unpublished: [],
      forks: 1,
      branches: [{ name: home.branchOf(id), stays: expect.any(String) }],
    });
    expect(refsOf(home, id)).not.toEqual([]);
    const removed = await hf.removeSession(id);
    expect(removed.bytes).toBeGreaterThan(0);
    await expect(hf.showSession(id)).rejects.toMatchObject({ code: "session_not_found" });
    expect((await hf.listSessions()).map((one) => one.id)).toEqual([fork.id]);
    expect(existsSync(home.sessionDir(id))).toBe(false);
    expect(readdirSync(join(home.dir, "trash"))).toEqual([]);
    expect(readdirSync(join(home.dir, "leases"))).toHaveLength(1);
    expect(refsOf(home, id)).toEqual([]);
    expect(gitIn(home.main, "rev-parse", home.branchOf(id))).toBe(tip);
    expect((await hf.search(["echo"])).filter((hit) => hit.session === id)).toEqual([]);
    expect((await hf.auditSession(fork.id, { deep: true })).findings).toEqual([]);
    const child = await hf.resumeSession(fork.id);
    const task = await hf.startTask(child, sandbox);
    expect(await turn(task, "cat a.txt b.txt")).toBe("two\na-rare-word");
    await task.rest();
    await child.close();
  });

  it("removal-1 is refused without force if the session has unpublished work, is kept, handed off or damaged", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const refused: [string, string][] = [[await worked(home, hf, "failed"), "unpublished_work"]];
    const kept = await worked(home, hf);
    await hf.keepSession(kept);
    refused.push([kept, "session_kept"]);
    const handed = await home.start(hf);
    await turn(handed.task, "true");
    await handed.task.rest();
    await handed.session.pause();
    await hf.handOffSession(handed.session.id, { to: "ani", directory: home.join("mine") });
    refused.push([handed.session.id, "handoff_open"]);
    // Its process ended without a last snapshot, so nobody knows what its capsule has now.
    const cut = await home.start(hf);
    await turn(cut.task, "true");
    await cut.session.release();
    refused.push([cut.session.id, "unpublished_work"]);
    // Its branch was deleted: only its snapshot has the work.
    const unmerged = await worked(home, hf);
    gitIn(home.main, "branch", "-q", "-D", home.branchOf(unmerged));
    refused.push([unmerged, "unpublished_work"]);
    const damagedId = await worked(home, hf);
    const segment = home.sessionDir(damagedId, "journal", "000001.jsonl");
    const text = readFileSync(segment, "utf8");
    writeFileSync(segment, text.replace("a task", "A TASK"));
    rmSync(home.sessionDir(damagedId, "fold.json"), { force: true });
    refused.push([damagedId, "session_damaged"]);
    for (const [id, code] of refused) {
      await expect(hf.removeSession(id), code).rejects.toMatchObject({ code });
      expect(existsSync(home.sessionDir(id)), code).toBe(true);
    }
    expect((await hf.planRemoval(refused[0]?.[0] ?? "", { force: true })).unpublished).toEqual([
      "the work of turn 1",
    ]);
    for (const [id] of refused) await hf.removeSession(id, { force: true });
    expect(await hf.listSessions()).toEqual([]);
    expect(home.strays()).toEqual([]);
    expect(existsSync(home.join("mine", "a.txt"))).toBe(true);
  });

  it("removal-1 is refused if work of an earlier task was neither carried by a later task nor published", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const next = async (id: string, does: string, outcome: "done" | "failed", isFresh = false) => {
      const session = await hf.resumeSession(id);
      const task = await hf.startTask(session, { ...sandbox, isFresh });
      await turn(task, does);
      await task.end(outcome);
      await task.rest();
      await session.pause();
    };
    const opened = async () => {
      const session = await hf.openSession({ repo: home.main, title: "a task" });
      await session.pause();
      return session.id;
    };
    const lost = await opened();
    await next(lost, "echo precious > p.txt", "failed");
    await next(lost, "true", "done", true);
    await expect(hf.removeSession(lost)).rejects.toMatchObject({
      code: "unpublished_work",
      facts: { unpublished: ["the work of turn 1, which a later task did not continue"] },
    });
    const rewound = await opened();
    await next(rewound, "echo more > a.txt", "done");
    await next(rewound, "echo precious > p.txt", "failed");
    await hf.rewindSession(rewound, 1);
    await expect(hf.removeSession(rewound)).rejects.toMatchObject({
      facts: { unpublished: [expect.stringContaining("turn 2")] },
    });
    const carried = await opened();
    await next(carried, "echo precious > p.txt", "failed");
    await next(carried, "echo more > a.txt", "done");
    await next(carried, "true", "done", true);
    expect((await hf.planRemoval(carried)).unpublished).toEqual([]);
    // Only its branch had the work.
    gitIn(home.main, "branch", "-q", "-D", home.branchOf(carried));
    await expect(hf.removeSession(carried)).rejects.toMatchObject({ code: "unpublished_work" });
  });

  it("removal-1 is refused while a process owns the session, even if it is forced", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const session = await hf.openSession();
    await expect(hf.removeSession(session.id, { force: true })).rejects.toMatchObject({
      code: "session_owned",
    });
    await session.pause();
    await hf.removeSession(session.id);
    await expect(hf.removeSession(session.id)).rejects.toMatchObject({ code: "session_not_found" });
    const other = await sessionWithTurns(hf, 1, { user: "bo" });
    await expect(hf.removeSession(other)).rejects.toMatchObject({ code: "session_not_found" });
  });

  it("publish-3 deletes the branch on request, but never one that is checked out or has a person's commits", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const branches = true;
    const only = await worked(home, hf);
    await expect(hf.removeSession(only, { branches })).rejects.toMatchObject({
      code: "unpublished_work",
      facts: { unpublished: [`commits that are only in ${home.branchOf(only)}, which is to be deleted too`] },
      wayOut: expect.stringMatching(/without --branches.*git merge/),
    });
    gitIn(home.main, "merge", "-q", home.branchOf(only));
    expect(await hf.removeSession(only, { branches })).toMatchObject({
      branches: [{ name: home.branchOf(only), stays: null }],
    });
    expect(gitIn(home.main, "branch", "--list", home.branchOf(only))).toBe("");
    expect(readFileSync(join(home.main, "a.txt"), "utf8")).toBe("two\n");
    gitIn(home.main, "reset", "-q", "--hard", "HEAD^");
    const added = await worked(home, hf);
    gitIn(home.main, "switch", "-q", home.branchOf(added));
    commitFiles(home.main, { "mine.txt": "mine\n" }, "of a person");
    gitIn(home.main, "switch", "-q", "main");
    const out = await worked(home, hf);
    gitIn(home.main, "switch", "-q", home.branchOf(out));
    for (const id of [added, out]) {
      const { branches: found } = await hf.removeSession(id, { branches, force: true });
      expect(found).toEqual([
        { name: home.branchOf(id), stays: expect.stringMatching(/person|checked out/) },
      ]);
      expect(gitIn(home.main, "branch", "--list", home.branchOf(id))).toContain(home.branchOf(id));
    }
    gitIn(home.main, "switch", "-q", "main");
    const lost = await worked(home, hf);
    const branch = home.branchOf(lost);
    expect(gitIn(home.main, "branch", "--list", branch)).toContain(branch);
    await hf.removeSession(lost, { branches, force: true });
    expect(gitIn(home.main, "branch", "--list", branch)).toBe("");
  });

  it("leaves the session whole or gone after a crash at any step, and gc finishes the rest", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    for (let dieAt = 1; ; dieAt += 1) {
      const id = await worked(home, hf);
      // The ref that Holdfast makes when it moves the session's branch away from a commit.
      const held = gitIn(home.main, "for-each-ref", "--format=%(refname)", "refs/holdfast/held").split(
        "\n",
      )[0];
      const tips = (held ?? "").replace("/held/", "/tips/").replace(/[^/]+$/, "");
      gitIn(home.main, "update-ref", `${tips}${id}/${"0".repeat(40)}`, home.branchOf(id));
      const disk = new PowerLossDisk(home.join(`attic-${dieAt}`), dieAt);
      const dying = await home.open({ disk });
      const isDone = await dying.removeSession(id).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof PowerLoss)) throw error;
          return false;
        },
      );
      disk.losePower(() => dieAt % 2 === 0);
      const there = (await hf.listSessions()).find((one) => one.id === id);
      if (there) expect((await hf.auditSession(id)).findings).toEqual([]);
      else {
        await (await home.open(later(2))).gc();
        expect(refsOf(home, id)).toEqual([]);
        expect(readdirSync(join(home.dir, "trash")).filter((name) => name.includes(id))).toEqual([]);
      }
      expect(there === undefined || !isDone).toBe(true);
      if (isDone) break;
    }
  });
});
