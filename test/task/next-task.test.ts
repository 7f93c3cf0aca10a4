/**
 * A session with several tasks: each goes on with what the one before left.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LocalHome } from "../../src/library/local-home.ts";
import { commitFiles, gitIn, makeRepo } from "../support/repo.ts";
import { sandbox, TaskHome } from "../support/tasks.ts";

describe("the next task of a session", () => {
  const one = async (hf: LocalHome, id: string, script: string, outcome: "done" | "failed" = "done") => {
    await using session = await hf.resumeSession(id, { files: false });
    const task = await hf.startTask(session, sandbox);
    let said = "";
    await task.runTurn(["sh", "-c", script], {
      onOutput: (chunk) => {
        said += chunk;
      },
    });
    const end = await task.end(outcome);
    return { said: said.trimEnd(), ...end };
  };

  it("begins with the files that the last one left: published, unpublished, taken back, forked or merged", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await task.runTurn(["sh", "-c", "echo 1 > one"]);
    await task.end("done");
    await session.pause();
    expect((await one(hf, session.id, "cat one; echo 2 > two", "failed")).branch).toBeNull();
    expect((await one(hf, session.id, "cat one two")).said).toBe("1\n2");
    const third = await one(hf, session.id, "cat one two; echo 3 > three");
    expect(third.said).toBe("1\n2");
    expect(gitIn(home.main, "ls-tree", "--name-only", third.branch ?? "")).toBe("a.txt\none\nthree\ntwo");
    const directory = home.join("person");
    await hf.handOffSession(session.id, { to: "ani", directory });
    writeFileSync(join(directory, "four"), "4\n");
    await hf.takeBackSession(session.id);
    expect(gitIn(home.main, "show", `${third.branch}:four`)).toBe("4");
    expect((await one(hf, session.id, "ls")).said).toContain("four");
    const fork = await hf.forkSession(session.id, { atTurn: 2 });
    expect((await hf.currentTask(fork, sandbox)).number).toBe(2);
    await (await hf.currentTask(fork, sandbox)).rest();
    await fork.pause();
    expect((await one(hf, fork.id, "ls")).said).toBe("a.txt\none\ntwo");
    const last = (await hf.showSession(session.id)).task?.branch ?? third.branch ?? "";
    gitIn(home.main, "merge", "-q", "--ff-only", last);
    gitIn(home.main, "branch", "-D", last);
    commitFiles(home.main, { five: "5\n" }, "the user's own");
    expect((await one(hf, session.id, "ls")).said).toBe("a.txt\nfive\nfour\none\nthree\ntwo");
  });

  it("does not lose a submodule that a later commit of the user added", async () => {
    using home = new TaskHome();
    const other = makeRepo(home.join("other"));
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await task.end("done");
    await session.pause();
    execFileSync("git", ["-c", "protocol.file.allow=always", "submodule", "add", "-q", other, "mod"], {
      cwd: home.main,
      stdio: "ignore",
    });
    gitIn(home.main, "commit", "-qm", "with a submodule");
    const later = await home.start(hf);
    await later.task.runTurn(["sh", "-c", "echo n > new"]);
    const { branch } = await later.task.end("done");
    await later.session.pause();
    expect(gitIn(home.main, "diff", "--name-only", "main", `${branch}`)).toBe("new");
  });

  it("keeps a submodule at the commit to which a person moved it on the session's branch", async () => {
    using home = new TaskHome();
    const other = makeRepo(home.join("other"));
    execFileSync("git", ["-c", "protocol.file.allow=always", "submodule", "add", "-q", other, "mod"], {
      cwd: home.main,
      stdio: "ignore",
    });
    gitIn(home.main, "commit", "-qm", "with a submodule");
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await task.runTurn(["sh", "-c", "echo 1 > one"]);
    const { branch } = await task.end("done");
    await session.pause();
    const moved = commitFiles(other, { "b.txt": "b\n" }, "further");
    gitIn(home.main, "switch", "-q", branch ?? "");
    gitIn(home.main, "update-index", "--cacheinfo", `160000,${moved},mod`);
    gitIn(home.main, "commit", "-qm", "the submodule goes on");
    gitIn(home.main, "reset", "-q", "--hard");
    gitIn(home.main, "switch", "-q", "main");
    const next = await one(hf, session.id, "cat one; echo 2 > two");
    expect(next.said).toBe("1");
    expect(gitIn(home.main, "ls-tree", branch ?? "", "mod")).toContain(moved);
    expect(gitIn(home.main, "diff", "--name-only", `${branch}^`, branch ?? "")).toBe("two");
  });
});
