/**
 * Merges where the branch is not simply the clean checkout's: each works or is refused in clear words, and the
 * user's files, the session and its journal are then as they were.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { eventsOf, worked } from "../support/merging.ts";
import { commitFiles, gitIn, listTree } from "../support/repo.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

const FILES = { "a.txt": "1\n2\n3\n", "b.txt": "b\n" };
const WORK = "sed -i s/1/one/ a.txt; mkdir dir; echo n > dir/n.txt";

interface Obstacle {
  readonly what: string;
  readonly put: (home: TaskHome) => void;
  readonly message: RegExp;
  readonly clear: (home: TaskHome) => void;
}

const linked = (home: TaskHome) => home.join("linked");

const OBSTACLES: readonly Obstacle[] = [
  {
    what: "the checkout has a change that is not staged",
    put: ({ main }) => writeFileSync(join(main, "b.txt"), "mine\n"),
    message: /main was not moved: .* is not clean, b\.txt changed: commit or stash that first/,
    clear: ({ main }) => gitIn(main, "checkout", "-q", "b.txt"),
  },
  {
    what: "the checkout has a staged change",
    put: ({ main }) => {
      writeFileSync(join(main, "mine.txt"), "mine\n");
      gitIn(main, "add", "mine.txt");
    },
    message: /is not clean, mine\.txt changed/,
    clear: ({ main }) => gitIn(main, "rm", "-qf", "mine.txt"),
  },
  {
    what: "an untracked file is in the way",
    put: ({ main }) => {
      mkdirSync(join(main, "dir"));
      writeFileSync(join(main, "dir/n.txt"), "mine\n");
    },
    message: /would overwrite dir\/n\.txt, which is not committed in .*: move it away first/,
    clear: ({ main }) => rmSync(join(main, "dir"), { recursive: true }),
  },
  {
    what: "a rebase is under way",
    put: ({ main }) => {
      gitIn(main, "checkout", "-q", "-b", "other", "main");
      commitFiles(main, { "b.txt": "other\n" }, "other");
      gitIn(main, "checkout", "-q", "main");
      commitFiles(main, { "b.txt": "main\n" }, "main");
      expect(() => gitIn(main, "rebase", "-q", "other")).toThrow();
    },
    message: /a rebase is under way in .*: end it first/,
    clear: ({ main }) => gitIn(main, "rebase", "--abort"),
  },
  {
    what: "another working tree has the branch, and is not clean",
    put: (home) => {
      gitIn(home.main, "checkout", "-q", "-b", "elsewhere");
      gitIn(home.main, "worktree", "add", "-q", linked(home), "main");
      writeFileSync(join(linked(home), "b.txt"), "mine\n");
    },
    message: /linked is not clean, b\.txt changed/,
    clear: (home) => gitIn(linked(home), "checkout", "-q", "b.txt"),
  },
];

describe("a merge", () => {
  it.each(OBSTACLES)("is refused and changes nothing if $what", async ({ put, message, clear }) => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const id = await worked(home, hf, WORK);
    put(home);
    // The time of an entry in the index may be looked at again.
    const isOurs = (path: string) => /^\.git\/(objects|(worktrees\/[^/]*\/)?index$)/.test(path);
    const filesNow = () => [
      listTree(home.main, isOurs),
      existsSync(linked(home)) && listTree(linked(home)),
      gitIn(home.main, "diff", "--cached"),
    ];
    const [files, session, records] = [filesNow(), await hf.showSession(id), await eventsOf(hf, id, /./)];
    await expect(hf.mergeSession(id, { into: "main" })).rejects.toMatchObject({
      code: "merge_refused",
      exitStatus: 5,
      message: expect.stringMatching(message),
    });
    expect(filesNow()).toEqual(files);
    const { status, task, branch, merged } = await hf.showSession(id);
    expect({ status, task, branch, merged }).toEqual({
      ...{ status: session.status, task: session.task, branch: session.branch },
      merged: null,
    });
    // What was verified meanwhile is on record, and nothing of a merge.
    const since = (await eventsOf(hf, id, /./)).slice(records.length).map(({ type }) => type);
    expect(since.filter((type) => type !== "verification_ended")).toEqual([]);
    clear(home);
    const { commit } = await hf.mergeSession(id, { into: "main" });
    expect(gitIn(home.main, "rev-parse", "main")).toBe(commit);
    expect(gitIn(home.main, "show", "main:dir/n.txt")).toBe("n");
    expect(gitIn(home.main, "status", "--porcelain")).toBe("");
    const at = existsSync(linked(home)) ? linked(home) : home.main;
    expect(readFileSync(join(at, "a.txt"), "utf8")).toBe("one\n2\n3\n");
  });

  it("moves the ref alone in a bare repo, and the session goes on there", async () => {
    using home = new TaskHome(FILES);
    const bare = home.join("bare.git");
    gitIn(home.main, "clone", "-q", "--bare", home.main, bare);
    const hf = await home.open();
    const session = await hf.openSession({ repo: bare, title: "in a bare repo" });
    for (const [script, from] of [
      [WORK, "1"],
      ["sed -i s/2/two/ a.txt", "2"],
    ] as const) {
      const owned = from === "1" ? session : await hf.resumeSession(session.id);
      const task = await hf.startTask(owned, sandbox);
      await turn(task, script);
      await task.end("done");
      await owned.pause();
      const before = listTree(bare, (path) => /^(objects|refs|packed-refs|logs)/.test(path));
      const { commit } = await hf.mergeSession(session.id);
      expect(gitIn(bare, "rev-parse", "main")).toBe(commit);
      expect(listTree(bare, (path) => /^(objects|refs|packed-refs|logs)/.test(path))).toEqual(before);
    }
    expect(gitIn(bare, "show", "main:a.txt")).toBe("one\ntwo\n3");
    expect(gitIn(bare, "log", "--format=%s", "main").split("\n")).toHaveLength(3);
    expect(gitIn(bare, "fsck", "--strict", "--no-dangling")).toBe("");
  });
});
