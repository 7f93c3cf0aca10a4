/**
 * A branch of a remote is pushed to again: in the same task, in the next one, and after someone else has pushed.
 */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { until } from "../support/hosts.ts";
import { PushHome } from "../support/pushing.ts";
import { gitIn } from "../support/repo.ts";

const write = (content: string) => `- { tool: write_file, with: { path: made.txt, content: ${content} } }`;
const push = "- { tool: git_push, with: { branch: work } }";
const nothingNew = "- { tool: git_push, with: { branch: work }, on_failure: continue }";
const steps = (...all: string[]) => `steps:\n${all.map((step) => `  ${step}\n`).join("")}`;

interface PushAsked {
  readonly fingerprint: string;
  readonly action: { readonly target: { readonly parent: string; readonly commit: string } };
  readonly tree: string;
  readonly diff: { readonly insertions: number };
}

describe.skipIf(!hasSandbox)("git_push to the same branch again", () => {
  /** The request that waits, which is then approved. */
  async function approved(home: PushHome, id: string): Promise<PushAsked> {
    const asked = (await until(() => home.pending(id))) as unknown as PushAsked;
    expect(await home.approve(id)).toBe(0);
    return asked;
  }

  it("push-3 stands on the last push, in the same task and in the next one, each with a grant of its own", async () => {
    using home = new PushHome();
    const base = gitIn(home.main, "rev-parse", "HEAD");
    await home.run(
      steps(write("one"), push, write("two"), push, nothingNew, write("three")),
      "--repo",
      home.main,
    );
    const [id = ""] = (await home.dispatcher()).sessionIds();
    const first = await approved(home, id);
    const second = await approved(home, id);
    // The third push has nothing new, and no person is asked.
    expect((await home.cli("wait", id)).status).toBe(0);
    expect((await home.cli("output", id)).stdout).toContain("already has exactly these files");
    await home.run(steps(push), "--session", id);
    const third = await approved(home, id);
    expect((await home.cli("wait", id)).status).toBe(0);
    const pushed = [first, second, third];
    expect(pushed.map(({ action }) => action.target.parent)).toEqual([
      base,
      first.action.target.commit,
      second.action.target.commit,
    ]);
    expect(new Set(pushed.map(({ fingerprint }) => fingerprint)).size).toBe(3);
    const listed = gitIn(home.bare, "rev-list", "--parents", "--reverse", `${base}..work`);
    expect(listed.split("\n")).toEqual(
      pushed.map(({ action: { target } }) => `${target.commit} ${target.parent}`),
    );
    expect(gitIn(home.bare, "show", "work:made.txt")).toBe("three");
    expect(gitIn(home.bare, "rev-parse", "work^{tree}")).toBe(third.tree);
    expect(home.effects()).toBe(3);
  });

  it("is refused with the reason if someone else has pushed there, and changes nothing", async () => {
    using home = new PushHome();
    const clone = home.join("clone");
    await home.run(steps(write("one"), push, write("two"), push), "--repo", home.main);
    const [id = ""] = (await home.dispatcher()).sessionIds();
    await approved(home, id);
    await until(() => home.pending(id));
    execFileSync("git", ["clone", "-q", "--branch", "work", home.bare, clone], { stdio: "ignore" });
    const who = ["-c", "user.name=Bo", "-c", "user.email=bo@example.org"];
    gitIn(clone, ...who, "commit", "-q", "--allow-empty", "-m", "theirs");
    gitIn(clone, "push", "-q", "origin", "work");
    const theirs = gitIn(home.bare, "rev-parse", "work");
    await approved(home, id);
    expect((await home.cli("wait", id)).status).toBe(1);
    expect((await home.cli("output", id)).stdout).toContain(
      "work there has commits that this one does not stand on",
    );
    expect(gitIn(home.bare, "rev-parse", "work")).toBe(theirs);
  });
});
