/**
 * HOME is stored beside a session's journal, and is exported with it.
 */
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSealedJson, sealJson } from "../../src/util/index.ts";
import { readExport } from "../conformance/independent-reader.ts";
import { hasSandbox } from "../support/capsules.ts";
import { Elsewhere, homeOf, homeOfFork, inPack } from "../support/carried-home.ts";
import { contentOf, forge } from "../support/exports.ts";
import { TestHome } from "../support/home.ts";
import { HostHome, reaches, script, until } from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";
import { sandbox, TaskHome, turn } from "../support/tasks.ts";

const token = () => ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_");

describe.skipIf(!hasSandbox)("HOME in an export", () => {
  it("carried-home-1 is restored for the next task, for a fork at any turn and for a fork of that fork", async () => {
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

  it("carried-home-1 is included before a task's first checkpoint, and resuming restores it if it was deleted", async () => {
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

  it("import-1 an import refuses a HOME table that contradicts the journal; audit finds one that was changed later", async () => {
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

  it("carried-home-1 a retry after an import begins with HOME as it was before the retried task", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    // The script puts the secret together: a command that contains a secret is not stored for a retry.
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
    await there.submit(id, (await there.lastTaskAgain(id)).spec);
    await until(async () => (await there.show(id)).task?.number === 3);
    await reaches(there, id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:seen`)).toBe("first\ntalk");
  });

  it("import-3 an imported task that ran without a sandbox can't be retried", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("true", { sandbox: false }));
    await reaches(dispatcher, id, "paused");
    await dispatcher.holdfast.exportSession(id, home.join("out"));
    using other = new HostHome();
    const there = await other.dispatcher();
    await there.holdfast.importSession(home.join("out"), { repo: home.main });
    await expect(there.lastTaskAgain(id)).rejects.toMatchObject({ code: "no_task" });
  });
});

describe("an export from an earlier version", () => {
  it("import-1 is imported without HOME, and the next export reports what is missing", async () => {
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
      { what: "tasks/1/artifacts/change.patch", why: "it is missing" },
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
