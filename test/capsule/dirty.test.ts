/**
 * Making a commit of the user's checkout as it is, with uncommitted changes.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commitCheckout, isUsersCommit, openRepo } from "../../src/capsule/index.ts";
import { openHome } from "../../src/home/index.ts";
import { TempDir } from "../support/home.ts";
import { commitFiles, fingerprint, gitIn, makeRepo } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

class Lab extends TempDir {
  readonly main: string;
  #count = 0;

  constructor(files: Record<string, string>) {
    super();
    this.main = makeRepo(this.join("main"), files);
    mkdirSync(this.join("home"));
  }

  write(path: string, content: string): void {
    mkdirSync(join(this.main, path, ".."), { recursive: true });
    writeFileSync(join(this.main, path), content);
  }

  async commit(checkout = this.main): Promise<string | null> {
    const repo = await openRepo({ dir: this.join("home"), id: "home_x" }, checkout);
    this.#count += 1;
    const aside = this.join(`aside-${this.#count}`);
    const atMs = 1_700_000_000_000 + this.#count;
    const commit = await commitCheckout(repo, { session: "sess_1", aside, atMs });
    expect(existsSync(aside)).toBe(false);
    if (commit !== null) expect(await isUsersCommit(repo, commit)).toBe(true);
    return commit;
  }
}

describe("a commit of the checkout", () => {
  it("dirty-1 has what `git add -A` would take, and leaves the user's repo untouched", async () => {
    using lab = new Lab({
      "same.txt": "same\n",
      "changed.txt": "one\n",
      "gone.txt": "gone\n",
      "mode.sh": "true\n",
      "file-to-dir": "x\n",
      "dir-to-file/a": "x\n",
      "crlf.txt": "one\n",
      "unstaged.txt": "x\n",
      ".gitignore": "ignored\n*.o\n",
      ".gitattributes": "crlf.txt text\n*.up filter=up\n",
    });
    const head = gitIn(lab.main, "rev-parse", "HEAD");
    expect(await lab.commit()).toBe(head);
    gitIn(lab.main, "config", "filter.up.clean", "tr a-z A-Z");
    lab.write("changed.txt", "two\n");
    rmSync(join(lab.main, "gone.txt"));
    chmodSync(join(lab.main, "mode.sh"), 0o755);
    rmSync(join(lab.main, "file-to-dir"));
    lab.write("file-to-dir/b", "b\n");
    rmSync(join(lab.main, "dir-to-file"), { recursive: true });
    lab.write("dir-to-file", "now a file\n");
    lab.write("crlf.txt", "one\r\ntwo\r\n");
    lab.write("x.up", "upper\n");
    lab.write("ignored", "x");
    lab.write("new/deep/file with space", "new\n");
    writeFileSync(Buffer.from(`${lab.main}/caf\xe9`, "latin1"), "no UTF-8\n");
    symlinkSync("nowhere", join(lab.main, "link"));
    lab.write("staged.txt", "staged\n");
    gitIn(lab.main, "add", "staged.txt");
    lab.write("staged.txt", "and changed since\n");
    lab.write("forced.o", "in spite of .gitignore\n");
    gitIn(lab.main, "add", "-f", "forced.o");
    gitIn(lab.main, "rm", "-q", "--cached", "unstaged.txt");
    lab.write("intent.txt", "meant to be added\n");
    gitIn(lab.main, "add", "-N", "intent.txt");
    // A nested repo, and one without a commit, on which `git add` fails.
    makeRepo(join(lab.main, "nested"));
    gitIn(lab.main, "init", "-q", "nested-empty");

    const before = fingerprint(lab.main);
    const refs = gitIn(lab.main, "for-each-ref", "refs/heads", "refs/tags");
    const commit = await lab.commit();
    expect(fingerprint(lab.main)).toBe(before);
    expect(gitIn(lab.main, "for-each-ref", "refs/heads", "refs/tags")).toBe(refs);
    expect(gitIn(lab.main, "log", "-1", "--format=%P|%an|%s|%b", `${commit}`)).toBe(
      `${head}|Ani|Checkout as it was, with uncommitted changes|Session: sess_1\n`.trimEnd(),
    );
    expect(gitIn(lab.main, "show", `${commit}:crlf.txt`)).toBe("one\ntwo");
    expect(gitIn(lab.main, "show", `${commit}:x.up`)).toBe("UPPER");

    const copy = lab.join("copy");
    cpSync(lab.main, copy, { recursive: true, verbatimSymlinks: true });
    for (const name of readdirSync(copy).filter((one) => one.startsWith("nested")))
      rmSync(join(copy, name), { recursive: true });
    gitIn(copy, "add", "-A");
    expect(gitIn(lab.main, "rev-parse", `${commit}^{tree}`)).toBe(gitIn(copy, "write-tree"));
  });

  it("has a change that kept the file's size and time", async () => {
    using lab = new Lab({ "a.txt": "one\n" });
    gitIn(lab.main, "config", "core.trustctime", "false");
    const stamp = (path: string) =>
      execFileSync("touch", ["-d", "2024-01-01T00:00:00.5Z", join(lab.main, path)]);
    lab.write("a.txt", "two\n");
    stamp("a.txt");
    gitIn(lab.main, "add", "a.txt");
    lab.write("a.txt", "six\n");
    stamp("a.txt");
    stamp(".git/index");
    expect(gitIn(lab.main, "show", `${await lab.commit()}:a.txt`)).toBe("six");
  });

  it("is refused with conflicts, and works for linked worktrees, empty repos and moved submodules", async () => {
    using lab = new Lab({ "a.txt": "one\n" });
    gitIn(lab.main, "checkout", "-q", "-b", "other");
    commitFiles(lab.main, { "a.txt": "theirs\n" }, "theirs");
    gitIn(lab.main, "checkout", "-q", "main");
    const head = commitFiles(lab.main, { "a.txt": "ours\n" }, "ours");
    expect(() => gitIn(lab.main, "merge", "-q", "other")).toThrow();
    await expect(lab.commit()).rejects.toMatchObject({ code: "checkout_unmerged", facts: { path: "a.txt" } });
    gitIn(lab.main, "merge", "--abort");

    const linked = lab.join("linked");
    gitIn(lab.main, "worktree", "add", "-q", "-b", "linked", linked);
    writeFileSync(join(linked, "new"), "x\n");
    expect(gitIn(lab.main, "diff", "--name-status", head, `${await lab.commit(linked)}`)).toBe("A\tnew");

    const empty = lab.join("empty");
    mkdirSync(empty);
    gitIn(empty, "init", "-q", "-b", "main");
    expect(await lab.commit(empty)).toBeNull();
    writeFileSync(join(empty, "first"), "x\n");
    expect(gitIn(empty, "log", "--format=%P|%s", `${await lab.commit(empty)}`)).toMatch(/^\|Checkout/);

    const inner = makeRepo(lab.join("inner"));
    gitIn(lab.main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "inner");
    gitIn(lab.main, "commit", "-qm", "with a submodule");
    for (const [key, value] of Object.entries({ name: "Ani", email: "ani@example.org" }))
      gitIn(join(lab.main, "inner"), "config", `user.${key}`, value);
    writeFileSync(join(lab.main, "inner/dirty"), "of its own\n");
    expect(await lab.commit()).toBe(gitIn(lab.main, "rev-parse", "HEAD"));
    const moved = commitFiles(join(lab.main, "inner"), {}, "moved");
    expect(gitIn(lab.main, "ls-tree", `${await lab.commit()}`, "inner")).toContain(moved);
  });

  it("is removed by gc with its session, or if there never was such a session", async () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const hf = await home.open();
    const repo = await openRepo(await openHome({ home: home.dir }), home.main);
    const session = await hf.openSession({ repo: home.main });
    await session.release();
    const refs = () => gitIn(home.main, "for-each-ref", "--format=%(refname)", "refs/holdfast/checkouts");
    for (const id of [session.id, "sess_never"]) {
      writeFileSync(join(home.main, "a.txt"), `${id}\n`);
      await commitCheckout(repo, { session: id, aside: home.join("aside"), atMs: 1_700_000_000_000 });
    }
    expect(refs().split("\n")).toHaveLength(2);
    await hf.gc();
    expect(refs()).toMatch(new RegExp(`^refs/holdfast/checkouts/[^/]+/${session.id}/[0-9a-f]{40}$`));
    await hf.closeSession(session.id);
    await hf.gc({ retention: { archiveClosedDays: 0 } });
    await hf.gc({ retention: { deleteArchivedDays: 0 } });
    expect(refs()).toBe("");
  });
});
