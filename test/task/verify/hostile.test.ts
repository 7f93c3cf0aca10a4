/**
 * Attempts of an agent to pass a check without doing the work. Each attempt fails, and the same work done
 * properly passes. Threat: a check that passes on another tree than the one that is published.
 */
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readRecords } from "../../../src/session/index.ts";
import { readReceipts } from "../../../src/task/index.ts";
import { CheckedHome } from "../../support/checked.ts";
import { gitIn } from "../../support/repo.ts";
import { sandbox } from "../../support/tasks.ts";
import { acceptFile } from "../../support/trust.ts";

/** A project whose set-up installs what its lock file names into a directory that git ignores. */
const project = {
  ".gitignore": "node_modules\nsecret-state\n",
  "package.json": "{}\n",
  "package-lock.json": "left-pad\n",
  "answer.txt": "wrong\n",
  "test.sh": "#!/bin/sh\ngrep -q right answer.txt\n",
};
const SETUP = `capsule:
  setup: mkdir -p node_modules/.bin; for d in $(cat package-lock.json); do cp test.sh node_modules/.bin/$d; chmod +x node_modules/.bin/$d; done
`;
const CHECK =
  "{ name: test, run: for d in $(cat package-lock.json); do node_modules/.bin/$d || exit 1; done }";

/** Writes to every file of that name below a directory. Returns their paths. */
function writeBelow(dir: string, name: string, text: string): string[] {
  const found = readdirSync(dir, { recursive: true, encoding: "utf8" }).filter(
    (path) => path === name || path.endsWith(`/${name}`),
  );
  for (const path of found) writeFileSync(join(dir, path), text);
  return found;
}

describe("an agent that tries to make its check pass", () => {
  it("verify-1 can't replace the check's program among the ignored files: the check runs the installed one", async () => {
    using home = new CheckedHome([CHECK], project, SETUP);
    const { end, receipts } = await home.task(
      "printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/left-pad; node_modules/.bin/left-pad; echo x > x",
    );
    expect(end.outcome).toBe("failed");
    expect(receipts).toMatchObject([{ check: "test", passed: false, exitCode: 1 }]);
    // Done properly, it passes.
    expect((await home.task("echo right > answer.txt")).end.outcome).toBe("done");
  });

  it("can't put a program of its own in the place of an installed one unseen: it is listed beside the result", async () => {
    for (const script of [
      "printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/left-pad; git add -f node_modules/.bin/left-pad; git commit -qm x",
      "mkdir -p lib/.bin; printf '#!/bin/sh\\nexit 0\\n' > lib/.bin/left-pad; chmod +x lib/.bin/left-pad; rm -rf node_modules; ln -s lib node_modules",
    ]) {
      using home = new CheckedHome([CHECK], { ...project, ".gitignore": "node_modules/\n" }, SETUP);
      const { verification } = await home.task(script);
      const watched = (verification?.["watched"] ?? []) as { path: string; why: string }[];
      expect(watched, script).toContainEqual({
        path: expect.stringMatching(/^node_modules/),
        why: "script",
      });
    }
  });

  it("can't change what set-up runs without set-up running again, whatever the name of the file", async () => {
    using home = new CheckedHome(
      ["{ name: test, run: grep -q right built.ign }"],
      { ".gitignore": "*.ign\n", "tools/build.sh": "echo right > built.ign\n" },
      "capsule: { setup: sh tools/build.sh }\n",
    );
    const { end, receipts } = await home.task("echo 'echo wrong > built.ign' > tools/build.sh");
    expect(receipts.map(({ check, passed }) => [check, passed])).toEqual([
      ["capsule.setup", true],
      ["test", false],
    ]);
    expect(end.outcome).toBe("failed");
  });

  it("verify-2 has no receipt for the files of an earlier turn that its session went back to", async () => {
    using home = new CheckedHome(["{ name: test, run: 'true' }"], { "a.txt": "a\n" });
    const hf = await home.hf();
    const { id, end } = await home.task("echo b > a.txt");
    const treeNow = async () => (await readReceipts(readRecords(home.sessionDir(id)), 1)).tree;
    expect(await treeNow()).toBe(end.tree);
    await hf.rewindSession(id, 0);
    expect(await treeNow()).toBeNull();
    await hf.rewindSession(id, 1);
    expect(await treeNow()).toBe(end.tree);
  });

  it("can't use a file that is ignored, or in HOME, TMPDIR or /tmp: the check does not see it", async () => {
    using home = new CheckedHome(
      [
        "{ name: test, run: test -e secret-state || test -e ~/state || test -e $TMPDIR/state || test -e /tmp/state }",
      ],
      project,
    );
    const { end } = await home.task(
      "touch secret-state ~/state $TMPDIR/state /tmp/state; echo x > x; test -e secret-state && test -e ~/state",
    );
    expect(end.outcome).toBe("failed");
  });

  it("can't edit the check's command: the one at the base counts, and the edit needs a review", async () => {
    using home = new CheckedHome(["{ name: test, run: grep -q right answer.txt }"], project);
    const bad = await home.task("sed -i 's/run: .*/run: \"true\" }/' holdfast.yaml");
    expect(bad.end.outcome).toBe("failed");
    expect(bad.verification).toMatchObject({ watched: [{ path: "holdfast.yaml", why: "check" }] });
    const good = await home.task("echo right > answer.txt; echo '# more' >> holdfast.yaml");
    expect(good.end).toMatchObject({ outcome: "needs_review", unpublished: { code: "policy" } });
    expect(good.end.unpublished?.reason).toContain("a protected path, holdfast.yaml");
  });

  it("can change a test so that the check passes, but the change is reported", async () => {
    using home = new CheckedHome(
      ["{ name: test, run: sh ./test.sh }", "{ name: more, run: 'cd sub && ./run \"$PWD\"', paths: [sub] }"],
      { ...project, "test/a.test.js": "1\n", "sub/run": "exit 1\n" },
    );
    const { end, verification } = await home.task(
      "echo 'exit 0' > test.sh; echo 2 > test/a.test.js; printf '#!/bin/sh\n' > sub/run; chmod +x sub/run; echo x > sub/x",
    );
    // Both pass. The mode that changed needs a review.
    expect(end.outcome).toBe("needs_review");
    expect(verification).toMatchObject({
      verdict: "passed",
      watched: [
        { path: "sub/run", why: "script" },
        { path: "test.sh", why: "script" },
        { path: "test/a.test.js", why: "test" },
      ],
    });
  });

  it.runIf(sandbox.sandbox)(
    "can't have a process outlive its turn, and what is written while the checks run is neither checked nor published",
    async () => {
      using home = new CheckedHome(["{ name: test, run: grep -q right answer.txt }"], project);
      const hf = await home.hf();
      const session = await hf.openSession({ repo: home.main, title: "a daemon" });
      const { id } = session;
      const task = await hf.startTask(session, sandbox);
      await task.runTurn([
        "sh",
        "-ec",
        "(trap '' TERM HUP; while :; do echo daemon > answer.txt; sleep 0.01; done) >/dev/null 2>&1 & echo $! > pid; while ! grep -q daemon answer.txt; do :; done",
      ]);
      await task.runTurn(["sh", "-ec", "rm pid; echo right > answer.txt"]);
      // In place of a process that nothing could end, the test writes to the files.
      const written: string[] = [];
      const { append } = session;
      session.append = async (type, data) => {
        const isBetween = ["check_started", "check_ended", "verification_ended"].includes(type);
        if (isBetween) written.push(...writeBelow(home.capsuleDir(id), "answer.txt", "daemon\n"));
        return append.call(session, type, data);
      };
      const end = await task.end("done");
      await session.pause();
      expect(written.length).toBeGreaterThanOrEqual(3);
      expect(end.outcome).toBe("done");
      expect(gitIn(home.main, "rev-parse", `${end.branch}^{tree}`)).toBe(end.tree);
      expect(gitIn(home.main, "show", `${end.branch}:answer.txt`)).toBe("right");
      expect(home.strays()).toEqual([]);
    },
  );

  it("can add a dependency: set-up runs again for that tree, and the work fails if set-up does", async () => {
    using home = new CheckedHome([CHECK], { ...project, "answer.txt": "right\n" }, SETUP);
    const { end, receipts } = await home.task("echo other >> package-lock.json");
    expect(receipts.map(({ check, passed }) => [check, passed])).toEqual([
      ["capsule.setup", true],
      ["test", true],
    ]);
    expect(end.outcome).toBe("done");
    // If the dependency can't be installed, no check runs without it.
    const broken = await home.task("echo ../../missing/x >> package-lock.json");
    expect(broken.receipts).toMatchObject([{ check: "capsule.setup", passed: false }]);
    expect(broken.end.outcome).toBe("failed");
  });

  it("verify-6 can't have set-up rewrite the files that the checks then see: set-up fails, and the receipt names them", async () => {
    using home = new CheckedHome(
      ["{ name: test, run: grep -q right answer.txt }"],
      { ...project, "package.json": "true\n" },
      "capsule: { setup: sh ./package.json }\n",
    );
    const rewriting = await home.task("echo 'echo right > answer.txt' > package.json");
    expect(rewriting.receipts).toMatchObject([
      {
        check: "capsule.setup",
        passed: false,
        exitCode: 0,
        reason: expect.stringMatching(/^it changed or left behind answer\.txt: .*npm ci/),
      },
    ]);
    expect(rewriting.end).toMatchObject({ outcome: "failed", branch: null });
    const leaving = await home.task(
      "echo 'echo right > left-behind' > package.json; echo right > answer.txt",
    );
    expect(leaving.receipts).toMatchObject([
      { passed: false, reason: expect.stringContaining("left-behind") },
    ]);
    // Files that git ignores are what set-up is for.
    const proper = await home.task(
      "echo 'mkdir -p node_modules; echo right > node_modules/x' > package.json; echo right > answer.txt",
    );
    expect(proper.end.outcome).toBe("done");
  });

  it.each(["auto", "worktree"])(
    "verify-6 can't have one check replace the program, HOME or TMPDIR of the next one, with set-up run again or not (%s)",
    async (strategy) => {
      const replace =
        "printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/left-pad; touch ~/state $TMPDIR/state; sleep 600 &";
      const isFresh = "{ name: fresh, run: 'test ! -e ~/state && test ! -e $TMPDIR/state' }";
      using home = new CheckedHome(
        [`{ name: replaces, run: "${replace}" }`, CHECK, isFresh],
        project,
        `${SETUP}  strategy: ${strategy}\n`,
      );
      const passed = async (script: string) => {
        const { receipts } = await home.task(script);
        return receipts.map(({ check, passed }) => [check, passed]);
      };
      const ran = (isRight: boolean) => [
        ["replaces", true],
        ["test", isRight],
        ["fresh", true],
      ];
      expect(await passed("echo x > x")).toEqual(ran(false));
      const anew = "echo other >> package-lock.json";
      expect(await passed(anew)).toEqual([["capsule.setup", true], ...ran(false)]);
      // Each of the rooms has what set-up installed anew.
      expect(await passed(`${anew}; echo right > answer.txt`)).toEqual([
        ["capsule.setup", true],
        ...ran(true),
      ]);
      expect(home.strays()).toEqual([]);
    },
  );

  it("can't forge a receipt in a file: only those in the journal count", async () => {
    using home = new CheckedHome(["{ name: test, run: grep -q right answer.txt }"], project);
    const forged = JSON.stringify({ type: "check_ended", data: { task: 1, check: "test", passed: true } });
    const { id, end, receipts } = await home.task(
      `for f in checks.json ~/checks.json $TMPDIR/checks.json .git/checks.json ~/journal; do echo '${forged}' > $f; done; echo x > x`,
    );
    expect(end.outcome).toBe("failed");
    expect(receipts).toMatchObject([{ check: "test", passed: false }]);
    const file = join(home.sessionDir(id), "tasks", "1", "artifacts", "checks.json");
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ verdict: "failed" });
  });

  it("network-1 can't give a check hosts before a person accepted them, and the hosts it asked for are on record", async () => {
    const server = createServer((_, response) => response.end("served")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const host = `localhost:${port}`;
    try {
      using home = new CheckedHome(
        [
          `{ name: test, run: 'curl -s -o /dev/null http://example.org/; curl -sf --noproxy "*" http://${host}/', hosts: ['${host}'] }`,
        ],
        project,
      );
      expect((await home.task("echo 1 > x")).end.outcome).toBe("failed");
      await acceptFile(home);
      const { id, end, receipts } = await home.task("echo 1 > x");
      expect(receipts).toMatchObject([{ passed: true, output: "served" }]);
      expect(end.outcome).toBe("done");
      const used: unknown[] = [];
      for await (const { type, data } of (await home.open()).readJournal(id))
        if (type === "network_used") used.push(data);
      const contacts = {
        allowed: [{ host, connections: 1 }],
        refused: [{ host: "example.org", connections: 1 }],
      };
      expect(used).toEqual([{ task: 1, turn: 1, check: "test", ...contacts }]);
    } finally {
      server.close();
    }
  });
});
