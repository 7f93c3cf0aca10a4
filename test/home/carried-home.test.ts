/**
 * HOME lies beside the journal of a session, and goes along with it.
 */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Holdfast } from "../../src/library/holdfast.ts";
import { openSealedJson, sealJson, sha256Hex } from "../../src/util/index.ts";
import { readExport } from "../conformance/independent-reader.ts";
import { hasSandbox } from "../support/capsules.ts";
import { runCli } from "../support/cli.ts";
import { type Content, contentOf, forge } from "../support/exports.ts";
import { TempDir, TestHome } from "../support/home.ts";
import { HostHome, reaches, script, until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

/** Everything that the objects of an export say, and their names. */
function inPack(file: string): string {
  using dir = new TempDir();
  gitIn(dir.path, "init", "-q", "--bare", ".");
  const pack = contentOf(file).files.get("snapshots.pack") ?? Buffer.alloc(0);
  const env = { PATH: process.env["PATH"] ?? "" };
  execFileSync("git", ["index-pack", "--stdin"], { cwd: dir.path, input: pack, env });
  const args = ["cat-file", "--batch-all-objects", "--batch"];
  return execFileSync("git", args, { cwd: dir.path, env, maxBuffer: 1 << 28 }).toString("latin1");
}

const token = () => ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_");

class Elsewhere extends TaskHome {
  constructor(from: TaskHome) {
    super();
    rmSync(this.main, { recursive: true });
    execFileSync("git", ["clone", "-q", from.main, this.main]);
  }
}

/** What HOME of a session, or of a fork of it, has. */
function homeOf(home: TestHome, id: string): Record<string, string> {
  const dir = home.sessionDir(id, "home");
  return Object.fromEntries(readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), "utf8")]));
}

async function homeOfFork(home: TestHome, hf: Holdfast, id: string, atTurn: number, user?: string) {
  const fork = await hf.forkSession(id, { atTurn, ...(user && { user }) });
  await fork.pause();
  return { id: fork.id, files: homeOf(home, fork.id) };
}

describe.skipIf(!hasSandbox)("HOME in an export", () => {
  it("N4 is there for the next task, for a fork at any turn and for a fork of that, and goes on from there", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, 'echo one > "$HOME/talk"; ln -s talk "$HOME/link"');
    await turn(task, 'echo two >> "$HOME/talk"; echo PLANTED-CREDENTIAL > "$HOME/.netrc"');
    await task.end("done");
    await session.pause();
    const file = home.join("out");
    const { leftOut, missing } = await hf.exportSession(session.id, file);
    expect([leftOut, missing]).toEqual([[], []]);
    expect(inPack(file)).toContain("one\ntwo\n");
    expect(inPack(file)).not.toContain("PLANTED-CREDENTIAL");
    expect(readExport(file).session).toBe(session.id);

    using other = new Elsewhere(home);
    const there = await other.open();
    await there.importSession(file, { repo: other.main, user: "bo" });
    expect(homeOf(other, session.id)).toEqual({ talk: "one\ntwo\n", link: "one\ntwo\n" });
    expect((await there.auditSession(session.id, { user: "bo" })).findings).toEqual([]);
    const moved = await there.resumeSession(session.id, { user: "bo" });
    const next = await there.startTask(moved, sandbox);
    expect(await turn(next, 'cat "$HOME/link"; echo three >> "$HOME/talk"')).toBe("one\ntwo");
    await next.end("done");
    await moved.pause();
    const first = await homeOfFork(other, there, session.id, 1, "bo");
    expect(first.files["talk"]).toBe("one\n");
    const third = await homeOfFork(other, there, session.id, 3, "bo");
    expect(third.files["link"]).toBe("one\ntwo\nthree\n");
    const again = await homeOfFork(other, there, third.id, 1, "bo");
    expect(again.files["talk"]).toBe("one\n");
  });

  it("N4 of a task that has no checkpoint yet comes along, and comes back when somebody took it away", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, 'echo kept > "$HOME/talk"');
    await task.end("done");
    await hf.startTask(session, sandbox);
    await hf.exportSession(session.id, home.join("out"));
    await session.release();
    using other = new Elsewhere(home);
    const there = await other.open();
    await there.importSession(home.join("out"), { repo: other.main });
    expect(readFileSync(other.sessionDir(session.id, "home/talk"), "utf8")).toBe("kept\n");
    rmSync(other.sessionDir(session.id, "home"), { recursive: true });
    await (await there.resumeSession(session.id)).pause();
    expect(homeOf(other, session.id)).toEqual({ talk: "kept\n" });
  });

  it("N5 a file with a secret is left out at every checkpoint that has it, and named without it; --with-home takes all", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, `echo 'token=${token()}' > "$HOME/notes"; echo kept > "$HOME/talk"`);
    const utf16 = Buffer.from(`x ${token()}`, "utf16le").toString("base64");
    await turn(
      task,
      [
        'echo clean > "$HOME/notes"',
        // Far into a long file, in text of two bytes a letter, in a link, in a name.
        `(head -c ${1024 * 1024 - 20} /dev/zero | tr '\\0' 'x'; echo; echo ${token()}) > "$HOME/long"`,
        `echo ${utf16} | base64 -d > "$HOME/wide"`,
        `ln -s ${token()} "$HOME/link"`,
        `mkdir "$HOME/${token()}"; echo below > "$HOME/${token()}/file"`,
      ].join("; "),
    );
    await turn(task, 'rm -r "$HOME/long" "$HOME/wide" "$HOME/link" "$HOME"/ghp*');
    await task.end("done");
    await session.pause();
    const file = home.join("out");
    const { leftOut } = await hf.exportSession(session.id, file);
    const named = leftOut.map(({ path, rules }) => `${path} ${rules}`).sort();
    expect(named).toEqual([
      "[redacted:github] github",
      "[redacted:github]/file github",
      "link github",
      "long github",
      "notes github",
      "wide github",
    ]);
    const packed = inPack(file);
    expect(packed).toContain("kept\n");
    expect(packed).not.toContain(token());
    expect(packed.replaceAll("\0", "")).not.toContain(token());
    expect(readExport(file).session).toBe(session.id);

    const whole = home.join("whole");
    expect((await hf.exportSession(session.id, whole, { withHome: true })).leftOut).toEqual([]);
    expect(inPack(whole)).toContain(token());

    const cli = await runCli(home.dir, ["export", session.id, "-o", home.join("cli")]);
    expect(cli.status).toBe(0);
    expect(cli.stderr).toContain("left out of HOME: notes (github)\n");
    expect(cli.stderr).toContain("--with-home takes all of it\n");
    expect(cli.stderr + cli.stdout).not.toContain(token());
    const withHome = await runCli(home.dir, ["export", session.id, "-o", home.join("all"), "--with-home"]);
    expect([withHome.status, withHome.stderr]).toEqual([0, ""]);

    using other = new Elsewhere(home);
    const there = await other.open();
    await there.importSession(file, { repo: other.main });
    const first = await homeOfFork(other, there, session.id, 1);
    expect(first.files).toEqual({ talk: "kept\n" });
    const second = await homeOfFork(other, there, session.id, 2);
    expect(second.files).toEqual({ talk: "kept\n", notes: "clean\n" });
    expect((await homeOfFork(other, there, second.id, 1)).files).toEqual({ talk: "kept\n" });
    const moved = await there.resumeSession(session.id);
    const next = await there.startTask(moved, sandbox);
    expect(await turn(next, 'cat "$HOME/notes"; echo more >> "$HOME/talk"')).toBe("clean");
    await next.end("done");
    await moved.pause();
    // It goes on from there, with a table of its own.
    expect((await there.exportSession(session.id, other.join("again"))).leftOut).toEqual([]);
    using third = new Elsewhere(home);
    const last = await third.open();
    await last.importSession(other.join("again"), { repo: third.main });
    expect(homeOf(third, session.id)).toEqual({ talk: "kept\nmore\n", notes: "clean\n" });
    expect((await homeOfFork(third, last, session.id, 1)).files).toEqual({ talk: "kept\n" });

    using asItWas = new Elsewhere(home);
    const all = await asItWas.open();
    await all.importSession(whole, { repo: asItWas.main });
    expect((await homeOfFork(asItWas, all, session.id, 1)).files["notes"]).toBe(`token=${token()}\n`);
  });

  it("N5 without a repo it is kept as it came, and goes as it came; what must not go does not", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, `echo '${token()}' > "$HOME/notes"; echo kept > "$HOME/talk"`);
    await task.end("done");
    await session.pause();
    const [plain, whole] = [home.join("plain"), home.join("whole")];
    await hf.exportSession(session.id, plain);
    await hf.exportSession(session.id, whole, { withHome: true });
    for (const [from, options, isSame] of [
      [plain, {}, true],
      [whole, { withHome: true }, true],
      [whole, {}, false],
    ] as const) {
      using aside = new TestHome();
      const kept = await aside.open();
      await kept.importSession(from);
      const again = aside.join("again");
      const { leftOut } = await kept.exportSession(session.id, again, options);
      const [before, after] = [contentOf(from), contentOf(again)];
      const pack = (content: Content) => content.files.get("snapshots.pack");
      expect(pack(after)?.equals(pack(before) as Buffer)).toBe(isSame);
      expect(leftOut.length).toBe(isSame ? 0 : 1);
      expect(inPack(again).includes(token())).toBe("withHome" in options);
      using other = new Elsewhere(home);
      const there = await other.open();
      await there.importSession(again, { repo: other.main });
      expect((await there.auditSession(session.id)).findings).toEqual([]);
      const notes = "withHome" in options ? { notes: `${token()}\n` } : {};
      expect(homeOf(other, session.id)).toEqual({ talk: "kept\n", ...notes });
    }
  });

  it("N1 a table that says what the journal does not, or names what is not there, is refused; a changed one is found", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, 'echo kept > "$HOME/talk"');
    await turn(task, 'echo more > "$HOME/talk"');
    await task.end("done");
    await session.pause();
    await hf.exportSession(session.id, home.join("out"));
    using other = new Elsewhere(home);
    const there = await other.open();
    const content = contentOf(home.join("out"));
    const table = openSealedJson(content.files.get("homes.json") as Buffer) as {
      homes: Record<string, { snapshot: string; manifest: string }>;
    };
    const [[first, one], [, two]] = Object.entries(table.homes) as [
      [string, { snapshot: string; manifest: string }],
      [string, { snapshot: string; manifest: string }],
    ];
    const withTable = (homes: unknown, kind = "homes") =>
      new Map(content.files).set("homes.json", Buffer.from(sealJson({ holdfast: 1, kind, homes })));
    const files = content.files.get("homes.json") as Buffer;
    const snapshotOfFiles = session.state.task?.snapshot;
    const wrong: [string, Map<string, Buffer>][] = [
      ["no such key", withTable({ ...table.homes, ["0".repeat(40)]: one })],
      ["another manifest", withTable({ ...table.homes, [first]: { ...one, manifest: two.manifest } })],
      ["another's manifest", withTable({ [first]: { snapshot: two.snapshot, manifest: one.manifest } })],
      ["not in the pack", withTable({ [first]: { ...one, snapshot: "1".repeat(40) } })],
      ["no id", withTable({ [first]: { ...one, snapshot: "--all" } })],
      ["nothing", withTable({})],
      ["another kind", withTable(table.homes, "snapshot")],
      ["not sealed", new Map(content.files).set("homes.json", Buffer.concat([files, Buffer.from("\n")]))],
      [
        "files for HOME",
        withTable({ [first]: { snapshot: snapshotOfFiles?.commit, manifest: snapshotOfFiles?.manifest } }),
      ],
    ];
    for (const [what, forged] of wrong) {
      const tried = forge(other.join("tried"), { ...content, files: forged });
      await expect(there.importSession(tried, { repo: other.main }), what).rejects.toMatchObject({
        code: expect.stringMatching(/^(export|snapshot)_invalid$/),
      });
    }
    expect(await there.listSessions()).toEqual([]);
    const without = new Map(content.files);
    without.delete("snapshots.pack");
    await expect(
      there.importSession(forge(other.join("tried"), { ...content, files: without })),
    ).rejects.toMatchObject({ code: "export_invalid" });

    await there.importSession(home.join("out"), { repo: other.main });
    appendFileSync(other.sessionDir(session.id, "homes.json"), "\n");
    expect((await there.auditSession(session.id)).findings).toMatchObject([{ file: "homes.json" }]);
    await expect(there.forkSession(session.id, { atTurn: 1 })).rejects.toMatchObject({
      code: "session_damaged",
    });
  });

  it("K18 a snapshot from elsewhere that has a credential puts none there", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    // As a program would have taken it that knew fewer names.
    await turn(task, 'echo kept > "$HOME/talk"; echo THEIRS > "$HOME/aNetrc"');
    await task.end("done");
    await session.pause();
    const store = join(home.dir, "repos", readdirSync(join(home.dir, "repos"))[0] ?? "", "store.git");
    const renamed = await hf.resumeSession(session.id);
    const { commit = "" } = renamed.state.home ?? {};
    const manifest = gitIn(store, "cat-file", "blob", `${commit}:manifest.json`).replace("aNetrc", ".netrc");
    const write = (args: string[], input: string) =>
      execFileSync("git", args, {
        cwd: store,
        input,
        encoding: "utf8",
        env: {
          PATH: process.env["PATH"] ?? "",
          GIT_AUTHOR_NAME: "a",
          GIT_AUTHOR_EMAIL: "a",
          GIT_COMMITTER_NAME: "a",
          GIT_COMMITTER_EMAIL: "a",
        },
      }).trim();
    const files = gitIn(store, "ls-tree", `${commit}:files`).replace("aNetrc", ".netrc");
    const blob = write(["hash-object", "-w", "--stdin"], `${manifest}\n`);
    const tree = write(["mktree"], `${files}\n`);
    const root = write(["mktree"], `100644 blob ${blob}\tmanifest.json\n040000 tree ${tree}\tfiles\n`);
    const snapshot = write(["commit-tree", root, "-m", "evil"], "");
    const last = renamed.state.task?.snapshot;
    await renamed.append("snapshot_taken", {
      task: 1,
      snapshot: last?.commit ?? "",
      tree: last?.tree ?? "",
      manifest: last?.manifest ?? "",
      turn: 1,
      home: { snapshot, manifest: sha256Hex(`${manifest}\n`) },
    });
    await renamed.release();
    const { leftOut } = await hf.exportSession(session.id, home.join("plain"));
    expect(leftOut).toEqual([{ path: ".netrc", rules: ["credential"] }]);
    await hf.exportSession(session.id, home.join("whole"), { withHome: true });
    using other = new Elsewhere(home);
    const there = await other.open();
    await there.importSession(home.join("whole"), { repo: other.main });
    expect(readdirSync(other.sessionDir(session.id, "home")).sort()).toEqual(["talk"]);
  });

  it("N4 retry after an import begins with HOME as it was when its task began", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    // The secret is put together there: a command with one in it is not kept, and so not run again.
    const [head, rest] = token().split("_");
    const { id } = await dispatcher.begin(
      { repo: home.main },
      script(`echo first > "$HOME/talk"; printf '%s_%s' ${head} ${rest} > "$HOME/t"`),
    );
    await reaches(dispatcher, id, "paused");
    await dispatcher.submit(
      id,
      script('cat "$HOME/talk" >> seen; ls "$HOME" >> seen; echo second > "$HOME/talk"'),
    );
    await until(async () => (await dispatcher.show(id)).task?.number === 2);
    await reaches(dispatcher, id, "paused");
    await dispatcher.holdfast.exportSession(id, home.join("out"));
    using other = new HostHome();
    const there = await other.dispatcher();
    await there.holdfast.importSession(home.join("out"), { repo: home.main });
    await there.submit(id, await there.specOfLastTask(id));
    await until(async () => (await there.show(id)).task?.number === 3);
    await reaches(there, id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:seen`)).toBe("first\ntalk");
  });

  it("N3 a task that ran without a sandbox elsewhere is not run again here", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("true", { sandbox: false }));
    await reaches(dispatcher, id, "paused");
    await dispatcher.holdfast.exportSession(id, home.join("out"));
    using other = new HostHome();
    const there = await other.dispatcher();
    await there.holdfast.importSession(home.join("out"), { repo: home.main });
    await expect(there.specOfLastTask(id)).rejects.toMatchObject({ code: "no_task" });
  });
});

describe("an export from before", () => {
  it("N1 is taken in as it always was: HOME is not there; and what stayed elsewhere is said when it goes on", async () => {
    const fixture = join(import.meta.dirname, "..", "fixtures", "before-home-travelled.holdfast");
    using home = new TestHome();
    const repo = home.join("app");
    mkdirSync(repo);
    writeFileSync(join(repo, "a.txt"), "one\n");
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: "/nonexistent",
      GIT_AUTHOR_DATE: "2026-01-01T00:00:00Z",
      GIT_COMMITTER_DATE: "2026-01-01T00:00:00Z",
    };
    const git = (...args: string[]) => execFileSync("git", args, { cwd: repo, env });
    git("init", "-q", "-b", "main");
    git("add", "-A");
    git("-c", "user.name=Ani", "-c", "user.email=ani@example.org", "commit", "-qm", "the first");
    const hf = await home.open();
    const ani = { user: "ani" };
    const id = await hf.importSession(fixture, { repo, ...ani });
    expect(await hf.showSession(id, ani)).toMatchObject({ turns: 1, unread: 1, title: "from before" });
    const session = await hf.resumeSession(id, ani);
    expect(session.state.home).toBeNull();
    expect(existsSync(home.sessionDir(id, "homes.json"))).toBe(false);
    await session.pause();
    const { missing, files } = await hf.exportSession(id, home.join("again"), ani);
    expect(missing).toEqual([
      { what: "HOME of 1 snapshot", why: "it is not in this home" },
      { what: "tasks/1/artifacts/change.patch", why: "it is not there" },
    ]);
    expect(files.map(({ path }) => path)).toContain("snapshots.pack");
    using aside = new TestHome();
    const kept = await aside.open();
    await kept.importSession(fixture, ani);
    await kept.exportSession(id, aside.join("again"), ani);
    expect(contentOf(aside.join("again")).files.get("snapshots.pack")).toEqual(
      contentOf(fixture).files.get("snapshots.pack"),
    );
  });
});
