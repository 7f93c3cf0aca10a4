/**
 * What every strategy must do. The same tests run for each that this machine can do; as-user.test.ts runs them
 * again as an ordinary user.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  contentsOf,
  makeWork,
  probeStrategies,
  publish,
  type Snapshot,
  userIdentity,
} from "../../src/capsule/index.ts";
import { CapsuleLab, inside, limits } from "../support/capsules.ts";
import { commitFiles, fingerprint, gitIn, listTree } from "../support/repo.ts";

const probeDir = mkdtempSync(join(tmpdir(), "holdfast-test-"));
const available = (await probeStrategies(probeDir)).filter(({ isAvailable }) => isAvailable);
rmSync(probeDir, { recursive: true });
const who = process.getuid?.() === 0 ? "root" : "an ordinary user";
console.log(
  `capsules as ${who}: ${available.map(({ strategy, detail }) => `${strategy} (${detail})`).join(", ")}`,
);

const notGit = (path: string) => path === ".git" || path.startsWith(".git/");
/** The files of a capsule, without its own gitdir. */
const filesOf = async (capsule: { attach(): Promise<{ root: string }> }) =>
  listTree((await capsule.attach()).root, notGit);
const treeOf = async (
  lab: CapsuleLab,
  { manifest, contents, converted }: Snapshot,
  store: Awaited<ReturnType<typeof storeOf>>,
) => {
  const repo = await lab.repo();
  return makeWork({
    repo,
    store,
    manifest,
    contents,
    converted,
    identity: await userIdentity(repo),
    message: "work\n",
    atMs: 0,
  });
};
const storeOf = (capsule: Awaited<ReturnType<CapsuleLab["create"]>>) => capsule.store();

describe.each(available)("$strategy", ({ strategy }) => {
  it("the files of the base are there, and git works inside as it does anywhere", async () => {
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

  it("K4 K8 a snapshot brings everything back, to the byte and the mode, whatever it is", async () => {
    await using lab = new CapsuleLab(strategy, {
      files: {
        "a.txt": "one\n",
        "dir/x": "x",
        "dir/y": "y",
        "gone/z": "z",
        "file-then-dir": "f",
        ".gitignore": "ignored*\n",
      },
    });
    const capsule = await lab.create();
    const { root } = await capsule.attach();
    const at = (name: string) => join(root, name);
    writeFileSync(at("a.txt"), "changed");
    writeFileSync(at("with space\nand newline"), "n");
    writeFileSync(Buffer.concat([Buffer.from(`${root}/not-utf8-`), Buffer.from([0xff, 0xfe])]), "bytes");
    writeFileSync(at(":(top)magic"), "m");
    writeFileSync(at('quote"back\\slash'), "q");
    writeFileSync(at("CASE"), "1");
    writeFileSync(at("case"), "2");
    writeFileSync(at("run.sh"), "#!/bin/sh\n", { mode: 0o755 });
    writeFileSync(at("private"), "p", { mode: 0o600 });
    writeFileSync(at("crlf.txt"), "a\r\nb\r\n");
    writeFileSync(at("ignored.bin"), Buffer.alloc(100_000, 7));
    writeFileSync(at("empty-file"), "");
    mkdirSync(at("empty-dir/inner"), { recursive: true });
    symlinkSync("/etc/passwd", at("link"));
    symlinkSync("nowhere", at("dangling"));
    rmSync(at("gone"), { recursive: true });
    rmSync(at("dir"), { recursive: true });
    writeFileSync(at("dir"), "a file now");
    rmSync(at("file-then-dir"));
    mkdirSync(at("file-then-dir/deep"), { recursive: true });
    writeFileSync(at("file-then-dir/deep/f"), "f");
    for (const name of [".GIT", "git~1", "sub/.git"]) {
      mkdirSync(at(name), { recursive: true });
      writeFileSync(join(at(name), "config"), "[core]\n");
    }
    await inside(capsule, "git init -q nested");
    writeFileSync(at("nested/inside"), "kept");
    execFileSync("mkfifo", [at("pipe")]);
    chmodSync(at("pipe"), 0o640);
    await inside(capsule, "mkfifo \"$(printf 'pipe-\\377')\"");
    writeFileSync(at("locked-file"), "secret", { mode: 0o000 });
    mkdirSync(at("locked-dir"));
    writeFileSync(at("locked-dir/inside"), "still here");
    chmodSync(at("locked-dir"), 0o000);

    const before = await filesOf(capsule);
    expect(before.get("pipe-\xff")).toMatch(/^fifo /);
    const snapshot = await capsule.snapshot("1", limits);
    expect(await filesOf(capsule), "a snapshot changes nothing").toEqual(before);
    await lab.remove(capsule);
    expect(existsSync(capsule.layout.dir)).toBe(false);
    const again = await lab.restore(snapshot.commit, capsule.spec.session);
    expect(await filesOf(again)).toEqual(before);
    const second = await again.snapshot("2", limits);
    const store = await again.store();
    expect((await treeOf(lab, second, store)).tree).toBe((await treeOf(lab, snapshot, store)).tree);
    const roles = new Map(snapshot.manifest.entries.map(({ path, role }) => [path, role]));
    expect(roles.get("ignored.bin")).toBe("ignored");
    expect(roles.get("nested/inside")).toBe("work");
    expect(roles.get("nested/.git/HEAD")).toBe("aside");
    expect(roles.get("crlf.txt")).toBe("work");
    chmodSync(join((await again.attach()).root, "locked-dir"), 0o700);
  });

  it("directories that were moved, over others too, come back as they were", async () => {
    await using lab = new CapsuleLab(strategy, {
      files: {
        "d/sub/x": "x",
        "d/same": "1",
        "p/LICENSE": "l",
        "p/index": "i",
        "q/LICENSE": "l",
        "q/other": "o",
        "e/sub/y": "y",
        "e/same": "2",
        "e/other": "3",
        "f/z": "z",
      },
    });
    const capsule = await lab.create();
    await inside(
      capsule,
      "rm -rf q; mv p q; rm -rf d; mv e d; mv f g; rm -rf g/z; mkdir -p h; mv g h/g; rm -r d/sub; mkdir d/sub; echo n > d/sub/new",
    );
    const before = await filesOf(capsule);
    const first = await capsule.snapshot("1", limits);
    await capsule.settle(first);
    await inside(capsule, "mv d i; mv h d");
    const later = await filesOf(capsule);
    const second = await capsule.snapshot("2", limits);
    await capsule.settle(second);
    for (const [{ commit }, expected] of [
      [first, before],
      [second, later],
    ] as const) {
      const fork = await lab.restore(commit);
      expect(await filesOf(fork)).toEqual(expected);
      rmSync(join(lab.home, "repos", (await lab.repo()).key, "layers", `${commit}.json`), { force: true });
      expect(await filesOf(await lab.restore(commit))).toEqual(expected);
    }
  });

  it("a path of 3,000 directories is kept, where paths end at 4,096 bytes", async () => {
    await using lab = new CapsuleLab(strategy);
    const capsule = await lab.create();
    // A shell keeps the whole path, and gives up at its limit.
    await inside(
      capsule,
      `perl -e 'for (1..3000) { mkdir "d"; chdir "d" or die } open F, ">f"; print F "bottom"'`,
    );
    const snapshot = await capsule.snapshot("1", limits);
    const deepest = `${"d/".repeat(3000)}f`;
    expect(snapshot.manifest.entries.some(({ path }) => path === deepest)).toBe(true);
    await lab.remove(capsule);
    const again = await lab.restore(snapshot.commit);
    expect(await inside(again, `perl -e 'for (1..3000) { chdir "d" or die } open F, "f"; print <F>'`)).toBe(
      "bottom",
    );
    await lab.remove(again);
    execFileSync("rm", ["-rf", ...[lab.trash]]);
  });

  it("K3 a file that was changed under its old size and time is in the tree", async () => {
    await using lab = new CapsuleLab(strategy, { files: { "a.txt": "honest\n" } });
    const capsule = await lab.create();
    await inside(
      capsule,
      "git status; touch -r a.txt ref; printf 'forged\\n' > a.txt; touch -r ref a.txt; rm ref",
    );
    const snapshot = await capsule.snapshot("1", limits);
    const { commit } = await treeOf(lab, snapshot, await capsule.store());
    expect(snapshot.manifest.entries.map(({ path }) => path)).toContain("a.txt");
    const store = await capsule.store();
    const env = {
      ...process.env,
      GIT_DIR: store.gitDir,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: join(lab.main, ".git/objects"),
    };
    expect(execFileSync("git", ["cat-file", "blob", `${commit}:a.txt`], { env, encoding: "utf8" })).toBe(
      "forged\n",
    );
  });

  it("K6 no object of another task can be read: not beside it, not in a fork, not after a restore", async () => {
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

  it("K1 nothing that an agent plants is run by us, whatever is done with the capsule", async () => {
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

  it("K5 K9 T1 the user's repo is as it was, but for the branch: commits, rebases, gc, config, hooks, tags inside", async () => {
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

  it("set-up runs at the path where tasks see it, before they start; includes and ports come with the capsule", async () => {
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

  it("a set-up that fails is an error with its output, and leaves nothing behind", async () => {
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

  it("K7 K13 a sealed layer and what a process of the task wrote after: the snapshot stays what it was", async () => {
    await using lab = new CapsuleLab(strategy);
    const capsule = await lab.create();
    // Holds its file open, and writes as long as it lives.
    await inside(capsule, `(exec 9>>log; while :; do echo tick >&9; done) >/dev/null 2>&1 & sleep 0.1`, {
      HOLDFAST_CAPSULE: capsule.layout.dir,
    });
    await capsule.detach();
    const snapshot = await capsule.snapshot("1", limits);
    await capsule.settle(snapshot);
    const fork = await lab.restore(snapshot.commit);
    const log = snapshot.manifest.entries.find(({ path }) => path === "log");
    const grown = statSync(join((await fork.attach()).root, "log")).size;
    expect(grown).toBe(log?.size);
    const again = await fork.snapshot("2", limits);
    const ids = (one: Snapshot) => [...one.contents].filter(([path]) => !path.startsWith(".git/")).sort();
    expect(ids(again)).toEqual(ids(snapshot));
  });

  it("times and an unchanged tree survive: a restore is no reason to build everything again", async () => {
    await using lab = new CapsuleLab(strategy);
    const capsule = await lab.create();
    const { root } = await capsule.attach();
    writeFileSync(join(root, "built"), "x");
    utimesSync(join(root, "built"), 1_700_000_000, 1_700_000_000);
    const snapshot = await capsule.snapshot("1", limits);
    await lab.remove(capsule);
    const again = await lab.restore(snapshot.commit);
    expect(statSync(join((await again.attach()).root, "built")).mtimeMs).toBe(1_700_000_000_000);
    expect(await inside(again, "git status --porcelain")).toBe("?? built");
  });
});
