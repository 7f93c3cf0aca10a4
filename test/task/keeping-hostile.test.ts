/**
 * Agents whose own git has what a merge must not take: crafted objects, content that a person has to review,
 * and commits that would keep Holdfast busy. The user's repo gets nothing of them.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { eventsOf, worked } from "../support/merging.ts";
import { commitFiles, fingerprint, gitIn } from "../support/repo.ts";
import { TaskHome, turn } from "../support/tasks.ts";

const FILES = { "a.txt": "1\n2\n3\n4\n5\n", "b.txt": "b\n" };
const COMMITS = "echo 1 > n; git add n; git commit -qm c1; echo 2 > n; git commit -qam c2";
const TOKEN = ["ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("");
const KEPT = { keepsCommits: true } as const;

const log = (home: TaskHome, format = "%s") =>
  gitIn(home.main, "log", `--format=${format}`, "--reverse").split("\n");
const treeOf = (home: TaskHome, name: string) => gitIn(home.main, "rev-parse", `${name}^{tree}`);

/** What the agent's commits have, how the agent makes them, and how the merge is refused. */
const HOSTILE: readonly (readonly [what: string, script: string, code: string, words: RegExp])[] = [
  ["no commit of its own", "echo 1 > n", "merge_refused", /no commit of its own/],
  [
    "a commit without a parent",
    "git checkout -q --orphan x; echo 1 > n; git add .; git commit -qm c",
    "merge_refused",
    /begin with nothing/,
  ],
  [
    "a commit that does not follow the base",
    "git reset -q --soft HEAD~1; echo 1 > n; git add .; git commit -qm c",
    "merge_refused",
    /they stand on/,
  ],
  [
    "a forged parent that does not exist",
    `echo 1 > n; git add .; t=$(git write-tree); c=$(printf 'tree %s\\nparent ${"1".repeat(40)}\\nauthor A <a@b> 1 +0000\\ncommitter A <a@b> 1 +0000\\n\\nx\\n' $t | git hash-object -t commit -w --stdin --literally); echo $c > .git/refs/heads/$(git branch --show-current)`,
    "merge_refused",
    /did not return its commits/,
  ],
  [
    "a malformed commit object",
    "echo 1 > n; git add .; t=$(git write-tree); c=$(printf 'tree %s\\nparent %s\\nauthor nobody\\ncommitter A <a@b> 1 +0000\\n\\nx\\n' $t $(git rev-parse HEAD) | git hash-object -t commit -w --stdin --literally); git update-ref HEAD $c",
    "merge_refused",
    /git refuses/,
  ],
  [
    "a .git in a tree",
    "echo 1 > n; b=$(git hash-object -w n); t=$({ printf '100644 .git\\0'; echo $b | xxd -r -p; } | git hash-object -t tree -w --stdin --literally); c=$(git commit-tree -p HEAD -m x $t); git update-ref HEAD $c",
    "merge_refused",
    /git refuses/,
  ],
  [
    "a file whose content does not exist",
    `echo 1 > n; t=$(printf '100644 blob ${"2".repeat(40)}\\tn\\n' | git mktree --missing); c=$(git commit-tree -p HEAD -m x $t); git update-ref HEAD $c`,
    "merge_refused",
    /did not return its commits/,
  ],
  [
    "a secret in a file that a later commit removes",
    `echo 'token = "${TOKEN}"' > n; git add .; git commit -qm c1; echo 1 > n; git commit -qam c2`,
    "needs_review",
    /a secret in n \(.*in commit [0-9a-f]{12}\)/,
  ],
  [
    "a secret in a commit message",
    `echo 1 > n; git add .; git commit -qm 'with ${TOKEN}'`,
    "needs_review",
    /a secret in commit [0-9a-f]{12} \(.*its text\)/,
  ],
  [
    "terminal escapes in a commit message",
    "echo 1 > n; git add .; git commit -qm \"$(printf 'red \\033[31m')\"",
    "needs_review",
    /text that is not plain in commit/,
  ],
  [
    "a submodule that a later commit removes",
    "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git commit -qm c1; git rm -q --cached sub; echo 1 > n; git add n; git commit -qm c2",
    "needs_review",
    /a submodule, sub/,
  ],
  [
    "a link out of the tree that a later commit removes",
    "ln -s /etc/passwd l; git add .; git commit -qm c1; git rm -q l; echo 1 > n; git add n; git commit -qm c2",
    "needs_review",
    /a link that leaves the tree, l/,
  ],
  [
    "a secret in the target of a link that a later commit removes",
    `ln -s er/${TOKEN} l; git add .; git commit -qm c1; git rm -q l; echo 1 > n; git add n; git commit -qm c2`,
    "needs_review",
    /a secret in l \(.*where it leads, in commit [0-9a-f]{12}\)/,
  ],
  [
    "a protected path that a later commit removes",
    "mkdir -p .github; echo 1 > .github/x; git add .; git commit -qm c1; git rm -rq .github; echo 1 > n; git add n; git commit -qm c2",
    "needs_review",
    /a protected path, \.github\/x/,
  ],
  [
    "more than a thousand commits",
    "b=$(git branch --show-current); { for n in $(seq 1001); do printf 'commit refs/heads/many\\ncommitter A <a@b> %s +0000\\ndata 2\\nx\\n' $n; [ $n = 1 ] && echo \"from $(git rev-parse HEAD)\"; printf 'M 100644 inline n\\ndata <<E\\n%s\\nE\\n\\n' $n; done; } | git fast-import --quiet; git checkout -q many; echo end > n",
    "merge_refused",
    /more than 1000 commits/,
  ],
  [
    "a .Git in a tree, with a capital letter",
    "echo 1 > n; b=$(git hash-object -w n); t=$({ printf '100644 .Git\\0'; echo $b | xxd -r -p; } | git hash-object -t tree -w --stdin --literally); c=$(git commit-tree -p HEAD -m x $t); git update-ref HEAD $c",
    "merge_refused",
    /git refuses/,
  ],
  [
    "a name that some file systems treat as .git",
    "echo 1 > n; b=$(git hash-object -w n); t=$({ printf '100644 git~1\\0'; echo $b | xxd -r -p; } | git hash-object -t tree -w --stdin --literally); c=$(git commit-tree -p HEAD -m x $t); git update-ref HEAD $c",
    "merge_refused",
    /git refuses/,
  ],
  [
    "a .gitmodules that is a link",
    "echo 1 > n; t=$(printf '120000 blob %s\\t.gitmodules\\n' $(git hash-object -w n) | git mktree); c=$(git commit-tree -p HEAD -m x $t); git update-ref HEAD $c",
    "merge_refused",
    /git refuses/,
  ],
  [
    "a .. in a tree",
    "echo 1 > n; b=$(git hash-object -w n); t=$({ printf '100644 ..\\0'; echo $b | xxd -r -p; } | git hash-object -t tree -w --stdin --literally); c=$(git commit-tree -p HEAD -m x $t); git update-ref HEAD $c",
    "merge_refused",
    /git refuses/,
  ],
  [
    "a graft that hides an earlier commit",
    'b=$(git rev-parse HEAD); echo hidden > n; git add .; git commit -qm c1; echo 1 > n; git commit -qam c2; mkdir -p .git/info; echo "$(git rev-parse HEAD) $b" > .git/info/grafts',
    "merge_refused",
    /git refuses|does not give/,
  ],
  [
    "a shallow boundary that hides an earlier commit",
    "echo hidden > n; git add .; git commit -qm c1; echo 1 > n; git commit -qam c2; git rev-parse HEAD > .git/shallow",
    "merge_refused",
    /git refuses/,
  ],
  [
    "a commit with ten billion files, made of eleven objects",
    "echo 1 > n; git add n; t=$(git write-tree); for d in 1 2 3 4 5 6 7 8 9 10; do t=$(for e in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\\t%s\\n' $t $e; done | git mktree); done; c=$(git commit-tree -p HEAD -m bomb $t); c=$(git commit-tree -p $c -m after $(git write-tree)); git update-ref HEAD $c",
    "merge_refused",
    /change too much/,
  ],
  [
    "a commit message of two megabytes",
    "echo 1 > n; git add .; { echo x; echo; head -c 2000000 /dev/zero | tr '\\0' a; } | git commit -qF -",
    "merge_refused",
    /text of commit [0-9a-f]{12}/,
  ],
  [
    "a secret in an author's name",
    `echo 1 > n; git add .; git commit -qm c --author 'A ${TOKEN} <a@b>'`,
    "needs_review",
    /a secret in commit [0-9a-f]{12}/,
  ],
  [
    "terminal escapes in an author's name",
    "echo 1 > n; git add .; git commit -qm c --author \"$(printf 'A\\033[31m') <a@b>\"",
    "needs_review",
    /text that is not plain in commit/,
  ],
  [
    "a secret in a nonstandard commit header",
    `echo 1 > n; git add .; t=$(git write-tree); c=$(printf 'tree %s\\nparent %s\\nauthor A <a@b> 1 +0000\\ncommitter A <a@b> 1 +0000\\nnote ${TOKEN}\\n\\nx\\n' $t $(git rev-parse HEAD) | git hash-object -t commit -w --stdin); git update-ref HEAD $c`,
    "needs_review",
    /a secret in commit [0-9a-f]{12}/,
  ],
  [
    "a commit message that hides terminal escapes in UTF-7",
    "echo 1 > n; git add .; git -c i18n.commitEncoding=UTF-7 commit -qm 'red +ABs-[31m'",
    "needs_review",
    /text that is not plain in commit/,
  ],
  [
    "a commit message with a character that reverses the text on screen",
    "echo 1 > n; git add .; git commit -qm \"$(printf 'x \\342\\200\\256 y')\"",
    "needs_review",
    /text that is not plain in commit/,
  ],
  [
    "a secret in the name of a file that a later commit removes",
    `echo 1 > ${TOKEN}; git add .; git commit -qm c1; git rm -q ${TOKEN}; echo 1 > n; git add n; git commit -qm c2`,
    "needs_review",
    /a secret in /,
  ],
];

describe("an agent's commits", () => {
  it.each(HOSTILE)(
    "keep-1 keep-2 keep-3 are refused because of %s, and the user's repo gets nothing of them",
    async (_, script, code, words) => {
      using home = new TaskHome(FILES);
      commitFiles(home.main, { "z.txt": "z\n" }, "the second");
      const hf = await home.open();
      const { session, task } = await home.start(hf, "the work");
      const said = await turn(task, `set -e; { ${script}; } >&2; git rev-parse HEAD`);
      const end = await task.end("done");
      expect(end.unpublished, said).toBeNull();
      await session.pause();
      const before = fingerprint(home.main);
      await expect(hf.mergeSession(session.id, KEPT)).rejects.toMatchObject({
        code,
        message: expect.stringMatching(words),
      });
      expect(fingerprint(home.main)).toBe(before);
      const head = said.split("\n").at(-1) ?? "";
      expect(head).toMatch(/^[0-9a-f]{40}$/);
      const isUsers = gitIn(home.main, "rev-parse", "main") === head;
      const has = () => execFileSync("git", ["cat-file", "-e", head], { cwd: home.main, stdio: "ignore" });
      if (!isUsers) expect(has).toThrow();
      if (code === "needs_review") {
        const [applied] = (await eventsOf(hf, session.id, /policy_applied/)).slice(-1);
        expect(JSON.stringify(applied)).not.toContain(TOKEN);
        await hf.mergeSession(session.id, { ...KEPT, isReviewed: true });
        // What the review waived is on record.
        const ofMerges = await eventsOf(hf, session.id, /policy_applied|merge_started/);
        expect(ofMerges.slice(-3)).toMatchObject([applied, applied, { data: { isReviewed: true } }]);
      } else await hf.mergeSession(session.id);
      expect(treeOf(home, "main")).toBe(treeOf(home, home.branchOf(session.id)));
      expect(home.strays()).toEqual([]);
    },
    180_000,
  );

  it("keep-1 are read without using the config, hooks or alternates of the gitdir that the agent controls", async () => {
    using home = new TaskHome(FILES);
    const hf = await home.open();
    const other = await worked(home, hf, "echo 'only here' > other");
    const secret = gitIn(home.main, "rev-parse", `${home.branchOf(other)}:other`);
    gitIn(home.main, "branch", "-D", home.branchOf(other));
    const refs = gitIn(home.main, "for-each-ref", "--format=%(refname)").split("\n");
    for (const ref of refs) if (ref.includes("/tips/")) gitIn(home.main, "update-ref", "-d", ref);
    gitIn(home.main, "reflog", "expire", "--expire=now", "--all");
    gitIn(home.main, "prune", "--expire=now");
    gitIn(home.main, "repack", "-qad");
    const mark = home.join("run");
    const run = `touch ${mark}`;
    const id = await worked(
      home,
      hf,
      `${COMMITS}; for k in core.fsmonitor core.sshCommand core.pager uploadpack.packObjectsHook gpg.program core.alternateRefsCommand diff.external; do git config $k '${run}'; done; git config core.hooksPath .git/hooks
      mkdir -p .git/hooks; for h in post-checkout reference-transaction pre-auto-gc post-index-change; do printf '#!/bin/sh\\n${run}\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done
      echo ${home.dir}/repos/*/store.git/objects >> .git/objects/info/alternates`,
    );
    await hf.mergeSession(id, KEPT);
    expect(log(home).slice(-2)).toEqual(["c1", "c2"]);
    expect(existsSync(mark)).toBe(false);
    // Naming an object of another session does not give access to it.
    const third = await worked(
      home,
      hf,
      // Other bytes under the name of that object: git packs them without checking them.
      `echo x > x; o=.git/objects/$(git hash-object -w x | sed 's#^..#&/#'); mkdir -p .git/objects/${secret.slice(0, 2)}; cp $o .git/objects/${secret.slice(0, 2)}/${secret.slice(2)}
      t=$(printf '100644 blob ${secret}\\tother\\n' | git mktree --missing); c=$(git commit-tree -p HEAD -m x $t); git update-ref HEAD $c`,
    );
    const before = fingerprint(home.main);
    await expect(hf.mergeSession(third, KEPT)).rejects.toMatchObject({
      code: "merge_refused",
      message: expect.stringContaining("git refuses"),
    });
    expect(fingerprint(home.main)).toBe(before);
  });
});
