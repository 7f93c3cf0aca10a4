/**
 * The policy: what a person has to review before work is published.
 */
import { describe, expect, it } from "vitest";
import type { ChangedFile, FileVersion } from "../../../src/capsule/index.ts";
import { openHome } from "../../../src/home/index.ts";
import { roomOf } from "../../../src/task/index.ts";
import { findingsIn, protectedPaths } from "../../../src/task/results/policy.ts";
import { gitIn } from "../../support/repo.ts";
import { TaskHome, turn } from "../../support/tasks.ts";
import { newValue } from "../../support/values.ts";

const file = (text: string | Buffer, kind: FileVersion["kind"] = "file"): FileVersion => {
  const content = Buffer.from(text);
  return { kind, bytes: content.length, content };
};
const large = { kind: "file", bytes: 6 * 1024 * 1024, content: undefined } as const;
/** Put together here, so that no file of this repo has a secret in it. */
const secret = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;

const cases: readonly (readonly [what: string, change: Omit<ChangedFile, "path">, expected: string[]])[] = [
  ["a plain change", { before: file("a"), after: file("b") }, []],
  ["a new file", { before: null, after: file("b", "executable") }, []],
  ["a removed file", { before: file("a"), after: null }, []],
  ["a binary file", { before: null, after: file("a\0b") }, ["binary"]],
  ["a large file", { before: null, after: large }, ["large 6 MB"]],
  ["a changed mode", { before: file("a"), after: file("a", "executable") }, ["mode file became executable"]],
  ["a link within the tree", { before: null, after: file("../other/x", "link") }, []],
  ["a link outside", { before: null, after: file("../../x", "link") }, ["link leads out of the tree"]],
  ["a link up and down again", { before: null, after: file("../src/./er/l1", "link") }, []],
  ["a link to the top", { before: null, after: file("..", "link") }, []],
  [
    "a link up from what may be another link",
    { before: null, after: file("er/l1/../outside", "link") },
    ["link leads out of the tree"],
  ],
  [
    "a link with a secret in its target",
    { before: null, after: file(`er/${secret}`, "link") },
    ["secret github, where it leads"],
  ],
  [
    "a link whose secret was there before",
    { before: file(`er/${secret}`, "link"), after: file(`er/more/${secret}`, "link") },
    [],
  ],
  ["an absolute link", { before: null, after: file("/etc/passwd", "link") }, ["link leads out of the tree"]],
  ["a link to .git", { before: null, after: file("../.git/hooks", "link") }, ["link leads out of the tree"]],
  [
    "a submodule",
    { before: null, after: { kind: "submodule", bytes: 0, content: undefined } },
    ["submodule"],
  ],
  ["a secret", { before: null, after: file(`first\nkey = "${secret}"\n`) }, ["secret github, line 2"]],
  [
    "conflict markers",
    { before: file("a"), after: file("x\n<<<<<<< one\na\n=======\nb\n>>>>>>> two\n") },
    ["markers"],
  ],
  ["a heading of equals signs", { before: null, after: file("Title\n=======\ntext\n") }, []],
  ["a secret that was there before", { before: file(`k ${secret}`), after: file(`more\nk ${secret}`) }, []],
];

const UNPROTECTED = [
  ...["src/drone.yml", "woodpecker/x", "docs/Jenkins", "src/.github/x", ".githubber"],
  ...["etc/other", "hooks/pre-commit", ".gitignore", "src/.husky/x"],
];

/** New files at these paths need a review, and others do not. */
async function expectProtected(home: TaskHome, paths: readonly string[]): Promise<void> {
  const hf = await home.open();
  const session = await hf.openSession({ repo: home.main });
  const protect = await protectedPaths(await roomOf(await openHome({ home: home.dir }), session), null);
  const isFound = async (path: string) =>
    (await findingsIn({ path, before: null, after: file("x") }, protect)).length > 0;
  for (const path of paths) expect(await isFound(path), path).toBe(true);
  for (const path of UNPROTECTED) expect(await isFound(path), path).toBe(false);
  await session.pause();
}

describe("the policy", () => {
  it.each(cases)("finds what a person has to review in %s", async (_, change, expected) => {
    const found = await findingsIn({ path: "src/a", ...change }, ["lock.json", ".github/**"]);
    expect(found.map(({ rule, detail }) => [rule, detail].filter(Boolean).join(" "))).toEqual(expected);
    expect(JSON.stringify(found)).not.toContain(secret);
  });

  it("finds protected paths that were changed or removed", async () => {
    const found = await Promise.all(
      [
        { path: ".github/workflows/ci.yml", before: file("a"), after: file("b") },
        { path: "deep/lock.json", before: file("a"), after: null },
        { path: "src/github", before: null, after: file("b") },
      ].map((change) => findingsIn(change, ["lock.json", ".github/**"])),
    );
    expect(found.map((one) => one.map(({ rule }) => rule))).toEqual([["protected"], ["protected"], []]);
  });

  it("protects the files of CI services without being told", async () => {
    using home = new TaskHome();
    await expectProtected(home, [
      ...["holdfast.yaml", ".github/workflows/ci.yml", ".gitlab-ci.yml", ".travis.yml", ".drone.yml"],
      ...["bitbucket-pipelines.yml", ".woodpecker.yml", ".woodpecker/test.yml", ".forgejo/workflows/ci.yml"],
      ...[".gitea/workflows/ci.yml", "Jenkinsfile", "deploy/Jenkinsfile"],
      // A link in the place of the directory.
      ".github",
    ]);
  });

  it("protects what decides which programs git runs on the user's machine, their own hooks among it", async () => {
    using home = new TaskHome();
    gitIn(home.main, "config", "core.hooksPath", "tools/../etc/hooks");
    await expectProtected(home, [
      ...[".gitattributes", "src/.gitattributes", ".gitmodules", ".lfsconfig", "docs/CODEOWNERS"],
      ...[".husky/pre-commit", ".githooks/x", "etc/hooks/pre-commit", "etc/hooks"],
    ]);
  });

  it("verify-5 keeps work from being published until a person has reviewed it", async () => {
    using home = new TaskHome({ "a.txt": "one\n", "holdfast.yaml": "protect: [deploy]\n" });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const name = newValue();
    await turn(
      task,
      `mkdir deploy; echo ${name} > deploy/prod; echo 'k = "${secret}"' > config; chmod +x a.txt`,
    );
    const end = await task.end("done");
    expect(end).toMatchObject({ outcome: "needs_review", branch: null, unpublished: { code: "policy" } });
    for (const words of ["a secret in config (github, line 1)", "a protected path, deploy/prod", "a.txt"])
      expect(end.unpublished?.reason).toContain(words);
    expect(end.unpublished?.reason).not.toContain(secret);
    await session.pause();
    const recorded: unknown[] = [];
    for await (const { type, data } of hf.readJournal(session.id))
      if (type === "policy_applied") recorded.push(data);
    const { files, insertions, deletions } = end.stat;
    expect(recorded).toMatchObject([{ tree: end.tree, stat: { files, insertions, deletions } }]);
    expect(JSON.stringify(recorded)).not.toContain(secret);
    await expect(hf.branchSession(session.id)).rejects.toMatchObject({ code: "needs_review" });
    expect(gitIn(home.main, "branch", "--list", "holdfast/*")).toBe("");
    const { commit } = await hf.branchSession(session.id, { isReviewed: true });
    expect(gitIn(home.main, "rev-parse", `${commit}^{tree}`)).toBe(end.tree);
    const published: unknown[] = [];
    for await (const { type, data } of hf.readJournal(session.id))
      if (type === "work_published") published.push(data);
    expect(published).toMatchObject([{ commit, isReviewed: true }]);
  });
});
