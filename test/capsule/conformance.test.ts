/**
 * What every strategy must do. The same tests run for each that this machine supports; elsewhere.test.ts runs
 * them again as an ordinary user. What they must do with snapshots is in conformance-snapshots.test.ts.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { contentsOf, publish, userIdentity } from "../../src/capsule/index.ts";
import { CapsuleLab, inside, limits } from "../support/capsules.ts";
import { commitFiles, fingerprint, gitIn, listTree } from "../support/repo.ts";
import { available, treeOf } from "../support/strategies.ts";

describe.each(available)("$strategy", ({ strategy }) => {
  it("a capsule has the files of its base, and git works in it as usual", async () => {
    await using lab = new CapsuleLab(strategy, { files: { "a.txt": "one\n", "src/b.ts": "b\n" } });
    gitIn(lab.main, "branch", "other");
    const capsule = await lab.create();
    expect(await inside(capsule, "git status --porcelain; cat a.txt src/b.ts")).toBe("one\nb");
    await inside(
      capsule,
      "echo two >> a.txt; git commit -qam two; echo x > s; git add s; git stash -q; git log --oneline | wc -l",
    );
    expect(await inside(capsule, "git log --format=%an,%s -1")).toBe("Ani,two");
    expect(
      await inside(
        capsule,
        "git checkout -q -b side other; echo c > c; git add c; git commit -qm c; git rebase -q holdfast/sess_1; git log --format=%s",
      ),
    ).toBe("c\ntwo\nthe first");
    expect(await inside(capsule, "git stash list | wc -l; git diff --stat main | tail -1")).toContain("1\n");
    expect(gitIn(lab.main, "branch", "--format=%(refname:short)")).toBe("main\nother");
  });

  it("gitdir-1 a capsule, new, forked or restored, can read no object of another task", async () => {
    await using lab = new CapsuleLab(strategy);
    const marker = "MARKER-of-another-session";
    const secretive = await lab.create();
    await inside(
      secretive,
      `echo ${marker}-committed > s; git add s; git commit -qm s; echo ${marker}-loose > t`,
    );
    const early = await lab.create();
    await inside(early, "echo mine > mine; git add mine; git commit -qm mine");
    const atFork = await early.snapshot("1", limits);
    await secretive.snapshot("1", limits);
    await inside(early, `echo ${marker}-later > later; git add later; git commit -qm later`);
    await early.snapshot("2", limits);
    const fork = await lab.restore(atFork.commit);
    const own = await early.snapshot("3", limits);
    await lab.remove(early);
    const restored = await lab.restore(own.commit, early.spec.session);
    const all = "git cat-file --batch-all-objects --batch-check='%(objectname)' | git cat-file --batch";
    for (const capsule of [await lab.create(), fork]) {
      const objects = await inside(capsule, all);
      expect(objects).toContain("the first");
      expect(objects).not.toContain(marker);
    }
    expect(await inside(restored, all)).not.toMatch(`${marker}-(committed|loose)`);
  });

  it("git-1 taking, publishing and restoring a snapshot runs no program that an agent planted", async () => {
    await using lab = new CapsuleLab(strategy, {
      files: { "a.txt": "one\n", ".husky/pre-commit": "#!/bin/sh\n" },
    });
    const canary = lab.temp.join("canary");
    const fire = lab.temp.join("fire.sh");
    const program = `#!/bin/sh\necho "$0 $*" >> ${canary}\ncat\n`;
    writeFileSync(fire, program, { mode: 0o755 });
    const hooks = "pre-commit post-checkout post-index-change reference-transaction post-merge pre-auto-gc";
    const plant = `
      for key in core.fsmonitor filter.x.clean filter.x.smudge filter.x.process diff.x.textconv diff.external core.pager core.sshCommand core.alternateRefsCommand; do git config $key ${fire}; done
      git config filter.x.required true
      git config core.hooksPath .husky
      mkdir -p .git/hooks .husky
      for hook in ${hooks}; do for path in .git/hooks-$hook .git/hooks/$hook .husky/$hook; do printf %s "$PROGRAM" > $path; chmod 755 $path; done; done
      echo '* filter=x diff=x' > .gitattributes; mkdir -p .git/info; echo '* filter=x diff=x' > .git/info/attributes
      echo changed > a.txt; echo b > b.txt
      git -c core.fsmonitor=false init -q nested; cp .git/config nested/.git/config; echo n > nested/n; echo '* filter=x' > nested/.gitattributes
      mkdir gitfile; echo "gitdir: ../nested/.git" > gitfile/.git
      echo "${lab.main}/.git" > .git/commondir
      git -c core.fsmonitor=false status >/dev/null 2>&1 || true
      rm -f ${canary}`;
    const capsule = await lab.create();
    await inside(capsule, plant, { PROGRAM: program });
    rmSync(canary, { force: true });
    const before = fingerprint(lab.main);
    const snapshot = await capsule.snapshot("1", limits);
    const store = await capsule.store();
    const repo = await lab.repo();
    const work = await treeOf(lab, snapshot, store);
    await publish({
      repo,
      store,
      disk: lab.io.disk,
      session: "sess_x",
      commit: work.commit,
      base: snapshot.manifest.base,
      branch: "holdfast/x/1",
      ours: [],
      onMove: async () => {},
      identity: { name: "A", email: "a@b" },
    });
    await capsule.settle(snapshot);
    await lab.remove(capsule);
    const again = await lab.restore(snapshot.commit);
    await again.snapshot("2", limits);
    await contentsOf(store, snapshot.commit, snapshot.manifest);
    expect(existsSync(canary) ? readFileSync(canary, "utf8") : "", "what ran").toBe("");
    expect(fingerprint(lab.main)).toBe(before);
    expect(gitIn(lab.main, "show", "holdfast/x/1:a.txt")).toBe("changed");
  });

  it("repo-1 publish-1 task-1 the user's repo gets the published branch and no other change", async () => {
    await using lab = new CapsuleLab(strategy);
    commitFiles(lab.main, { "b.txt": "b\n" }, "the second");
    writeFileSync(join(lab.main, "dirty"), "uncommitted");
    writeFileSync(join(lab.main, "a.txt"), "uncommitted change");
    const before = fingerprint(lab.main);
    const capsule = await lab.create();
    await inside(
      capsule,
      `
      echo x > x; git add x; git commit -qm x; git tag -a evil -m evil; git branch main2; git rebase -q HEAD~1
      git config user.name Somebody; mkdir -p .git/hooks; echo 'exit 1' > .git/hooks/pre-commit
      git update-ref refs/heads/main HEAD; git gc -q; git repack -adq; git reflog expire --expire=now --all; git prune`,
    );
    const snapshot = await capsule.snapshot("1", limits);
    const repo = await lab.repo();
    const store = await capsule.store();
    const work = await treeOf(lab, snapshot, store);
    expect(fingerprint(lab.main), "before it is published").toBe(before);
    expect(gitIn(lab.main, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags")).toBe(
      "refs/heads/main",
    );
    await publish({
      repo,
      store,
      disk: lab.io.disk,
      session: "sess_x",
      commit: work.commit,
      base: snapshot.manifest.base,
      branch: "holdfast/s/1",
      ours: [],
      onMove: async () => {},
      identity: await userIdentity(repo),
    });
    await lab.remove(capsule);
    expect(fingerprint(lab.main)).toBe(before);
    expect(gitIn(lab.main, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags")).toBe(
      "refs/heads/holdfast/s/1\nrefs/heads/main",
    );
    expect(existsSync(join(lab.main, ".git/FETCH_HEAD"))).toBe(false);
    expect(gitIn(lab.main, "log", "--format=%an <%ae> %cn|%P", "-1", "holdfast/s/1")).toBe(
      `Ani <ani@example.org> Ani|${snapshot.manifest.base}`,
    );
    expect(gitIn(lab.main, "diff", "--name-only", "main", "holdfast/s/1")).toBe("x");
    gitIn(lab.main, "fsck", "--strict");
  });

  it("a capsule begins with its set-up, included files and ports, which do not count as work", async () => {
    await using lab = new CapsuleLab(strategy, { files: { "a.txt": "1", ".gitignore": "deps\n.env*\n" } });
    writeFileSync(join(lab.main, ".env.local"), "KEY=1\n", { mode: 0o600 });
    mkdirSync(join(lab.main, ".env.d"));
    writeFileSync(join(lab.main, ".env.d/more"), "2");
    const settings = {
      setup: "mkdir deps; pwd > deps/where; echo installed > deps/it",
      include: [".env.local", ".env.d", "missing"],
      ports: ["PORT", "OTHER"],
    };
    const capsule = await lab.create(settings);
    expect(await inside(capsule, "cat deps/it .env.local .env.d/more; git status --porcelain")).toBe(
      "installed\nKEY=1\n2",
    );
    const { PORT, OTHER } = capsule.spec.ports;
    expect(PORT).toBeGreaterThan(0);
    expect(PORT).not.toBe(OTHER);
    await inside(capsule, "echo more >> deps/it");
    const snapshot = await capsule.snapshot("1", limits);
    const changed = snapshot.manifest.entries
      .filter(({ role }) => role !== "gitdir")
      .map(({ path, role }) => `${role} ${path}`);
    expect(changed, "what set-up and include brought is not the task's doing").toEqual(["ignored deps/it"]);
    await lab.remove(capsule);
    const again = await lab.restore(snapshot.commit, capsule.spec.session, settings);
    expect(await inside(again, "cat deps/it .env.local")).toBe("installed\nmore\nKEY=1");
    expect(
      await again
        .snapshot("2", limits)
        .then(({ manifest }) => manifest.entries.filter(({ role }) => role === "work")),
    ).toEqual([]);
  });

  it("a failed set-up is reported with its output and leaves nothing behind", async () => {
    await using lab = new CapsuleLab(strategy);
    const before = [
      ...listTree(join(lab.home, "sessions")).keys(),
      ...listTree(join(lab.home, "leases")).keys(),
    ];
    const failing = lab.create({
      setup: "echo this is why; mkdir locked; chmod 000 locked; exit 3",
      ports: ["PORT"],
    });
    await expect(failing).rejects.toMatchObject({
      code: "setup_failed",
      facts: expect.objectContaining({ output: expect.stringContaining("this is why") }),
    });
    const left = [
      ...listTree(join(lab.home, "sessions")).keys(),
      ...listTree(join(lab.home, "leases")).keys(),
    ];
    expect(left.filter((path) => path.includes("capsule"))).toEqual(
      before.filter((path) => path.includes("capsule")),
    );
    const bases = join(lab.home, "repos", (await lab.repo()).key, "bases");
    expect(
      existsSync(bases) ? [...listTree(bases).keys()].filter((path) => !path.endsWith(".lock")) : [],
    ).toEqual([]);
    expect(await inside(await lab.create(), "cat a.txt")).toBe("one");
  });
});
