/**
 * What went wrong once, and must not again.
 */
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TestChild } from "../support/children.ts";
import { commitFiles, gitIn } from "../support/repo.ts";
import { inCapsule, sandbox, TaskHome, turn } from "../support/tasks.ts";
import { acceptFile } from "../support/trust.ts";

describe("what went wrong once", () => {
  it("an include that the task changed is not brought back to what it was", async () => {
    using home = new TaskHome({
      "a.txt": "1",
      ".gitignore": ".env\n",
      "holdfast.yaml": "capsule: { include: [.env] }\n",
    });
    writeFileSync(join(home.main, ".env"), "original");
    await acceptFile(home);
    const { hf, session } = await home.atRest("printf changed > .env");
    for (const isLayered of [true, false]) {
      await hf.tearDownSession(session.id);
      if (!isLayered) execFileSync("sh", ["-c", `rm -rf ${home.dir}/repos/*/layers`]);
      const resumed = await hf.resumeSession(session.id);
      expect(await inCapsule(hf, resumed, "cat .env")).toBe("changed");
      await (await hf.currentTask(resumed, sandbox)).end("cancelled");
      await resumed.pause();
    }
  });

  it("an include that the task removed stays away", async () => {
    using home = new TaskHome({ ".gitignore": ".env\n", "holdfast.yaml": "capsule: { include: [.env] }\n" });
    writeFileSync(join(home.main, ".env"), "original");
    await acceptFile(home);
    const { hf, session } = await home.atRest("rm .env");
    for (let round = 0; round < 3; round += 1) {
      await hf.tearDownSession(session.id);
      if (round > 0) execFileSync("sh", ["-c", `rm -rf ${home.dir}/repos/*/layers`]);
      const resumed = await hf.resumeSession(session.id);
      expect(await inCapsule(hf, resumed, "ls -A .env 2>/dev/null"), String(round)).toBe("");
      await (await hf.currentTask(resumed, sandbox)).rest();
      await resumed.pause();
    }
  });

  it("layers that somebody took away: the snapshot has all of it", async () => {
    using home = new TaskHome();
    const { hf, session } = await home.atRest("echo kept > kept");
    execFileSync("sh", ["-c", `rm -rf ${home.dir}/repos/*/layers ${home.dir}/repos/*/bases`]);
    const resumed = await hf.resumeSession(session.id);
    expect(await inCapsule(hf, resumed, "cat kept")).toBe("kept");
    await (await hf.currentTask(resumed, sandbox)).rest();
    await resumed.pause();
  });

  it("a capsule that was made and never recorded gives way to the next, and the session goes on", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    await using child = new TestChild("die-before-record.ts", [home.dir, home.main]);
    const id = (await child.line((line) => line.startsWith("sess_"))).trim();
    await child.ended();
    expect((await hf.showSession(id)).task).toBeNull();
    expect(existsSync(home.capsuleDir(id))).toBe(true);
    const resumed = await hf.resumeSession(id);
    const task = await hf.startTask(resumed, sandbox);
    expect(task.number).toBe(1);
    await task.end("done");
    await resumed.pause();
  });

  it("a task that can't be started takes nothing from its session", async () => {
    using home = new TaskHome({
      "package.json": "{}",
      "holdfast.yaml": "capsule: { setup: '! grep -q broken package.json' }\n",
    });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "echo work > work; echo broken > package.json");
    const { branch } = await task.end("done");
    const begun = hf.startTask(session, { ...sandbox, base: branch ?? "" });
    await expect(begun).rejects.toMatchObject({ code: "setup_failed" });
    await session.pause();
    expect((await hf.diffSession(session.id)).stat.paths).toEqual(["package.json", "work"]);
    await hf.restoreSession(session.id);
    expect(await hf.discardUnused(await hf.resumeSession(session.id))).toBe(false);
  });

  it("what git can't convert is published as it is, and everything else with it", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(
      task,
      "echo '*.q working-tree-encoding=NONSENSE' > .gitattributes; printf abc > x.q; echo y > y",
    );
    const { branch } = await task.end("done");
    await session.pause();
    expect(gitIn(home.main, "show", `${branch}:x.q`)).toBe("abc");
    expect(gitIn(home.main, "show", `${branch}:y`)).toBe("y");
  });

  it("K6 what a failed task left is carried on, and read by nobody else", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "echo topsecret-unpublished > x; git add x; git commit -qm x");
    await task.end("failed");
    const next = await hf.startTask(session, sandbox);
    expect(await turn(next, "cat x; echo more > y")).toBe("topsecret-unpublished");
    await next.end("failed");
    await session.pause();
    const other = await home.start(hf);
    const all = "git cat-file --batch-all-objects --batch-check='%(objectname)' | git cat-file --batch";
    expect(await turn(other.task, all)).not.toContain("topsecret");
    await other.task.end("done");
    await other.session.pause();
  });

  it("a locked root is no reason to fail", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    for (const mode of ["000", "555"]) {
      const { session, task } = await home.start(hf);
      await turn(task, `echo x > x; chmod ${mode} .`);
      expect((await task.end("done")).stat.paths).toEqual(["x"]);
      await session.pause();
      await hf.tearDownSession(session.id);
    }
  });

  it("a session that is archived or closed: what is refused leaves nothing behind", async () => {
    using home = new TaskHome();
    const { hf, session } = await home.atRest("echo a > a");
    await hf.archiveSession(session.id);
    await expect(hf.restoreSession(session.id)).rejects.toMatchObject({ code: "illegal_transition" });
    await expect(hf.tearDownSession(session.id)).rejects.toMatchObject({ code: "illegal_transition" });
    expect(existsSync(home.capsuleDir(session.id))).toBe(false);
  });

  it("ignored files beyond the limit don't reach the store, and don't keep the rest from it", async () => {
    using home = new TaskHome({
      ".gitignore": "*.log\n",
      "holdfast.yaml": "capsule: { max_snapshot_mb: 4, max_ignored_mb: 1 }\n",
    });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(
      task,
      "for i in 1 2 3 4 5 6 7 8 9; do head -c 900000 /dev/urandom > $i.log; done; echo work > work",
    );
    const end = await task.end("done");
    await session.pause();
    expect(end.omitted).toHaveLength(8);
    expect(end.stat.paths).toEqual(["work"]);
    const size = Number(
      execFileSync("sh", ["-c", `du -sk ${home.dir}/repos/*/store.git | cut -f1`], { encoding: "utf8" }),
    );
    expect(size).toBeLessThan(3000);
  });

  it("binary files keep their bytes, whatever the attributes say of others", async () => {
    using home = new TaskHome({ ".gitattributes": "* text=auto eol=lf\n*.png binary\n", "crlf.txt": "x\n" });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(
      task,
      "printf '\\211PNG\\r\\n\\032\\n' > i.png; printf '\\211PNG\\r\\n\\032\\n\\1\\2\\3' > no-extension; printf 'a\\r\\n' > t",
    );
    const { branch } = await task.end("done");
    await session.pause();
    const bytes = (path: string) =>
      execFileSync("git", ["cat-file", "blob", `${branch}:${path}`], { cwd: home.main, encoding: "latin1" });
    expect([bytes("i.png"), bytes("no-extension"), bytes("t")]).toEqual([
      "\u0089PNG\r\n\u001a\n",
      "\u0089PNG\r\n\u001a\n\u0001\u0002\u0003",
      "a\n",
    ]);
  });

  it("encodings, $Id$ and ends of lines are published as git would", async () => {
    using home = new TaskHome({
      ".gitattributes": "*.u16 working-tree-encoding=UTF-16\n*.id ident\n*.bat eol=crlf\n",
      "a.id": "$Id$\n",
      "w.bat": "x\n",
      "u.u16": "",
    });
    const hf = await home.open();
    for (const strategy of ["auto", "worktree"]) {
      commitFiles(home.main, { "holdfast.yaml": `capsule: { strategy: ${strategy} }\n` }, strategy);
      const { session, task } = await home.start(hf);
      await task.end("done");
      const changed = await hf.startTask(session, sandbox);
      const script =
        "printf '\\376\\377\\000h\\000i' > u.u16; echo more >> a.id; touch w.bat; printf 'y\\r\\n' >> w.bat; git add -A; git write-tree";
      let said = "";
      await changed.runTurn(["sh", "-c", script], {
        onOutput: (chunk) => {
          said += chunk;
        },
      });
      const end = await changed.end("done");
      await session.pause();
      expect(end.stat.paths, strategy).toEqual(["a.id", "u.u16", "w.bat"]);
      expect(end.tree, "what git itself makes of it").toBe(said.trim());
    }
  });

  it("an include that is tracked is a file like any other", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "holdfast.yaml": "capsule: { include: [a.txt] }\n" });
    writeFileSync(join(home.main, "a.txt"), "dirty\n");
    await acceptFile(home);
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await task.runTurn(["sh", "-c", "echo two >> a.txt"]);
    const { branch } = await task.end("done");
    await session.pause();
    expect(gitIn(home.main, "show", `${branch}:a.txt`)).toBe("one\ntwo");
  });

  it("pipes in the place of .gitignore and .gitattributes keep nobody waiting", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(
      task,
      "mkdir d; mkfifo d/.gitignore; echo x > d/x; echo y > y; rm -f .git/index; mkfifo .git/index",
    );
    const { stat } = await task.end("done");
    await session.pause();
    expect(stat.paths).toEqual(["y"]);
  });

  it("a branch that somebody else moved is not overwritten", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "echo 1 > f");
    const { branch } = await task.end("done");
    await turn(task, "echo 2 > f");
    await task.end("done");
    expect(gitIn(home.main, "show", `${branch}:f`)).toBe("2");
    const theirs = gitIn(home.main, "commit-tree", "-p", "main", "-m", "by a person", "main^{tree}");
    gitIn(home.main, "update-ref", `refs/heads/${branch}`, theirs);
    await turn(task, "echo 3 > f");
    expect(await task.end("done")).toMatchObject({ branch: null, unpublished: { code: "publish_refused" } });
    expect(gitIn(home.main, "rev-parse", `${branch}`)).toBe(theirs);
    expect(home.strays()).toEqual([]);
    await session.pause();
  });
});
