/**
 * HOME belongs to the session: an agent finds its files there again in the next task and in a fork, and after
 * a retry or a restore.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { takeRootSnapshot } from "../../src/capsule/index.ts";
import { DEFAULT_EXCLUDE, isCredential, isLeftInHome } from "../../src/task/home/home-files.ts";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, reaches, script, until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

if (!hasSandbox) console.log("left out: the HOME of a session: without a sandbox it is the user's own");

/** Whether an object in one of the home's stores has the text. */
function inStores(home: TaskHome, text: string): boolean {
  return readdirSync(join(home.dir, "repos")).some((key) => {
    const gitDir = join(home.dir, "repos", key, "store.git");
    const all = execFileSync("git", ["--git-dir", gitDir, "cat-file", "--batch-all-objects", "--batch"], {
      maxBuffer: 1 << 28,
    });
    return all.includes(text);
  });
}

describe.skipIf(!hasSandbox)("the HOME of a session", () => {
  it("checkpoint-1 is there for the next task, and a fork gets it as it was at the end of its turn", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(
      task,
      'mkdir -p "$HOME/.agent/empty"; echo one > "$HOME/.agent/talk"; ln -s talk "$HOME/.agent/link"',
    );
    await turn(task, 'echo two >> "$HOME/.agent/talk"; chmod 600 "$HOME/.agent/talk"');
    await task.end("done");
    const next = await hf.startTask(session, sandbox);
    expect(await turn(next, 'cat "$HOME/.agent/link"; echo three >> "$HOME/.agent/talk"')).toBe("one\ntwo");
    await next.end("done");
    await session.pause();
    const told: string[] = [];
    for (const atTurn of [1, 2, 3]) {
      const fork = await hf.forkSession(session.id, { atTurn });
      const forked = await hf.startTask(fork, sandbox);
      told.push(
        await turn(forked, 'cat "$HOME/.agent/link" | tr "\\n" " "; ls "$HOME/.agent" | tr "\\n" " "'),
      );
      await forked.rest();
      await fork.pause();
    }
    expect(told).toEqual(["one empty link talk", "one two empty link talk", "one two three empty link talk"]);
  });

  it("checkpoint-1 keeps credentials for the next task, and has them in no snapshot and no fork", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const names = [
      ".claude/.credentials.json",
      ".codex/auth.json",
      ".netrc",
      ".ssh/id_ed25519",
      ".config/x/token",
    ];
    const script = names
      .map((name) => `mkdir -p "$HOME/$(dirname ${name})"; echo PLANTED-CREDENTIAL > "$HOME/${name}"`)
      .join("; ");
    await turn(task, `${script}; echo kept > "$HOME/.claude/settings.json"`);
    await task.end("done");
    expect(inStores(home, "kept")).toBe(true);
    expect(inStores(home, "PLANTED-CREDENTIAL")).toBe(false);
    const next = await hf.startTask(session, sandbox);
    const look = `for f in ${names.join(" ")}; do cat "$HOME/$f" 2>/dev/null || echo none; done; cat "$HOME/.claude/settings.json"`;
    expect(await turn(next, look)).toBe(`${"PLANTED-CREDENTIAL\n".repeat(names.length)}kept`);
    await next.end("done");
    await session.pause();
    const fork = await hf.forkSession(session.id);
    const forked = await hf.startTask(fork, sandbox);
    expect(await turn(forked, look)).toBe(`${"none\n".repeat(names.length)}kept`);
    await forked.rest();
    await fork.pause();
  });

  it("snapshot-3 has a snapshot without caches and too large files, which stays the same while nothing changes", async () => {
    using home = new TaskHome({ "holdfast.yaml": "capsule: { max_home_mb: 1 }\n" });
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(
      task,
      'mkdir -p "$HOME/.cache/x"; echo CACHED > "$HOME/.cache/x/y"; head -c 3000000 /dev/urandom > "$HOME/large"; echo small > "$HOME/small"',
    );
    const homes = [];
    await turn(task, "true");
    await turn(task, 'echo more >> "$HOME/small"');
    for await (const { type, data } of hf.readJournal(session.id))
      if (type === "snapshot_taken") homes.push(data["home"] as { snapshot?: string; omitted?: number });
    expect(inStores(home, "CACHED")).toBe(false);
    expect(inStores(home, "small")).toBe(true);
    expect(homes.every(({ omitted }) => omitted === 1)).toBe(true);
    // Each turn has two snapshots: one at its end, and one that the test takes.
    const [first, , second, , third] = homes.map(({ snapshot }) => snapshot);
    expect(first).toBe(second);
    expect(third).not.toBe(second);
    await task.end("done");
    const next = await hf.startTask(session, sandbox);
    expect(await turn(next, 'cat "$HOME/.cache/x/y"; wc -c < "$HOME/large"')).toBe("CACHED\n3000000");
    await next.rest();
    await session.pause();
  });

  it("snapshot-3 may be very deep or have very many files: the snapshot succeeds, and counts what it leaves out", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(
      task,
      'echo kept > "$HOME/kept"; cd "$HOME"; i=0; while [ $i -lt 300 ]; do i=$((i+1)); mkdir d && cd d || exit; done; echo deep > file',
    );
    const end = await task.end("done");
    expect(end.outcome).toBe("done");
    const last = session.state.home;
    expect(last?.commit).toMatch(/^[0-9a-f]{40}$/);
    const store = await task.capsule.store();
    const few = await takeRootSnapshot({
      store,
      dir: home.sessionDir(session.id, "home"),
      session: session.id,
      name: "few",
      atMs: 0,
      maxBytes: 1e6,
      maxEntries: 10,
      isLeft: () => false,
      before: undefined,
    });
    // Files beyond the tenth are counted; the number of those that are too deep is not known.
    expect(few.omitted).toBeGreaterThan(150);
    await session.pause();
    const fork = await hf.forkSession(session.id);
    const forked = await hf.startTask(fork, sandbox);
    expect(await turn(forked, 'cat "$HOME/kept"')).toBe("kept");
    await forked.rest();
    await fork.pause();
  });

  it("checkpoint-1 survives a teardown, and restore brings it back after it was deleted from outside", async () => {
    using home = new TaskHome();
    const { hf, session } = await home.atRest('echo talk > "$HOME/.talk"; echo work > work');
    await hf.tearDownSession(session.id);
    expect(readFileSync(home.sessionDir(session.id, "home/.talk"), "utf8")).toBe("talk\n");
    rmSync(home.sessionDir(session.id, "home"), { recursive: true });
    await hf.restoreSession(session.id);
    expect(readFileSync(home.sessionDir(session.id, "home/.talk"), "utf8")).toBe("talk\n");
  });

  it("takes over the HOME of the last task from an earlier version, which had one for each task", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    const [before, own] = [home.sessionDir(session.id, "tasks/1/home"), home.sessionDir(session.id, "home")];
    mkdirSync(before, { recursive: true });
    writeFileSync(join(before, ".talk"), "from before\n");
    rmSync(own, { recursive: true, force: true });
    expect(await turn(task, 'cat "$HOME/.talk"')).toBe("from before");
    expect(existsSync(before)).toBe(false);
    await task.rest();
    await session.pause();
  });

  it("checkpoint-1 is the same for a retry as it was when the task began", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script('echo first > "$HOME/talk"'));
    await reaches(dispatcher, id, "paused");
    await dispatcher.submit(id, script('cat "$HOME/talk" >> seen; echo second >> "$HOME/talk"'));
    await until(async () => (await dispatcher.show(id)).task?.number === 2);
    await reaches(dispatcher, id, "paused");
    await dispatcher.submit(id, (await dispatcher.lastTaskAgain(id)).spec);
    await until(async () => (await dispatcher.show(id)).task?.number === 3);
    await reaches(dispatcher, id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:seen`)).toBe("first");
  });
});

describe("without a sandbox", () => {
  it("HOME is the user's own, and no snapshot is taken of it", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const session = await hf.openSession({ repo: home.main });
    const task = await hf.startTask(session, { sandbox: false });
    expect(await turn(task, 'echo "$HOME"')).toBe(process.env["HOLDFAST_USER_HOME"] ?? process.env["HOME"]);
    await task.end("done");
    for await (const { type, data } of hf.readJournal(session.id))
      if (type === "snapshot_taken") expect(data["home"]).toBeUndefined();
    await session.pause();
  });
});

describe("a running process", () => {
  it("checkpoint-1 is frozen while a checkpoint is taken, and goes on after it", async () => {
    using home = new TaskHome({ "holdfast.yaml": "capsule: { strategy: worktree }\n" });
    const hf = await home.open();
    const session = await hf.openSession({ repo: home.main });
    const task = await hf.startTask(session, { sandbox: false });
    // Two files that have the same number of lines, except for a moment, and many files between them that
    // take time to read.
    const writer = "while true; do echo 1 >> a; echo 1 >> z; done";
    await turn(
      task,
      `i=0; while [ $i -lt 300 ]; do echo $i > m$i; i=$((i+1)); done; setsid sh -c '${writer}' > /dev/null 2>&1 & while [ ! -s z ]; do sleep 0.01; done`,
    );
    const { root } = await task.capsule.attach();
    const lines = (text: string) => text.split("\n").filter(Boolean).length;
    for (let round = 0; round < 4; round += 1) {
      const { snapshot } = await task.checkpoint();
      const store = await task.capsule.store();
      const read = (name: string) =>
        lines(gitIn(store.gitDir, "cat-file", "blob", `${snapshot.commit}:files/${name}`));
      expect(read("a")).toBeGreaterThan(0);
      expect(Math.abs(read("a") - read("z"))).toBeLessThanOrEqual(1);
      await until(() => lines(readFileSync(join(root, "a"), "utf8")) > read("a"));
    }
    await task.capsule.detach();
    await session.pause();
  });
});

describe("the files of HOME that no snapshot has", () => {
  it("are credentials in any directory, and caches by their path", () => {
    const isLeft = isLeftInHome(DEFAULT_EXCLUDE);
    for (const path of [
      ".claude/.credentials.json",
      "a/b/auth.json",
      ".netrc",
      "x/key.pem",
      ".ssh",
      ".ssh/config",
    ])
      expect([path, isCredential(path)]).toEqual([path, true]);
    for (const path of [".cache", ".cache/a", ".npm/_cacache/x", "go/pkg/mod"])
      expect(isLeft(path)).toBe(true);
    for (const path of [
      ".claude/projects/p/s.jsonl",
      ".codex/sessions/1",
      ".cachet",
      "authors.json",
      "go/src/a.go",
    ])
      expect([path, isLeft(path)]).toEqual([path, false]);
  });
});
