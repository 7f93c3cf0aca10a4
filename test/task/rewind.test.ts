/**
 * A session goes back to the end of a turn, in place, and forward again.
 */
import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { CarryHome, cutOff } from "../support/carry.ts";
import { gitIn } from "../support/repo.ts";

const inHome = (text: string) => (hasSandbox ? `echo ${text} > "$HOME/talk"; ` : "");

describe.each(["overlay", "worktree"] as const)("rewind (%s)", (strategy) => {
  it("rewind-1 takes files, HOME and history back and forward, and never uses a turn number again", async () => {
    using home = new CarryHome(strategy);
    const hf = await home.hf();
    for (const turn of [1, 2, 3, 4])
      await home.task(
        `${inHome(String(turn))}echo ${turn} > file; echo ${turn} > t${turn}; echo i > ${turn}.log`,
      );
    const tips = home.git("log", "--format=%H", home.branch).split("\n").slice(0, 4).reverse();
    const credentials = home.sessionDir(home.id, "home", ".netrc");
    if (hasSandbox) writeFileSync(credentials, "machine x password y\n");
    const turns = async () => {
      const found: number[] = [];
      for await (const { turn } of hf.readHistory(home.id)) found.push(turn);
      return found;
    };
    expect(await hf.rewindSession(home.id, 2)).toMatchObject({ fromTurn: 4, toTurn: 2 });
    expect(await turns()).toEqual([1, 2]);
    if (hasSandbox) {
      expect(readFileSync(home.sessionDir(home.id, "home", "talk"), "utf8")).toBe("2\n");
      expect(existsSync(credentials)).toBe(true);
    }
    expect((await home.task("cat file; ls *.log; echo 5 > t5")).said).toBe("2\n1.log\n2.log");
    expect(await turns()).toEqual([1, 2, 5]);
    // The next commit follows that turn's tip, and the tip that the branch had is kept.
    expect(home.git("rev-parse", `${home.branch}^`)).toBe(tips[1]);
    const [, , , , published] = await home.records("work_published");
    expect(published?.["replaced"]).toBe(tips[3]);
    expect(home.git("cat-file", "-t", tips[3] ?? "")).toBe("commit");
    expect(home.git("for-each-ref", "--contains", tips[3] ?? "", "refs/holdfast/")).not.toBe("");
    // Forward again: turn 5 is left out, and the next one is 6.
    await hf.rewindSession(home.id, 4);
    expect(await turns()).toEqual([1, 2, 3, 4]);
    expect((await home.task("cat file t3 t4; ls t5 2>&1 || true; echo 6 > t6")).said).toContain(
      "4\n3\n4\nls:",
    );
    expect(await turns()).toEqual([1, 2, 3, 4, 6]);
    expect(home.git("rev-parse", `${home.branch}^`)).toBe(tips[3]);
    await hf.rewindSession(home.id, 5);
    expect(await turns()).toEqual([1, 2, 5]);
    // A fork of a turn has the turns that led to it.
    const fork = await hf.forkSession(home.id, { atTurn: 6 });
    const ofFork: number[] = [];
    for await (const { turn } of fork.history()) ofFork.push(turn);
    await fork.pause();
    expect(ofFork).toEqual([1, 2, 3, 4, 6]);
    expect((await hf.auditSession(home.id)).findings).toEqual([]);
  });

  it("rewind-1 goes back to the very beginning if asked to, and refuses a turn that does not exist", async () => {
    using home = new CarryHome(strategy);
    const hf = await home.hf();
    await home.task(`${inHome("1")}echo 1 > one; echo kept > kept.log`);
    await expect(hf.rewindSession(home.id, 7)).rejects.toMatchObject({ code: "turn_not_found" });
    await hf.rewindSession(home.id, 0);
    if (hasSandbox) expect(existsSync(home.sessionDir(home.id, "home", "talk"))).toBe(false);
    expect((await home.task("ls; echo 2 > two")).said).toBe("a.txt\nholdfast.yaml");
    await hf.rewindSession(home.id, 1);
    expect((await home.task("cat one kept.log")).said).toBe("1\nkept");
  });

  it("rewind-1 is completed by the session's next owner if it is cut off after its record", async () => {
    using home = new CarryHome(strategy);
    const hf = await home.hf();
    await home.task(`${inHome("1")}echo 1 > file`);
    await home.task(`${inHome("2")}echo 2 > file`);
    // The record alone, as a kill would leave it.
    const [first] = await home.records("snapshot_taken");
    const [started] = await home.records("task_started");
    await hf.tearDownSession(home.id);
    {
      await using session = await hf.resumeSession(home.id, { files: false });
      const { snapshot, tree, manifest, home: homeThen } = first as Record<string, string>;
      const files = { snapshot: snapshot ?? "", tree: tree ?? "", manifest: manifest ?? "" };
      const base = String(started?.["base"]);
      await session.append("session_rewound", {
        toTurn: 1,
        fromTurn: 2,
        history: [[1, 1]],
        ...files,
        base,
        ...(homeThen && { home: homeThen as unknown as Record<string, string> }),
      });
    }
    const said = hasSandbox ? 'cat file "$HOME/talk"' : "cat file; echo 1";
    expect((await home.task(said)).said).toBe("1\n1");
  });

  it.each(["after", "before"] as const)(
    "rewind-1 that is cut off %s its files were made is finished by the next task or a teardown",
    async (when) => {
      using home = new CarryHome(strategy);
      const hf = await home.hf();
      for (const turn of [1, 2, 3]) await home.task(`${inHome(String(turn))}echo ${turn} > file`);
      const type = when === "after" ? "capsule_restored" : "session_rewound";
      const cut = (toTurn: number) =>
        cutOff(when === "after" ? "before" : "after", type, () => hf.rewindSession(home.id, toTurn));
      const said = hasSandbox ? 'cat file "$HOME/talk"' : "cat file file";
      await cut(2);
      expect((await home.task(said)).said).toBe("2\n2");
      await cut(1);
      await hf.tearDownSession(home.id);
      expect((await home.task(said)).said).toBe("1\n1");
    },
  );

  it("keeps the branch's former tip, which gc of the home does not remove", async () => {
    using home = new CarryHome(strategy);
    const hf = await home.hf();
    for (const turn of [1, 2]) await home.task(`echo ${turn} > t${turn}`);
    const tip = home.git("rev-parse", home.branch);
    await hf.rewindSession(home.id, 1);
    await home.task("echo 3 > t3");
    const kept = home.git("for-each-ref", "--format=%(refname)", "--points-at", tip);
    // gc keeps young refs anyway, so these have to look old.
    for (const ref of kept.split("\n")) utimesSync(join(home.main, ".git", ref), 0, 0);
    await hf.gc();
    expect(home.git("for-each-ref", "--format=%(refname)", "--points-at", tip)).toBe(kept);
  });

  it("after a merge continues from the user's current branch, and so does the session's own branch", async () => {
    using home = new CarryHome(strategy);
    const hf = await home.hf();
    await home.task("echo 1 > one");
    await home.task("echo 2 > two");
    gitIn(home.main, "merge", "-q", "--ff-only", home.branch);
    const tip = home.git("rev-parse", home.branch);
    await hf.rewindSession(home.id, 1);
    // The user's branch has the work of both tasks.
    const next = await home.task("ls; echo 3 > three");
    expect(next.said).toContain("two");
    expect(home.git("rev-parse", `${home.branch}^`)).toBe(tip);
  });
});
