/**
 * A person gets the files of a session for a while.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { gitIn } from "../support/repo.ts";
import { inCapsule, sandbox, TaskHome } from "../support/tasks.ts";

describe("a hand-off", () => {
  it("gives a person a directory with a git of its own, and takes their changes back as a turn of theirs", async () => {
    using home = new TaskHome({
      "a.txt": "one\n",
      "b.txt": "b\n",
      ".gitignore": "deps\n",
      "holdfast.yaml": "capsule: { setup: 'mkdir deps; echo d > deps/d' }\n",
    });
    const { hf, session } = await home.atRest(
      "echo agent >> a.txt; git config core.fsmonitor /bin/false; git init -q nested; echo n > nested/n; git add a.txt; git commit -qm mine",
    );
    const directory = home.join("mine");
    await hf.handOffSession(session.id, { to: "ani", directory });
    await expect(hf.handOffSession(session.id, { to: "ani" })).rejects.toMatchObject({
      code: "handoff_open",
    });
    await expect(hf.resumeSession(session.id)).rejects.toMatchObject({ code: "handoff_open" });
    expect(gitIn(directory, "status", "--porcelain")).toBe(" M a.txt\n?? nested/");
    expect(existsSync(join(directory, "nested/.git")), "no gitdir of an agent's").toBe(false);
    expect(readFileSync(join(directory, "HANDOFF.md"), "utf8")).toContain("handoff");
    writeFileSync(join(directory, "a.txt"), "one\nagent\nperson\n");
    rmSync(join(directory, "b.txt"));
    mkdirSync(join(directory, "new"));
    writeFileSync(join(directory, "new/file"), "n", { mode: 0o755 });
    const returned = await hf.takeBackSession(session.id);
    expect(returned).toMatchObject({ turn: 2, isChanged: true });
    const resumed = await hf.resumeSession(session.id);
    expect(
      await inCapsule(
        hf,
        resumed,
        "cat a.txt deps/d new/file; ls b.txt 2>&1 | grep -c No; ls -d nested/.git; git log --format=%s -1; ls HANDOFF.md 2>/dev/null",
      ),
    ).toBe("one\nagent\nperson\nd\nn1\nnested/.git\nmine");
    await (await hf.currentTask(resumed, sandbox)).rest();
    await resumed.pause();
    const turns = [];
    for await (const record of hf.readJournal(session.id))
      if (record.type === "turn_started") turns.push(record.data["by"]);
    expect(turns[1]).toBe("ani");
    expect(readdirSync(directory), "it stays the person's").toContain("a.txt");
  });

  it("verify-5 does not publish work that needs a review when a person returns it with a change of theirs", async () => {
    using home = new TaskHome({ "a.txt": "one\n" });
    const { hf, session } = await home.atRest(
      "mkdir -p .github/workflows; echo on > .github/workflows/ci.yml",
    );
    const directory = home.join("mine");
    await hf.handOffSession(session.id, { to: "ani", directory });
    writeFileSync(join(directory, "a.txt"), "one\nperson\n");
    const { branch, unpublished } = await hf.takeBackSession(session.id);
    expect({ branch, unpublished }).toMatchObject({
      branch: null,
      unpublished: { code: "policy", reason: expect.stringContaining(".github/workflows/ci.yml") },
    });
    expect(gitIn(home.main, "branch", "--list", "holdfast/*")).toBe("");
    const reviewed = await hf.branchSession(session.id, { isReviewed: true });
    expect(gitIn(home.main, "show", `${reviewed.branch}:.github/workflows/ci.yml`)).toBe("on");
  });
});
