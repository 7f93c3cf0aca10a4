/**
 * The directory in the capsule that a command starts in.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseTaskSpec } from "../../src/contract/index.ts";
import { directoryIn } from "../../src/dispatch/where.ts";
import { hasSandbox } from "../support/capsules.ts";
import { runCliIn } from "../support/cli-in.ts";
import { commitFiles } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const idIn = (text: string) => /sess_[0-9a-z]+/.exec(text)?.[0] ?? "";

describe("the directory that a command starts in", () => {
  it("is the caller's own directory in the repo, or the one that --cwd names", async () => {
    using home = new TaskHome({ "a.txt": "top\n", "sub/deep/a.txt": "deep\n", "sub/a.txt": "sub\n" });
    const sub = join(home.main, "sub");
    const run = await runCliIn(sub, home.dir, ["run", ...wall, "--", "sh", "-c", "cat a.txt; echo new > b"]);
    expect(run).toMatchObject({ status: 0, stdout: "sub\n" });
    const id = idIn(run.stderr);
    expect((await runCliIn(sub, home.dir, ["diff", id, "--stat"])).stdout).toBe("sub/b\n");

    const next = (cwd: string, ...args: string[]) =>
      runCliIn(cwd, home.dir, ["run", ...wall, "--session", id, ...args, "--", "cat", "a.txt"]);
    expect(await next(sub, "--cwd", "deep")).toMatchObject({ status: 0, stdout: "deep\n" });
    expect(await next(sub, "--cwd", "..")).toMatchObject({ status: 0, stdout: "top\n" });
    expect(await next(home.path)).toMatchObject({ status: 0, stdout: "top\n" });
    expect(await next(home.path, "--cwd", "sub")).toMatchObject({ status: 0, stdout: "sub\n" });
    expect(await next(sub, "--cwd", "../..")).toMatchObject({ status: 2, stderr: /is not in the repo/ });
    // The session's files decide, not those of the checkout.
    mkdirSync(join(home.main, "only-here"));
    const missing = await next(join(home.main, "only-here"));
    expect(missing).toMatchObject({ status: 4, stderr: /directory_missing: .* no directory only-here/ });
    expect(await next(sub)).toMatchObject({ status: 0, stdout: "sub\n" });
    expect(await runCliIn(home.path, home.dir, ["retry", id])).toMatchObject({ status: 0, stdout: "sub\n" });
  });

  it("is refused before a session is opened if the base does not have it, unless set-up may make it", async () => {
    using home = new TaskHome({ "a.txt": "top\n" });
    const made = join(home.main, "made");
    mkdirSync(made);
    const run = () => runCliIn(made, home.dir, ["run", ...wall, "--", "pwd"]);
    expect(await run()).toMatchObject({ status: 4, stderr: /directory_missing/ });
    expect(JSON.parse((await runCliIn(made, home.dir, ["ls", "--json"])).stdout)).toEqual([]);
    commitFiles(home.main, { "holdfast.yaml": "capsule: { setup: mkdir made }\n" }, "set-up");
    const done = await run();
    expect(done.status).toBe(0);
    expect(done.stdout).toMatch(/\/made\n$/);
  });

  it("is never outside of the repo, whether the task's spec or a caller names it", () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const spec = { command: ["x"], definition: "x", sandbox: true, input: "nothing", restart: false };
    for (const cwd of ["/etc", "..", "a/../..", "a//b", ".", ""])
      expect(() => parseTaskSpec({ ...spec, cwd }), cwd).toThrow("is not a path from the top");
    const of = (cwd: string) => directoryIn(home.main, { here: home.path, cwd });
    expect(of("x/y")).toBe("x/y");
    expect(of(join(home.main, "x"))).toBe("x");
    expect(of(".")).toBeUndefined();
    for (const cwd of ["/etc", "..", "x/../.."]) expect(() => of(cwd)).toThrow("is not in the repo");
  });
});
