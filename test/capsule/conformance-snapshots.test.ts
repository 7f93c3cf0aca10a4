/**
 * What every strategy must do with snapshots: each is exact, and restores everything. The same tests run for
 * each strategy that this machine supports; elsewhere.test.ts runs them again as an ordinary user.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Snapshot } from "../../src/capsule/index.ts";
import { CapsuleLab, inside, limits } from "../support/capsules.ts";
import { available, filesOf, treeOf } from "../support/strategies.ts";

describe.each(available)("$strategy", ({ strategy }) => {
  it("files-3 snapshot-1 a snapshot restores every kind of file with its exact bytes and mode", async () => {
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

  it("a snapshot restores directories that were moved, even in the place of other directories", async () => {
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

  it("a snapshot keeps a path of 3,000 directories, though the system limits paths to 4,096 bytes", async () => {
    await using lab = new CapsuleLab(strategy);
    const capsule = await lab.create();
    // Not with a shell: it keeps track of the whole path, and fails at the limit.
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

  it("files-2 a snapshot has a change that kept the file's size and time", async () => {
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

  it("store-1 layer-1 a snapshot stays the same although a process of the task keeps writing", async () => {
    await using lab = new CapsuleLab(strategy);
    const capsule = await lab.create();
    // A process that holds its file open, and writes as long as it lives.
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

  it("a restore keeps file times and a clean status, so nothing has to be built again", async () => {
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
