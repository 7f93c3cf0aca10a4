/**
 * A capsule of exactly a tree has the same files as a checkout that a person switched from the base to that
 * tree, whatever differs between the two.
 */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { CapsuleLab, inside } from "../support/capsules.ts";
import { gitIn } from "../support/repo.ts";
import { available } from "../support/strategies.ts";

const FILES = {
  "a.txt": "a\n",
  "dir/b.txt": "b\n",
  "dir/c.txt": "c\n",
  "dir/deep/d.txt": "d\n",
  "only/e.txt": "e\n",
  "eol/f.txt": "one\ntwo\n",
  ".gitattributes": "eol/* text eol=crlf\n",
  ".gitignore": "*.log\n",
};

/** What the tree changes in its base. */
const CHANGES: readonly (readonly [what: string, script: string])[] = [
  ["no change", "true"],
  ["changed, new and deleted files", "echo x >> a.txt; echo n > new.txt; rm dir/b.txt"],
  ["a directory whose last file is deleted", "rm -r only dir/deep"],
  [
    "a file that becomes a directory, and vice versa",
    "rm a.txt; mkdir a.txt; echo x > a.txt/x; rm -r only; echo o > only",
  ],
  ["links and modes", "ln -s dir/b.txt link; chmod +x a.txt; rm dir/c.txt; ln -s ../a.txt dir/c.txt"],
  ["a directory that becomes a link", "rm -r only; ln -s dir only"],
  ["other line endings", "printf 'one\\nzwei\\n' > eol/f.txt; printf 'new\\n' > eol/g.txt"],
  [
    "names that are patterns, options or not UTF-8",
    "mkdir 'd[ab]'; echo x > 'd[ab]/*'; echo y > ':(top)y'; echo z > \"$(printf 'n\\377')\"; echo q > '-q'",
  ],
  ["changed attributes", "echo '*.txt text eol=crlf' > .gitattributes; echo h > h.txt; rm eol/f.txt"],
  ["hundreds of new files", "for n in $(seq 300); do echo $n > many-$n; done; rm -r dir"],
];

const LISTING =
  "find . -path ./.git -prune -o \\( -type f -exec sha1sum {} + -o -type l -printf '%p -> %l\\n' -o -type d -printf '%p/\\n' \\); find . -path ./.git -prune -o -type f -perm -u+x -print";

function listed(text: string): string[] {
  return text.split("\n").sort();
}

describe.each(available)("a capsule of exactly a tree, $strategy", ({ strategy }) => {
  it.each(CHANGES)("exact-1 has the same files as a checkout: %s", async (_, script) => {
    await using lab = new CapsuleLab(strategy, { files: FILES });
    const base = gitIn(lab.main, "rev-parse", "main");
    gitIn(lab.main, "checkout", "-q", "-b", "work");
    execFileSync("sh", ["-euc", script], { cwd: lab.main });
    gitIn(lab.main, "add", "-A");
    gitIn(lab.main, "commit", "-q", "--allow-empty", "-m", "work");
    gitIn(lab.main, "checkout", "-q", "main");
    const plain = lab.temp.join("plain");
    gitIn(lab.main, "worktree", "add", "-q", "--detach", plain, "main");
    gitIn(plain, "checkout", "-q", "--detach", "work");
    // What set-up made stays, except where the tree has a file at the same path.
    const settings = {
      setup: "echo kept > kept.log; mkdir -p new.txt; echo way > new.txt/way.log; echo set >> dir/c.txt",
    };
    const isCovered = script.includes("dir/c.txt") || script.includes("rm -r dir");
    const tree = gitIn(lab.main, "rev-parse", "work^{tree}");
    const capsule = await lab.createExact(tree, base, settings);
    const there = listed(await inside(capsule, LISTING));
    execFileSync(
      "sh",
      [
        "-euc",
        `echo kept > kept.log; [ -e new.txt ] || { mkdir new.txt; echo way > new.txt/way.log; }; ${isCovered ? "true" : "echo set >> dir/c.txt"}`,
      ],
      { cwd: plain },
    );
    expect(there).toEqual(
      listed(execFileSync("sh", ["-euc", LISTING], { cwd: plain, encoding: "utf8" }).trimEnd()),
    );
    expect(await inside(capsule, "git write-tree; git rev-parse 'HEAD^{tree}'")).toBe(`${tree}\n${tree}`);
    // git must see that from the index alone, without reading any content.
    expect(await inside(capsule, "git diff-files --name-only")).toBe(isCovered ? "" : "dir/c.txt");
  });
});
