/**
 * Names of sessions are chosen once, are unique, and are accepted wherever an id is.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSessionName, nameFromCommand, nameFromText, numberedName } from "../../src/contract/index.ts";
import { TestChild } from "../support/children.ts";
import { TestHome } from "../support/home.ts";
import { commitFiles, gitIn, makeRepo } from "../support/repo.ts";
import { TaskHome } from "../support/tasks.ts";

describe("a name", () => {
  it("name-1 made from any text is valid, and so are its numbered variants", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 1e6 }), (text, number) => {
        const name = nameFromText(text);
        if (name === undefined) return;
        expect(isSessionName(name)).toBe(true);
        expect(name).not.toMatch(/--|-$/);
        expect(isSessionName(numberedName(name, number))).toBe(true);
      }),
    );
    expect(isSessionName(numberedName("a".repeat(40), 12))).toBe(true);
    for (const wrong of ["", "A", "1a", "-a", "a_b", "a/b", "a.b", "@", "a".repeat(41), "a\n"])
      expect(isSessionName(wrong), wrong).toBe(false);
  });

  it("is made from a title, or from the plain words of a command", () => {
    expect(nameFromText("Fix the login timeout!")).toBe("fix-the-login-timeout");
    expect(nameFromText("2026: Überprüfe Café")).toBe("uberprufe-cafe");
    expect(nameFromText("日本語")).toBeUndefined();
    const names = [
      [["npm", "test"], "npm-test"],
      [["/usr/bin/true"], "true"],
      [["sh", "-c", "echo fixed > login.ts"], "echo-fixed"],
      [["bash", "-lc", "exec claude --continue || exec claude"], "claude"],
      [["sh", "-c", "API_KEY=verysecretvalue ./deploy.sh prod"], "deploy-sh-prod"],
      [["env", "TOKEN=abcdefgh", "make"], "env-make"],
      [["vim", "-p", "notes.txt"], "vim-notes-txt"],
    ] as const;
    for (const [command, name] of names) expect(nameFromCommand(command), command.join(" ")).toBe(name);
  });
});

describe("session names", () => {
  it("name-2 are unique within a repo and all its working trees, and avoid its existing branches", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    gitIn(home.main, "worktree", "add", "-q", home.join("linked"), "-b", "linked");
    const other = makeRepo(home.join("other"));
    const open = async (repo: string | undefined, title = "Fix login") => {
      await using session = await hf.openSession({ title, ...(repo && { repo }) });
      return session.state.name;
    };
    expect(await open(home.main)).toBe("fix-login");
    expect(await open(home.join("linked"))).toBe("fix-login-2");
    expect(await open(home.main)).toBe("fix-login-3");
    expect(await open(other)).toBe("fix-login");
    expect(await open(undefined)).toBe("fix-login");
    expect(await open(home.main, "")).toBeNull();
    // A person's branches count too, packed or loose, and so does a folder of branches in the way of one.
    gitIn(home.main, "branch", "holdfast/packed");
    gitIn(home.main, "branch", "holdfast/folder/x");
    gitIn(home.main, "pack-refs", "--all");
    gitIn(home.main, "branch", "holdfast/loose");
    for (const name of ["packed", "folder", "loose"]) expect(await open(home.main, name)).toBe(`${name}-2`);
  });

  it("are used exactly as asked for, or refused without making a session", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    await (await hf.openSession({ repo: home.main, name: "mine" })).release();
    const count = readdirSync(join(home.dir, "sessions")).length;
    await expect(hf.openSession({ repo: home.main, name: "mine" })).rejects.toMatchObject({
      code: "name_taken",
    });
    for (const name of ["Mine", "../x", "", "a b"])
      await expect(hf.openSession({ repo: home.main, name })).rejects.toMatchObject({ code: "invalid_name" });
    expect(readdirSync(join(home.dir, "sessions"))).toHaveLength(count);
    // A session that fails to open after it claimed its name leaves the name free.
    await expect(
      hf.openSession({ repo: home.main, name: "later", title: "x".repeat(501) }),
    ).rejects.toMatchObject({ code: "invalid_data" });
    await (await hf.openSession({ repo: home.main, name: "later" })).release();
  });

  it("name-2 stay unique when several processes open sessions at the same moment", async () => {
    using home = new TaskHome();
    await home.open();
    const children = [1, 2, 3, 4].map(() => new TestChild("open-named.ts", [home.dir, home.main, "10"]));
    await Promise.all(children.map((child) => child.line((line) => line === "opened")));
    await Promise.all(children.map((child) => child[Symbol.asyncDispose]()));
    const names = (await (await home.open()).listSessions()).map(({ name }) => name);
    expect(names).toHaveLength(40);
    expect(new Set(names).size).toBe(40);
  });

  it("name-2 are free again if the process that claimed them died before it made the session", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const first = await hf.openSession({ repo: home.main, title: "first" });
    await first.release();
    const [dir = ""] = readdirSync(join(home.dir, "names"));
    const claim = (name: string) => join(home.dir, "names", dir, name);
    expect(readFileSync(claim("first"), "utf8")).toBe(`${first.id}\n`);
    const unmade = "sess_01k00000000000000000000000";
    writeFileSync(claim("dead"), `${unmade} 999999999 1\n`);
    writeFileSync(claim("torn"), "");
    writeFileSync(claim("making"), `${unmade} ${process.pid} \n`);
    for (const [title, name] of [
      ["dead", "dead"],
      ["torn", "torn"],
      ["making", "making-2"],
    ] as const) {
      await using session = await hf.openSession({ repo: home.main, title });
      expect(session.state.name).toBe(name);
    }
  });

  it("do not contain a secret from the title", async () => {
    using home = new TestHome();
    const hf = await home.open();
    const token = ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_");
    await using session = await hf.openSession({ title: `use ${token}` });
    expect(session.state.name).toBe("use-redacted-github");
  });

  it("name the branch; a fork, or an import whose name is taken, gets another name", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf, "fix login");
    await task.runTurn(["sh", "-c", "echo two > b.txt"]);
    const { branch } = await task.end("done");
    expect(branch).toBe("holdfast/fix-login");
    await session.pause();
    const fork = await hf.forkSession(session.id);
    const named = await hf.forkSession(session.id, { title: "the other way" });
    expect([fork.state.name, named.state.name]).toEqual(["fix-login-2", "the-other-way"]);
    await fork.release();
    await named.release();

    const file = home.join("moved.holdfast");
    await hf.exportSession(session.id, file);
    using elsewhere = new TestHome();
    const there = await elsewhere.open();
    const main = makeRepo(elsewhere.join("main"));
    commitFiles(main, { x: "x" }, "another");
    gitIn(main, "fetch", "-q", home.main, "main");
    await (await there.openSession({ repo: main, title: "fix login" })).release();
    await there.importSession(file, { repo: main });
    expect((await there.showSession(session.id)).name).toBe("fix-login-2");
    expect((await hf.showSession(session.id)).name).toBe("fix-login");
  });

  it("resolve to a session of this repo first, and are refused if ambiguous; @ is the latest one here", async () => {
    using home = new TaskHome();
    let nowMs = Date.parse("2026-01-01T00:00:00Z");
    const clock = { nowMs: () => (nowMs += 1000), monotonicMs: () => nowMs };
    const hf = await home.open({ clock });
    const other = makeRepo(home.join("other"));
    const third = makeRepo(home.join("third"));
    const ids: string[] = [];
    for (const [repo, title] of [
      [home.main, "same"],
      [home.main, "only"],
      [other, "same"],
      [undefined, "none"],
    ] as const) {
      await using session = await hf.openSession({ title, ...(repo && { repo }) });
      ids.push(session.id);
    }
    const [mine, only, theirs, none] = ids;
    const resolve = (text: string, here: string) => hf.resolveSession(text, { here });
    mkdirSync(join(home.main, "deep"));
    expect(await resolve("same", join(home.main, "deep"))).toEqual({ id: mine, name: "same" });
    expect(await resolve("same", other)).toEqual({ id: theirs, name: "same" });
    expect(await resolve("only", other)).toEqual({ id: only, name: "only" });
    for (const here of [third, home.path])
      await expect(resolve("same", here)).rejects.toMatchObject({
        code: "ambiguous_id",
        message: expect.stringContaining(home.main),
      });
    expect(await resolve("@", home.main)).toMatchObject({ id: only });
    await (await hf.resumeSession(mine ?? "")).pause();
    expect(await resolve("@", home.main)).toMatchObject({ id: mine });
    expect(await resolve("@", home.path)).toMatchObject({ id: none });
    await expect(resolve("@", third)).rejects.toMatchObject({ code: "session_not_found" });
    await expect(resolve("nothing-so-called", home.main)).rejects.toMatchObject({
      code: "session_not_found",
    });
    expect(existsSync(join(third, ".git"))).toBe(true);
  });
});
