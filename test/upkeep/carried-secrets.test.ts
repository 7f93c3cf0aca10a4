/**
 * HOME is exported with its session, but without its secrets unless a person asks for them. No credential
 * comes in with an import.
 */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../src/util/index.ts";
import { readExport } from "../conformance/independent-reader.ts";
import { hasSandbox } from "../support/capsules.ts";
import { Elsewhere, homeOf, homeOfFork, inPack } from "../support/carried-home.ts";
import { runCli } from "../support/cli.ts";
import { type Content, contentOf } from "../support/exports.ts";
import { TestHome } from "../support/home.ts";
import { gitIn } from "../support/repo.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

const token = () => ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_");

describe.skipIf(!hasSandbox)("HOME in an export", () => {
  it("export-1 leaves out files with secrets at every checkpoint and lists them; --with-home includes them", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    await turn(task, `echo 'token=${token()}' > "$HOME/notes"; echo kept > "$HOME/talk"`);
    const utf16 = Buffer.from(`x ${token()}`, "utf16le").toString("base64");
    await turn(
      task,
      [
        'echo clean > "$HOME/notes"',
        // Secrets far into a long file, in UTF-16 text, in a link's target and in a name.
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
    expect(cli.stderr).toContain("to include them: --with-home\n");
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
    // The session continued here, so the next export needs a HOME table of its own.
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

  it("export-1 a home without the repo exports HOME again as it was imported, except for secrets", async () => {
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

  it("snapshot-3 a credential in an imported snapshot is not restored", async () => {
    using home = new TaskHome();
    const hf = await home.open();
    const { session, task } = await home.start(hf);
    // Renamed to .netrc below, as if the snapshot was taken by a version that knew fewer credential names.
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
});
