/**
 * SIGKILL in the middle of a rebase: at each of its records, and at each program that it starts. Neither the
 * user nor the session loses anything, and running the rebase again completes it.
 */
import { expect, it } from "vitest";
import type { LocalHome } from "../../src/library/local-home.ts";
import { TestChild } from "../support/children.ts";
import { commitFiles, fingerprint, gitIn } from "../support/repo.ts";
import { inCapsule, sandbox, TaskHome, turn } from "../support/tasks.ts";

/** The records of a rebase, in their order. */
const RECORDS = ["snapshot_taken", "publishing_started", "work_published"];
/** The programs at which the rebase is killed, by number. The long run tries each one. */
const PROGRAMS = process.env["HOLDFAST_LONG"] ? Array.from({ length: 80 }, (_, at) => at + 1) : [10, 20];

const CUTS = [
  ...RECORDS.flatMap((type) => [
    { when: "before", what: type },
    { when: "after", what: type },
  ]),
  ...PROGRAMS.map((count) => ({ when: "at", what: String(count) })),
];

/** A session with two tasks, an ignored file and an empty directory, which git has in no tree. */
async function worked(home: TaskHome, hf: LocalHome): Promise<string> {
  const { session, task } = await home.start(hf, "the work");
  await turn(task, "echo n > n.txt; echo ignored > x.log; echo '*.log' > .gitignore; mkdir empty");
  await task.end("done");
  const second = await hf.startTask(session, sandbox);
  await turn(second, "sed -i s/1/one/ a.txt");
  await second.end("done");
  await session.pause();
  return session.id;
}

it(`a rebase that is killed at any of ${CUTS.length} points loses nothing and is completed when it is run again`, {
  timeout: 30 * 60_000,
}, async () => {
  using home = new TaskHome({ "a.txt": "1\n2\n3\n4\n5\n" });
  // Otherwise git would start a gc of its own now and then.
  gitIn(home.main, "config", "gc.auto", "0");
  const hf = await home.open();
  const cut: string[] = [];
  for (const { when, what } of CUTS) {
    const which = `${when} ${what}`;
    gitIn(home.main, "reset", "-q", "--hard", gitIn(home.main, "rev-list", "--max-parents=0", "main"));
    const id = await worked(home, hf);
    const branch = home.branchOf(id);
    const old = gitIn(home.main, "rev-parse", branch);
    commitFiles(home.main, { "a.txt": "1\n2\n3\n4\nfive\n", "c.txt": "c\n" }, "by a person");
    const before = fingerprint(home.main);
    const kept = () =>
      gitIn(
        home.main,
        "for-each-ref",
        "--contains",
        old,
        "--format=%(refname)",
        `refs/heads/${branch}`,
        "refs/holdfast/",
      );
    await using child = new TestChild("move-and-die.ts", [home.dir, id, "rebase", when, what]);
    await child.ended();
    const isCut = !child.lines.some((line) => line.startsWith("moved"));
    if (isCut) cut.push(which);
    else expect(when, child.stderr).toBe("at");
    expect(fingerprint(home.main), which).toBe(before);
    expect(kept(), which).not.toBe("");

    const { commit } = await hf.rebaseSession(id);
    expect(fingerprint(home.main), which).toBe(before);
    expect(kept(), which).not.toBe("");
    expect(gitIn(home.main, "rev-parse", branch), which).toBe(commit);
    expect(gitIn(home.main, "log", "--format=%s", `main..${branch}`).split("\n"), which).toHaveLength(2);
    expect(gitIn(home.main, "show", `${branch}:a.txt`), which).toBe("one\n2\n3\n4\nfive");
    expect(await hf.rebaseSession(id), which).toMatchObject({ isNew: false, commit });
    expect((await hf.diffSession(id)).stat.paths, which).toEqual(["a.txt"]);
    const session = await hf.resumeSession(id);
    const seen = await inCapsule(
      hf,
      session,
      "cat a.txt c.txt n.txt x.log; ls -d empty; git status --porcelain -uno | wc -l",
    );
    expect(seen, which).toMatch(/^one\n2\n3\n4\nfive\nc\nn\nignored\nempty\n/);
    const next = await hf.startTask(session, sandbox);
    expect(next.base, which).toBe(commit);
    await turn(next, "echo 3 > third.txt");
    expect((await next.end("done")).stat.paths, which).toEqual(["third.txt"]);
    await session.pause();
    expect((await hf.auditSession(id)).findings, which).toEqual([]);
  }
  // The kill hit each of the records, and at least one of the programs.
  expect(cut).toEqual(
    expect.arrayContaining(CUTS.slice(0, 2 * RECORDS.length).map(({ when, what }) => `${when} ${what}`)),
  );
  expect(cut.length).toBeGreaterThan(2 * RECORDS.length);
  await hf.gc();
  expect((await hf.examine()).filter(({ what }) => what === "left over")).toEqual([]);
  expect(home.strays()).toEqual([]);
});
