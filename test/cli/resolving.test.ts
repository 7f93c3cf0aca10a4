/**
 * `merge --resolve`: a task of the session begins with the conflict, and the work that it publishes can be
 * merged.
 */
import { describe, expect, it } from "vitest";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { runCli } from "../support/cli.ts";
import { commitFiles, gitIn } from "../support/repo.ts";

if (!hasSandbox) console.log("left out: conflicts that are given back: their task runs in a sandbox alone");

/** The agent is told the file's name, by which the scripted model finds its script. */
const SHARED = "[[resolve]].txt";
const bash = (command: string) => ({ call: { bash: { command } } });

describe.runIf(hasSandbox)("merge --resolve", () => {
  it("gives the conflict to a command or the session's agent, and what the agent resolved can be merged", async () => {
    await using home = await AgentHome.start({
      work: [bash(`echo theirs > "${SHARED}"; echo own > own`), { say: "Done." }],
      resolve: [bash(`printf 'mine\\ntheirs\\n' > "${SHARED}"`), { say: "Both stay." }],
    });
    const { main } = home;
    commitFiles(main, { [SHARED]: "first\n" }, "shared");
    await home.run("one", "[[work]]");
    await home.quiet();
    commitFiles(main, { [SHARED]: "mine\n", other: "o\n" }, "by a person");
    const tips = () => gitIn(main, "rev-parse", "main", "holdfast/one");
    const before = tips();

    const merged = await home.holdfast("merge", "one");
    expect(merged).toMatchObject({ status: 8, stderr: expect.stringContaining("--resolve") });
    expect(merged.stderr).toContain(SHARED);

    // The command sees conflict markers with both sides, and all other files of the branch.
    const seen = `cat "${SHARED}"; git status --short; cat other own; exit 1`;
    const looked = await home.holdfast("merge", "one", "--resolve", "--", "sh", "-c", seen);
    expect(looked.status, looked.stderr).toBe(1);
    expect(looked.stdout).toMatch(/^<<<<<<< \w+\nmine\n=======\ntheirs\n>>>>>>> \w+\n/);
    expect(looked.stdout).toMatch(/A {2}own\no\nown\n$/);
    expect(tips()).toBe(before);
    await home.quiet();
    // The command failed and left unpublished work, which --resolve does not throw away.
    expect(await home.holdfast("merge", "one", "--resolve")).toMatchObject({ status: 5 });
    await home.holdfast("rewind", "one", "--to", "1");
    const resolved = await home.holdfast("merge", "one", "--resolve");
    expect(resolved.status, resolved.stderr).toBe(0);
    expect(resolved.stdout).toContain("Both stay.");
    await home.quiet();
    expect(await home.holdfast("merge", "one")).toMatchObject({ status: 0 });
    expect(gitIn(main, "show", `main:${SHARED}`)).toBe("mine\ntheirs");
    expect(gitIn(main, "show", "main:own")).toBe("own");
    expect(await home.holdfast("merge", "one", "--resolve")).toMatchObject({ status: 4 });
  });

  it("is refused without an agent or a conflict; without --resolve, merge takes no command", async () => {
    await using home = await AgentHome.start({});
    const cli = (...args: string[]) => runCli(home.dir, args, home.env);
    await cli("run", "--repo", home.main, "--name", "two", "--", "sh", "-c", "echo b > a.txt");
    expect(await cli("merge", "two", "--resolve")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("two has had no agent: name one with --agent"),
    });
    expect(await cli("merge", "two", "--", "true")).toMatchObject({ status: 2 });
    await home.quiet();
    expect(await cli("merge", "two", "--resolve", "--", "true")).toMatchObject({
      status: 5,
      stderr: expect.stringContaining("the work does not conflict with main"),
    });
  });
});
