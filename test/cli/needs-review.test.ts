/**
 * Work that a person has to review: what the command line says, and its exit status.
 */
import { expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { runCliIn } from "../support/cli-in.ts";
import { gitIn } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];

it("run and wait exit with 3 and name what to do, until branch --reviewed has published it", async () => {
  using home = new TaskHome();
  const cli = (...args: string[]) => runCliIn(home.main, home.dir, args);
  const run = (name: string, ...words: string[]) =>
    cli("run", ...wall, "--name", name, ...words, "--", "sh", "-c", "echo x > Jenkinsfile");
  const ran = await run("one");
  expect(ran).toMatchObject({ status: 3, stderr: expect.stringContaining("a protected path, Jenkinsfile") });
  expect(ran.stderr).toContain("holdfast branch --reviewed");
  await run("two", "--detach");
  expect((await cli("wait", "two")).status).toBe(3);
  expect((await cli("wait", "one", "two")).status).toBe(3);
  const shown = JSON.parse((await cli("show", "two", "--json")).stdout);
  expect(shown).toMatchObject({ task: { outcome: "needs_review" } });
  expect(await cli("branch", "two")).toMatchObject({ status: 3 });
  expect(gitIn(home.main, "branch", "--list", "holdfast/*")).toBe("");
  expect(await cli("branch", "two", "--reviewed")).toMatchObject({ status: 0 });
  expect(gitIn(home.main, "show", "holdfast/two:Jenkinsfile")).toBe("x");
});
