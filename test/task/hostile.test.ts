/**
 * The attacker controls the command, the set-up, the repo's commits or an export.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openRepo, openStore } from "../../src/capsule/index.ts";
import { encodeManifest } from "../../src/capsule/store/manifest.ts";
import { realDisk, sha256Hex } from "../../src/util/index.ts";
import { commitFiles, fingerprint, gitIn, listTree } from "../support/repo.ts";
import { TaskHome, turn } from "../support/tasks.ts";

describe("set-up", () => {
  it("git-1 a gitdir that set-up plants in a base is never opened, and appears in no capsule", async () => {
    const setup = `mkdir -p .git .evil/refs .evil/objects; echo ../.evil > .git/commondir; printf '[filter "x"]\\n smudge = "touch PWNED-smudge; cat"\\n clean = "touch PWNED-clean; cat"\\n' > .evil/config`;
    using home = new TaskHome({
      "f.txt": "one\n",
      ".gitattributes": "*.txt filter=x\n",
      ".gitignore": ".evil\n",
      "setup.sh": setup,
      "holdfast.yaml": "capsule: { setup: sh ./setup.sh }\n",
    });
    const hf = await home.open();
    for (const content of ["one\n", "two\n"]) {
      commitFiles(home.main, { "f.txt": content }, content);
      const { session, task } = await home.start(hf);
      expect(await turn(task, "cat f.txt; ls .git/commondir 2>/dev/null; git status --porcelain")).toBe(
        content.trim(),
      );
      await task.end("done");
      await session.pause();
    }
    const planted = [...listTree(home.path).keys()].filter((path) => path.includes("PWNED"));
    expect(planted).toEqual([]);
  });
});

describe("restore", () => {
  it("snapshot-2 does not follow links in place of parts of the gitdir, and writes nothing outside", async () => {
    using home = new TaskHome({ "holdfast.yaml": "capsule: { strategy: worktree }\n" });
    const victim = home.join("victim");
    writeFileSync(victim, "untouched");
    const hf = await home.open();
    for (const script of [
      `mv .git/objects x; rm -f x/info/alternates; ln -s ${victim} x/info/alternates; ln -s ../x .git/objects`,
      `rm -rf .git; ln -s ${home.main}/.git .git`,
      "rm -rf .git; echo gitdir: nowhere > .git",
      "rm -rf .git; mkfifo .git",
      "rm -f .git/objects/info/alternates; mkdir -p .git/objects/info/alternates/x",
    ]) {
      const before = fingerprint(home.main);
      const { session, task } = await home.start(hf);
      await turn(task, `${script}; echo work > work`);
      await task.rest();
      await session.pause();
      await hf.tearDownSession(session.id);
      await hf.restoreSession(session.id);
      expect(readFileSync(victim, "utf8"), script).toBe("untouched");
      expect(existsSync(join(home.main, ".git/objects/info/alternates")), script).toBe(false);
      expect(fingerprint(home.main), script).toBe(before);
      expect((await hf.diffSession(session.id)).stat.paths).toContain("work");
    }
  });

  it("a hand-off does not write through a link, and does not take over a nested gitdir", async () => {
    using home = new TaskHome();
    const { hf, session } = await home.atRest(
      `ln -s ${home.join("created")} HANDOFF.md; mkdir -p sub/.git; echo '[core]' > sub/.git/config`,
    );
    await hf.handOffSession(session.id, { to: "ani", directory: home.join("mine") });
    expect(existsSync(home.join("created"))).toBe(false);
    expect(existsSync(home.join("mine/sub/.git"))).toBe(false);
  });
});

describe("the config of the user's repo", () => {
  /** Gives the commit a made-up signature, which is enough for git to start the program that checks it. */
  function sign(repo: string, ref: string): void {
    const commit = gitIn(repo, "cat-file", "commit", ref);
    const end = commit.indexOf("\n\n");
    const signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n none\n -----END PGP SIGNATURE-----";
    const signed = `${commit.slice(0, end)}\n${signature}${commit.slice(end)}\n`;
    const file = join(repo, ".git", "signed");
    writeFileSync(file, signed);
    gitIn(repo, "update-ref", ref, gitIn(repo, "hash-object", "-t", "commit", "-w", file));
    rmSync(file);
  }

  it("git-1 can't make Holdfast run the programs that it names for signatures, diffs and paging", async () => {
    using home = new TaskHome();
    const { main } = home;
    const canary = home.join("canary");
    const fire = home.join("fire.sh");
    writeFileSync(fire, `#!/bin/sh\necho "$0 $*" >> ${canary}\nexit 1\n`, { mode: 0o755 });
    for (const name of ["gpg.program", "gpg.openpgp.program", "diff.external", "core.pager"])
      gitIn(main, "config", name, fire);
    gitIn(main, "config", "log.showSignature", "true");
    sign(main, "refs/heads/main");
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, "echo work > work");
    const { branch } = await task.end("done");
    await session.pause();
    sign(main, `refs/heads/${branch}`);
    const directory = home.join("person");
    await hf.handOffSession(session.id, { to: "ani", directory });
    writeFileSync(join(directory, "more"), "more\n");
    // The signed tip is not the commit that the journal names, even if its trailers say so.
    expect((await hf.takeBackSession(session.id)).unpublished).toMatchObject({ code: "publish_refused" });
    expect((await hf.diffSession(session.id)).stat.paths).toEqual(["more", "work"]);
    expect(existsSync(canary) ? readFileSync(canary, "utf8") : "", "what ran").toBe("");
    expect(gitIn(main, "ls-tree", "--name-only", branch ?? "")).toBe("a.txt\nwork");
    // The user's own git runs the program, so the trap works.
    sign(main, `refs/heads/${branch}`);
    gitIn(main, "log", "-1", branch ?? "");
    expect(readFileSync(canary, "utf8")).toContain("fire.sh");
  });
});

describe("an export that an attacker changed", () => {
  it("snapshot-2 is refused if a manifest has a path twice, a path below a link or a file without content", async () => {
    using home = new TaskHome();
    const { hf, session } = await home.atRest("echo work > work");
    const outside = home.join("outside");
    writeFileSync(outside, "secret", { mode: 0o600 });
    const repo = await openRepo({ dir: home.dir, id: "home_test" }, home.main);
    const store = await openStore(repo, realDisk);
    const facts = {
      base: gitIn(home.main, "rev-parse", "HEAD"),
      lower: gitIn(home.main, "rev-parse", "HEAD"),
      setupKey: "none",
      branch: "b",
      gone: [],
      converted: [],
      omitted: [],
    };
    const entry = (path: string, kind: "file" | "symlink", mode = 0o777) => ({
      path,
      kind,
      mode,
      mtimeMs: 0,
      size: 1,
      role: "work" as const,
    });
    const evil: [string, ReturnType<typeof encodeManifest>][] = [
      ["a path twice", encodeManifest({ ...facts, entries: [entry("x", "file"), entry("x", "symlink")] })],
      ["below a link", encodeManifest({ ...facts, entries: [entry("x", "symlink"), entry("x/y", "file")] })],
      ["no content", encodeManifest({ ...facts, entries: [entry("missing", "file")] })],
    ];
    for (const [what, manifest] of evil) {
      const git = (args: string[], input: string | Buffer) =>
        execFileSync("git", args, {
          env: {
            ...process.env,
            GIT_DIR: store.gitDir,
            GIT_AUTHOR_NAME: "x",
            GIT_AUTHOR_EMAIL: "x",
            GIT_COMMITTER_NAME: "x",
            GIT_COMMITTER_EMAIL: "x",
          },
          input,
          encoding: "utf8",
        }).trim();
      const link = git(["hash-object", "-w", "--stdin"], outside);
      const blob = git(["hash-object", "-w", "--stdin"], manifest);
      const files = git(["mktree"], `120000 blob ${link}\tx\n`);
      const tree = git(["mktree"], `040000 tree ${files}\tfiles\n100644 blob ${blob}\tmanifest.json\n`);
      const commit = git(["commit-tree", tree, "-m", "evil"], "");
      const hostile = await hf.resumeSession(session.id);
      await hostile.append("snapshot_taken", {
        task: 1,
        snapshot: commit,
        tree,
        manifest: sha256Hex(manifest),
        turn: 1,
      });
      await hostile.release();
      const file = home.join(`${what}.holdfast`);
      await hf.exportSession(session.id, file);
      using other = new TaskHome();
      const there = await other.open();
      await expect(there.importSession(file, { repo: home.main }), what).rejects.toMatchObject({
        code: "snapshot_invalid",
      });
      expect(await there.listSessions(), what).toEqual([]);
      expect(statSync(outside).mode & 0o777, what).toBe(0o600);
    }
  });
});
