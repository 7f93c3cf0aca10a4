/**
 * Values of an environment in what a task leaves: its work, its HOME, an export, and its saved output.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { type Dispatcher, HostHome, script } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";
import { exportHas, filesWith, newValue, objectsHave } from "../support/values.ts";

async function ended(dispatcher: Dispatcher, id: string) {
  const all = await Array.fromAsync(dispatcher.holdfast.readJournal(id));
  return all.filter(({ type }) => type === "task_ended").map(({ data }) => data);
}

describe("work with a value in it", () => {
  it("value-1 is held for a review, whatever kind of file has the value, and so is later work that begins with it", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const value = newValue();
    const command =
      'printf "key: %s\\n" "$FIRST" > a.txt; printf "\\000\\001%s" "$FIRST" > b.bin; mkdir "$FIRST"; echo x > "$FIRST/c"; echo d > d';
    const { id } = await dispatcher.begin({ repo: home.main }, script(command), { env: { FIRST: value } });
    await home.quiet();
    const [first] = await ended(dispatcher, id);
    expect(first).toMatchObject({
      outcome: "needs_review",
      files: 4,
      unpublished: { code: "secret_in_work" },
    });
    const reason = JSON.stringify(first?.["unpublished"]);
    expect(reason).toContain("the value of FIRST is in ");
    for (const path of ["a.txt", "b.bin", "[redacted:env:FIRST]/c"]) expect(reason).toContain(path);
    const patch = readFileSync(home.sessionDir(id, "tasks", "1", "artifacts", "change.patch"), "utf8");
    expect(patch).toContain("+key: [redacted:env:FIRST]\n");
    expect(filesWith(home.sessionDir(id), value)).toEqual([]);

    // The next task was given no values, and would publish all of the work.
    await dispatcher.submit(id, script("echo more > e"));
    await home.quiet();
    expect((await ended(dispatcher, id))[1]).toMatchObject({
      outcome: "needs_review",
      unpublished: { code: "secret_in_work" },
    });
    await expect(dispatcher.holdfast.branchSession(id)).rejects.toMatchObject({ code: "needs_review" });
    await expect(dispatcher.holdfast.branchSession(id, { commits: true })).rejects.toMatchObject({
      code: "needs_review",
    });
    const fork = await dispatcher.holdfast.forkSession(id);
    await fork.release();
    await expect(dispatcher.holdfast.branchSession(fork.id)).rejects.toMatchObject({ code: "needs_review" });
    expect(objectsHave(join(home.main, ".git"), value)).toBe(false);

    await dispatcher.holdfast.branchSession(id, { isReviewed: true });
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:a.txt`)).toBe(`key: ${value}`);
    await dispatcher.submit(id, script("echo more > f"));
    await home.quiet();
    expect((await ended(dispatcher, id))[2]).toMatchObject({ outcome: "unverified" });
  });

  it("is held even if the task failed, and the work of a next task that begins fresh is published", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const value = newValue();
    const env = { FIRST: value };
    const { id } = await dispatcher.begin({ repo: home.main }, script('echo "$FIRST" > b; exit 1'), { env });
    await home.quiet();
    expect(await ended(dispatcher, id)).toMatchObject([
      { outcome: "failed", unpublished: { code: "secret_in_work" } },
    ]);
    await expect(dispatcher.holdfast.branchSession(id)).rejects.toMatchObject({ code: "needs_review" });
    await dispatcher.submit(id, script("echo clean > c", { isFresh: true }), { env });
    await home.quiet();
    expect((await ended(dispatcher, id))[1]).toMatchObject({ outcome: "unverified" });
    expect(objectsHave(join(home.main, ".git"), value)).toBe(false);
    // After a rewind to the end of the first task, its work is held again.
    await dispatcher.holdfast.rewindSession(id, 1);
    await expect(dispatcher.holdfast.branchSession(id)).rejects.toMatchObject({ code: "needs_review" });
  });
});

describe("the message of a commit", () => {
  it("value-3 is not taken from the agent if a value that it was given is not known any more", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const value = newValue();
    const commit = 'git add .; git commit -qm "use $FIRST"';
    const failing = script(`echo ok > b; ${commit}; exit 1`);
    const { id } = await dispatcher.begin({ repo: home.main, title: "asked" }, failing, {
      env: { FIRST: value },
    });
    await home.quiet();
    await dispatcher.holdfast.branchSession(id);
    const subject = () => gitIn(home.main, "log", "-1", "--format=%s", home.branchOf(id));
    expect(subject()).toBe("asked");

    // Two values, and only one of them is found in the work.
    const held = script(`echo "$SECOND" > c; ${commit}`, { title: "again" });
    await dispatcher.submit(id, held, { env: { FIRST: value, SECOND: newValue() } });
    await home.quiet();
    await dispatcher.holdfast.branchSession(id, { isReviewed: true });
    expect(subject()).toBe("again");

    // A task that has another value puts the value of an earlier task into its message.
    const later = script(`echo d > d; git add .; git commit -qm "${value}"`, { title: "later" });
    await dispatcher.submit(id, later, { env: { OTHER: newValue() } });
    await home.quiet();
    expect(subject()).toBe("later");
    expect(objectsHave(join(home.main, ".git"), value)).toBe(false);
  });
});

describe("HOME with a value in it", () => {
  it.skipIf(!hasSandbox)(
    "export-1 has files with the value left out of an export, even in a fork that was not given the value",
    async () => {
      using home = new HostHome();
      const dispatcher = await home.dispatcher();
      const value = newValue();
      const command =
        'echo "said $FIRST" > ~/.history; echo other > ~/.settings; git commit -q --allow-empty -m "$FIRST"; echo x > b';
      const { id } = await dispatcher.begin({ repo: home.main }, script(command), { env: { FIRST: value } });
      await home.quiet();
      await expect(dispatcher.holdfast.branchSession(id, { commits: true })).rejects.toMatchObject({
        code: "needs_review",
      });
      expect(gitIn(home.main, "log", "-1", "--format=%s", home.branchOf(id))).toBe("[redacted:env:FIRST]");
      const fork = await dispatcher.holdfast.forkSession(id);
      await fork.release();
      for (const session of [id, fork.id]) {
        const to = home.join(`${session}.export`);
        const { leftOut } = await dispatcher.holdfast.exportSession(session, to);
        expect(leftOut).toEqual([{ path: ".history", rules: ["env:FIRST"] }]);
        expect(exportHas(to, `said ${value}`)).toBe(false);
        expect(exportHas(to, "other\n")).toBe(true);
      }
      const whole = home.join("whole.export");
      await dispatcher.holdfast.exportSession(id, whole, { withHome: true });
      expect(exportHas(whole, `said ${value}`)).toBe(true);
    },
  );
});

describe("a file of HOME with a value in it", () => {
  it.skipIf(!hasSandbox)("is held for a review when a later task copies it", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const value = newValue();
    const first = script('echo "said $FIRST" > ~/.history; echo x > b');
    const { id } = await dispatcher.begin({ repo: home.main }, first, { env: { FIRST: value } });
    await home.quiet();
    await dispatcher.submit(id, script("cp ~/.history c; echo y > d"));
    await home.quiet();
    const [, second] = await ended(dispatcher, id);
    expect(second).toMatchObject({ outcome: "needs_review", unpublished: { code: "secret_in_work" } });
    expect(JSON.stringify(second)).toContain("the value of FIRST is in c:");
    await expect(dispatcher.holdfast.branchSession(id)).rejects.toMatchObject({ code: "needs_review" });
    expect(objectsHave(join(home.main, ".git"), value)).toBe(false);
    await dispatcher.holdfast.branchSession(id, { isReviewed: true });
    await dispatcher.submit(id, script("echo z > e"));
    await home.quiet();
    expect((await ended(dispatcher, id))[2]).toMatchObject({ outcome: "unverified" });
  });
});
