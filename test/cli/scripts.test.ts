/**
 * Scripts on the command line: a file of the user, and one that an agent definition names. A faulty script is
 * refused before anything is started.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: scripts have variables of their own
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { AgentHome } from "../support/agents.ts";
import { hasSandbox } from "../support/capsules.ts";
import { commitFiles } from "../support/repo.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];

describe("run --script", () => {
  it("runs the steps of a file with the given variables, and records the variables and the file name", async () => {
    await using home = await AgentHome.start();
    const file = home.join("steps.yaml");
    writeFileSync(file, "vars: { a: one, b: two }\nsteps:\n  - say: '${a} ${b} ${task}'\n");
    const options = ["--script", file, "--var", "b=2=3", ...wall];
    const { status, stdout, stderr } = await home.run("steps", "to do", ...options);
    expect([status, stdout], stderr).toEqual([0, expect.stringContaining("one 2=3 to do\n")]);
    const [queued] = (await home.records("steps")).filter(({ type }) => type === "task_queued");
    expect(queued?.data["spec"]).toMatchObject({
      agent: { adapter: "script", vars: { b: "2=3", task: "to do" }, input: "messages" },
      definition: "script:steps.yaml",
    });
    expect((await home.holdfast("show", "steps")).stdout).toContain("to do");
    expect(home.model.requests, "it asks no model").toEqual([]);
  });

  it("refuses a faulty script or wrong flags before anything is started", async () => {
    await using home = await AgentHome.start();
    const file = home.join("steps.yaml");
    const refused = async (text: string, ...options: string[]) => {
      writeFileSync(file, text);
      const repo = ["--repo", home.main, ...wall];
      const { status, stderr } = await home.holdfast("run", ...repo, "--script", file, ...options);
      expect(status).toBe(2);
      return stderr;
    };
    expect(await refused("steps:\n  - say: x\n  - say: '${who}'\n")).toMatch(
      /script_invalid: script:3: steps\.1\.say: there is no variable who here/,
    );
    expect(await refused("steps: [")).toMatch(/script_invalid: script:1:/);
    expect(await refused("x".repeat(100_001))).toMatch(/script_invalid: .*more than 100000 characters/);
    const steps = "steps: [{ say: x }]";
    expect(await refused(steps, "--var", "no")).toMatch(/usage: --var no: the form is NAME=VALUE/);
    expect(await refused(steps, "--agent", "claude")).toMatch(/usage: --agent/);
    expect(await refused(steps, "--", "true")).toMatch(/usage: --script and --var/);
    expect((await home.holdfast("run", "--repo", home.main, "--var", "a=b", "do it")).stderr).toMatch(
      /--var needs a script/,
    );
    expect((await home.holdfast("run", "--repo", home.main, "--agent", "claude")).stderr).toMatch(
      /give the task in words/,
    );
    expect((await home.holdfast("ls", "--all")).stdout).not.toContain("sess_");
  });
});

describe("an agent definition with a script", () => {
  it("runs the file of the commit that the task begins with, or the uncommitted one with --dirty", async () => {
    await using home = await AgentHome.start();
    const yaml = "agents:\n  nightly: { adapter: script, script: ci/steps.yaml, lane: read-only }\n";
    const steps = (word: string) => `vars: { a: ${word} }\nsteps:\n  - say: '\${a}'\n`;
    commitFiles(home.main, { "holdfast.yaml": yaml, "ci/steps.yaml": steps("first") }, "steps");
    const first = await home.holdfast(
      "run",
      "--repo",
      home.main,
      "--name",
      "first",
      ...wall,
      "--agent",
      "nightly",
    );
    expect([first.status, first.stdout], first.stderr).toEqual([0, expect.stringContaining("first\n")]);
    writeFileSync(`${home.main}/ci/steps.yaml`, steps("uncommitted"));
    const given = await home.run("given", "x", "--agent", "nightly", "--var", "a=given", ...wall);
    expect([given.status, given.stdout], given.stderr).toEqual([0, expect.stringContaining("given\n")]);
    const started = (await home.records("given")).find(({ type }) => type === "task_started");
    expect(started?.data["lane"]).toBe("read-only");
    const dirty = await home.run("dirty", "x", "--agent", "nightly", "--dirty", ...wall);
    expect([dirty.status, dirty.stdout], dirty.stderr).toEqual([0, expect.stringContaining("uncommitted\n")]);
    const listed = await home.holdfast("agents", "--json");
    expect(listed.status).toBe(0);
    commitFiles(home.main, { "holdfast.yaml": yaml.replace("ci/", "gone/") }, "gone");
    const gone = await home.run("gone", "x", "--agent", "nightly", ...wall);
    expect([gone.status, gone.stderr]).toEqual([
      2,
      expect.stringContaining("gone/steps.yaml of agent nightly: the file does not exist"),
    ]);
  });
});
