/**
 * Repos and homes that are not the user's own, or not theirs alone.
 */
import { execFileSync } from "node:child_process";
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { USER_HOME } from "../../src/process/index.ts";
import { commitFiles, gitIn, makeRepo } from "../support/repo.ts";
import { TaskHome, turn } from "../support/tasks.ts";

const isRoot = process.getuid?.() === 0;
const NOBODY = 65534;
if (!isRoot) console.log("left out: repos of another user: only root can make one");

describe("a repo that is possibly not the user's own", () => {
  it("repo-2 is refused if it is a bare repo inside another repo, unless the user's git settings name it as safe", async () => {
    using home = new TaskHome();
    const inner = join(home.main, "fixtures/evil.git");
    mkdirSync(join(home.main, "fixtures"));
    gitIn(home.main, "clone", "-q", "--bare", home.main, inner);
    const hf = await home.open();
    await expect(hf.resolveRepo(inner)).rejects.toMatchObject({ code: "unsafe_repo" });
    await expect(hf.resolveRepo(join(inner, "objects"))).rejects.toMatchObject({ code: "unsafe_repo" });
    const user = home.join("user");
    mkdirSync(user);
    process.env[USER_HOME] = user;
    try {
      writeFileSync(join(user, ".gitconfig"), `[safe]\n\tdirectory = ${inner}\n`);
      expect(await hf.resolveRepo(inner)).toBe(inner);
      // A repo can't name itself as safe in its own config.
      writeFileSync(join(user, ".gitconfig"), "");
      gitIn(inner, "config", "safe.directory", inner);
      await expect(hf.resolveRepo(inner)).rejects.toMatchObject({ code: "unsafe_repo" });
    } finally {
      delete process.env[USER_HOME];
    }
    // A bare repo outside other repos is used.
    gitIn(home.path, "clone", "-q", "--bare", home.main, "plain.git");
    expect(await hf.resolveRepo(home.join("plain.git"))).toBe(home.join("plain.git"));
  });

  it("repo-2 is refused if its gitdir names another directory as its checkout, or is a store of Holdfast's", async () => {
    using home = new TaskHome();
    const { hf } = await home.atRest("echo work > work");
    const claiming = makeRepo(home.join("victim/claiming"));
    writeFileSync(home.join("victim/.env"), "KEY=1");
    gitIn(claiming, "config", "core.worktree", home.join("victim"));
    await expect(hf.resolveRepo(claiming)).rejects.toMatchObject({ code: "not_a_repo" });
    const [key = ""] = readdirSync(join(home.dir, "repos"));
    mkdirSync(home.join("pointing"));
    const store = join(home.dir, "repos", key, "store.git");
    writeFileSync(home.join("pointing/.git"), `gitdir: ${store}\n`);
    await expect(hf.resolveRepo(home.join("pointing"))).rejects.toMatchObject({ code: "not_a_repo" });
    // Linked worktrees and submodules are used.
    gitIn(home.main, "worktree", "add", "-q", home.join("linked"));
    expect(await hf.resolveRepo(home.join("linked"))).toBe(home.join("linked"));
    const sub = makeRepo(home.join("sub"));
    gitIn(home.main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", sub, "sub");
    expect(await hf.resolveRepo(join(home.main, "sub"))).toBe(join(home.main, "sub"));
  });

  it.skipIf(!isRoot)("repo-2 is refused if another user owns it, and its set-up is not run", async () => {
    using home = new TaskHome();
    const planted = makeRepo(home.join("shared/planted"), {
      "holdfast.yaml": `capsule: { setup: "touch ${home.join("RAN")}" }\n`,
    });
    execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, planted]);
    const hf = await home.open();
    await expect(hf.resolveRepo(planted)).rejects.toMatchObject({ code: "unsafe_repo" });
    const session = await hf.openSession({ repo: planted }).catch(() => undefined);
    if (session)
      await expect(hf.startTask(session, { sandbox: false })).rejects.toMatchObject({ code: "unsafe_repo" });
    await session?.pause();
    expect(existsSync(home.join("RAN"))).toBe(false);
    // A user who became root through sudo can use a repo of their own.
    process.env["SUDO_UID"] = String(NOBODY);
    expect(await hf.resolveRepo(planted)).toBe(planted);
    delete process.env["SUDO_UID"];
    const user = home.join("user");
    mkdirSync(user);
    writeFileSync(join(user, ".gitconfig"), `[safe]\n\tdirectory = ${planted}\n`);
    process.env[USER_HOME] = user;
    expect(await hf.resolveRepo(planted)).toBe(planted);
    delete process.env[USER_HOME];
  });

  it.skipIf(!isRoot)(
    "a home is refused if another user owns it or a part of it, or if a part of it is a link",
    async () => {
      using home = new TaskHome();
      mkdirSync(home.dir, { mode: 0o700 });
      chownSync(home.dir, NOBODY, NOBODY);
      await expect(home.open()).rejects.toMatchObject({ code: "unsafe_permissions" });
      expect(readdirSync(home.dir)).toEqual([]);
      chownSync(home.dir, 0, 0);
      mkdirSync(join(home.dir, "sessions"), { mode: 0o700 });
      chownSync(join(home.dir, "sessions"), NOBODY, NOBODY);
      await expect(home.open()).rejects.toMatchObject({ code: "unsafe_permissions" });
      chownSync(join(home.dir, "sessions"), 0, 0);
      mkdirSync(home.join("precious"));
      writeFileSync(home.join("precious/file"), "kept");
      symlinkSync(home.join("precious"), join(home.dir, "trash"));
      await expect(home.open().then((hf) => hf.gc())).rejects.toMatchObject({
        code: "unsafe_permissions",
      });
      expect(readFileSync(home.join("precious/file"), "utf8")).toBe("kept");
    },
  );
});

describe("two homes on one repo", () => {
  it("holds-1 gc of one home keeps what another home needs, and what an earlier version held", async () => {
    using first = new TaskHome();
    using second = new TaskHome();
    const main = first.main;
    const [one, two] = [await first.open(), await second.open()];
    const base = gitIn(main, "rev-parse", "HEAD");
    gitIn(main, "update-ref", `refs/holdfast/held/${base}`, base);
    const sessions = [];
    for (const hf of [one, two]) {
      const session = await hf.openSession({ repo: main });
      const task = await hf.startTask(session, { sandbox: false });
      await turn(task, "echo work > work");
      await task.rest();
      await session.pause();
      await hf.tearDownSession(session.id);
      sessions.push(session.id);
    }
    // The user moves on, and only our holds keep the base.
    gitIn(main, "checkout", "-q", "--orphan", "new");
    commitFiles(main, { "b.txt": "two\n" }, "anew");
    gitIn(main, "branch", "-D", "-q", "main");
    // The second home has no use for it any more, and its holds are old.
    await two.closeSession(sessions[1] ?? "");
    await two.archiveSession(sessions[1] ?? "");
    const later = await second.open({
      clock: { nowMs: () => Date.now() + 40 * 86_400_000, monotonicMs: () => performance.now() },
    });
    const retention = { archiveClosedDays: 1, deleteArchivedDays: 1 };
    for (let round = 1; round <= 2; round += 1) await later.gc({ retention });
    expect(gitIn(main, "for-each-ref", "--format=%(refname)", `refs/holdfast/held/${base}`)).not.toBe("");
    gitIn(main, "update-ref", "-d", `refs/holdfast/held/${base}`);
    gitIn(main, "reflog", "expire", "--expire=now", "--all");
    gitIn(main, "gc", "-q", "--prune=now");
    await one.restoreSession(sessions[0] ?? "");
    expect((await one.diffSession(sessions[0] ?? "")).stat.paths).toEqual(["work"]);
  });
});
