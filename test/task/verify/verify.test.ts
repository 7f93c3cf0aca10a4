/**
 * Checks decide about a task's work, on exactly the tree that would be published.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { verificationLines } from "../../../src/cli/verify-lines.ts";
import { CheckedHome } from "../../support/checked.ts";
import { gitIn } from "../../support/repo.ts";
import { TaskHome, turn } from "../../support/tasks.ts";
import { acceptFile } from "../../support/trust.ts";

const IS_FIXED = '{ name: test, run: test "$(cat a)" = fixed }';

describe("the checks of a task", () => {
  it("verify-2 verify-3 run on the tree that would be published, and only work that passed is published", async () => {
    using home = new CheckedHome([IS_FIXED, "{ name: second, run: echo heard }"], { a: "broken\n" });
    const good = await home.task("echo fixed > a");
    expect(good.end).toMatchObject({ outcome: "done", branch: expect.stringContaining("holdfast/") });
    expect(gitIn(home.main, "rev-parse", `${good.end.branch}^{tree}`)).toBe(good.end.tree);
    expect(good.receipts.map(({ check, tree, passed }) => [check, tree, passed])).toEqual([
      ["test", good.end.tree, true],
      ["second", good.end.tree, true],
    ]);
    expect(good.receipts[1]).toMatchObject({ exitCode: 0, output: "heard\n", lane: "repo-fix" });
    const file = home.sessionDir(good.id, "tasks", "1", "artifacts", "checks.json");
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
      verdict: "passed",
      tree: good.end.tree,
      checks: [{ check: "test", passed: true }, { check: "second" }],
    });

    const bad = await home.task("echo worse > a");
    expect(bad.end).toMatchObject({
      outcome: "failed",
      branch: null,
      unpublished: { code: "checks_failed" },
    });
    // The other checks run as well: a person wants to know all results.
    expect(bad.receipts.map(({ check, passed, exitCode }) => [check, passed, exitCode])).toEqual([
      ["test", false, 1],
      ["second", true, 0],
    ]);
    expect(existsSync(home.sessionDir(bad.id, "tasks", "1", "checking"))).toBe(false);
    expect(home.strays()).toEqual([]);
  });

  it("verify-4 leave the work unverified if none of them ran, and give no verdict if nothing changed", async () => {
    using none = new TaskHome();
    const hf = await none.open();
    const { session, task } = await none.start(hf);
    await turn(task, "echo work > work");
    const end = await task.end("done");
    expect(end).toMatchObject({ outcome: "unverified", branch: expect.any(String) });
    expect(session.state.task).toMatchObject({ verified: { tree: end.tree, verdict: "unverified" } });
    const idle = await hf.startTask(session, { sandbox: task.sandbox !== undefined });
    expect(await idle.end("done")).toMatchObject({ outcome: "done", branch: null });
    expect(session.state.task?.verified).toBeNull();
    await session.pause();

    using home = new CheckedHome(["{ name: docs, run: 'false', paths: ['docs/**'] }"], { a: "1\n" });
    const skipped = await home.task("echo 2 > a");
    expect(skipped.end.outcome).toBe("unverified");
    expect(skipped.verification).toMatchObject({ verdict: "unverified", skipped: ["docs"] });
    const artifact = (of: TaskHome, id: string, name: string) =>
      of.sessionDir(id, "tasks", "1", "artifacts", name);
    const read = (of: TaskHome, id: string, name: string) =>
      JSON.parse(readFileSync(artifact(of, id, name), "utf8"));
    expect(read(home, skipped.id, "checks.json")).toMatchObject({
      verdict: "unverified",
      tree: skipped.end.tree,
      checks: [],
      skipped: ["docs"],
    });
    expect(read(home, skipped.id, "result.json").artifacts).toMatchObject({ checks: "checks.json" });
    // Without any check in the config there is no such file.
    expect(existsSync(artifact(none, session.id, "checks.json"))).toBe(false);
    expect(read(none, session.id, "result.json").artifacts).not.toHaveProperty("checks");
  });

  it("exact-1 see exactly the task's tree, without ignored files and with a git that shows no change", async () => {
    using home = new CheckedHome(
      [
        "{ name: look, run: 'git status --porcelain --ignored; git log -1 --format=%T; ls -A; cat crlf | od -c | head -1' }",
      ],
      {
        a: "1\n",
        gone: "1\n",
        ".gitignore": "ignored\n",
        ".gitattributes": "crlf text eol=crlf\n",
        crlf: "x\n",
      },
    );
    const { end, receipts } = await home.task(
      "rm gone; echo 2 > a; mkdir ignored empty; echo i > ignored/i; echo new > new; ln -s new link; printf 'y\\r\\n' > crlf; git checkout -q -b own",
    );
    expect(end.outcome).toBe("done");
    const [tree, ...names] = (receipts[0]?.output ?? "").trimEnd().split("\n");
    expect(tree).toBe(end.tree);
    expect(names.slice(0, -1).sort()).toEqual(
      [".git", ".gitattributes", ".gitignore", "a", "crlf", "holdfast.yaml", "link", "new"].sort(),
    );
    expect(names.at(-1)).toContain("y  \\r  \\n");
  });

  it("name the changed tests and scripts, and the changed files that none of them covers", async () => {
    using home = new CheckedHome(
      [
        "{ name: src, run: 'true', paths: [src, '*.test.js'] }",
        "{ name: docs, run: 'false', paths: [docs] }",
      ],
      { "src/a.js": "1\n" },
    );
    const { end, verification } = await home.task(
      "echo 2 > src/a.js; echo t > src/a.test.js; mkdir scripts lib; echo s > scripts/build.sh; echo l > lib/l.js",
    );
    expect(end.outcome).toBe("done");
    expect(verification).toMatchObject({
      verdict: "passed",
      skipped: ["docs"],
      watched: [
        { path: "scripts/build.sh", why: "script" },
        { path: "src/a.test.js", why: "test" },
      ],
      uncovered: ["lib/l.js", "scripts/build.sh"],
    });
  });

  it("count the files that the record does not name", async () => {
    using home = new CheckedHome(["{ name: src, run: 'true', paths: [src] }"], { "src/a.js": "1\n" });
    const { end, id, verification } = await home.task(
      "echo 2 > src/a.js; mkdir scripts; i=0; while [ $i -lt 130 ]; do echo > scripts/$i; i=$((i + 1)); done",
    );
    expect(end.outcome).toBe("done");
    expect(verification?.["watched"]).toHaveLength(100);
    expect(verification?.["uncovered"]).toHaveLength(100);
    expect(verification?.["more"]).toEqual({ watched: 30, uncovered: 30 });
    const file = home.sessionDir(id, "tasks", "1", "artifacts", "checks.json");
    expect(JSON.parse(readFileSync(file, "utf8")).more).toEqual({ watched: 30, uncovered: 30 });
    const shown = verificationLines(verification ?? {}).map(({ text }) => text);
    expect(shown[0]).toMatch(/, and 125 more$/);
    expect(shown[1]).toMatch(/^no check covers 130 changed files: .*, and 125 more$/);
  });

  it("see the included files of the checkout as they are now, not as the task left them", async () => {
    const sees = (text: string) => `{ name: ${text}, run: 'test "$(cat .env)" = ${text}' }`;
    using home = new CheckedHome(
      [sees("first"), sees("second"), sees("forged")],
      { a: "1\n", ".gitignore": ".env\n" },
      "capsule: { include: [.env] }\n",
    );
    writeFileSync(join(home.main, ".env"), "first\n");
    await acceptFile(home);
    const passed = async () => {
      const { receipts } = await home.task("echo forged > .env; echo 2 > a");
      return receipts.filter((receipt) => receipt.passed).map(({ check }) => check);
    };
    expect(await passed()).toEqual(["first"]);
    writeFileSync(join(home.main, ".env"), "second\n");
    expect(await passed()).toEqual(["second"]);
  });

  it("fail with a clear reason if they leave files behind, hang, write without end or need a host", async () => {
    using home = new CheckedHome(
      [
        "{ name: leaves, run: 'echo x > left; mkdir -p out; echo x > out/ignored' }",
        "{ name: changes, run: 'rm -f left; echo y >> a' }",
        "{ name: hangs, run: sleep 600, timeout_minutes: 0.02 }",
        "{ name: floods, run: yes }",
        "{ name: fetches, run: 'curl -sf https://registry.example.org/ >/dev/null' }",
        "{ name: daemon, run: 'sleep 600 & echo started' }",
      ],
      { a: "1\n", ".gitignore": "out\n" },
    );
    const { end, receipts } = await home.task("echo 2 > b");
    expect(end.outcome).toBe("failed");
    const said = Object.fromEntries(receipts.map(({ check, reason }) => [check, reason]));
    expect(said).toEqual({
      leaves: expect.stringMatching(/^it changed or left behind left: /),
      changes: expect.stringMatching(/^it changed or left behind a: /),
      hangs: "it took longer than 0.02 minutes and was ended",
      floods: "it wrote more than 32 MB and was ended",
      fetches: expect.stringContaining("registry.example.org"),
      // It does not see what other checks did to the files, and the process that it leaves running is ended.
      daemon: null,
    });
    expect(receipts.filter(({ passed }) => passed).map(({ check }) => check)).toEqual(["daemon"]);
    expect(receipts.find(({ check }) => check === "floods")?.output.length).toBeLessThan(300_000);
    expect(home.strays()).toEqual([]);
  });
});
