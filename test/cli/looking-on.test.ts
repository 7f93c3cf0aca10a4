/**
 * Progress, for a person who watches: what a session process is doing, and how far a long operation has got.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CutOutput, readFrames, readProgress, spoolPath } from "../../src/host/index.ts";
import { Spool } from "../../src/host/spool.ts";
import { SpooledProgress } from "../../src/host/spooled-progress.ts";
import { findProgram, taskUser } from "../../src/process/index.ts";
import { emptyState, type SessionState } from "../../src/session/index.ts";
import { type Progress, sha256Hex, systemClock, tryFileLock } from "../../src/util/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { cliPath } from "../support/cli.ts";
import { TempDir } from "../support/home.ts";
import { Dispatcher, HostHome, script, until } from "../support/hosts.ts";
import { commitFiles, gitIn } from "../support/repo.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];

/** Locks the base of a commit: no other process can build it until the lock is dropped. */
async function withholdBase(home: HostHome, commit: string) {
  await (await home.open()).resolveRepo(home.main);
  const [repo = ""] = readdirSync(join(home.dir, "repos"));
  const bases = join(home.dir, "repos", repo, "bases");
  mkdirSync(bases, { recursive: true });
  const user = hasSandbox ? taskUser(home.main) : undefined;
  const facts = [commit, "", "", null, ...(user ? [user.uid, user.gid] : [])];
  const key = sha256Hex(JSON.stringify(facts)).slice(0, 32);
  const lock = tryFileLock(join(bases, `${key}.lock`));
  if (!lock) throw new Error("the lock is held already");
  return lock;
}

const manyFiles = Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`many/${at}.txt`, `${at}\n`]));

describe("holdfast run", () => {
  it("names the session first, then reports that it waits for the base; with --json, too", async () => {
    using home = new HostHome();
    for (const how of [[], ["--json"]]) {
      const commit = commitFiles(home.main, { more: how.join() }, "more");
      const lock = await withholdBase(home, commit);
      const child = home.spawnCli(["run", ...wall, ...how, "--base", commit, "--", "echo", "done"]);
      let out = "";
      for (const from of [child.stdout, child.stderr])
        from.on("data", (data: Buffer) => {
          out += data.toString();
        });
      await until(
        () => out,
        (text) => text.includes("waiting for the base"),
      );
      lock.drop();
      const [status] = await once(child, "close");
      expect(status, out).toBe(0);
      const [first = "", second = ""] = out.split("\n");
      if (how.length === 0) {
        expect(first).toMatch(/^\[session\] echo-done sess_\w+$/);
        expect(second).toMatch(/^waiting for the base, \d+ s$/);
        continue;
      }
      expect(JSON.parse(first)).toMatchObject({ stage: "session", session: expect.stringMatching(/^sess_/) });
      expect(JSON.parse(second)).toMatchObject({ stage: "progress", what: "waiting for the base" });
    }
  });

  it.skipIf(!findProgram("script"))("draws progress at a terminal and leaves none of it there", async () => {
    using home = new HostHome();
    const lock = await withholdBase(home, gitIn(home.main, "rev-parse", "HEAD"));
    const words = [process.execPath, cliPath, "run", ...wall, "--", "true"].map((word) => `'${word}'`);
    const child = spawn("script", ["-qec", words.join(" "), "/dev/null"], {
      cwd: home.main,
      env: { ...process.env, HOLDFAST_HOME: home.dir, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let screen = "";
    child.stdout.on("data", (data: Buffer) => {
      screen += data.toString();
    });
    await until(
      () => screen,
      (text) => /\S waiting for the base, \d+ s/.test(text),
    );
    lock.drop();
    await once(child, "close");
    // The end of the task rings the terminal's bell and sets its title, which leave no character either.
    const [bell, title] = ["\u0007", "\u001b]0;"];
    const seen = screen
      .split(bell)
      .filter((part) => !part.startsWith(title))
      .join("");
    const left = seen.split("\n").map((line) => line.trimEnd().split("\u001b[K").at(-1));
    expect(left[0]).toMatch(/^\[session\] /);
    expect(left.join("\n")).not.toContain("the base,");
    expect(left.filter((line) => line !== "").every((line) => line?.startsWith("["))).toBe(true);
  });
});

describe("a person who watches a session", () => {
  it("sees the progress of a checkout, which ends before the task's output and is no part of it", async () => {
    using home = new HostHome(manyFiles);
    const dispatcher = await home.dispatcher();
    const lock = await withholdBase(home, gitIn(home.main, "rev-parse", "HEAD"));
    const begun = await dispatcher.begin({ repo: home.main, title: "a test" }, script("echo said"));
    const { id, request, outputFd } = begun;
    const { signal } = new AbortController();
    const told: string[] = [];
    let counted: Progress | undefined;
    for await (const happening of dispatcher.follow(id, { request, outputFd, fromSeq: 1, signal })) {
      if (happening.kind === "output") told.push(`output ${happening.chunk}`);
      if (happening.kind === "progress") told.push(happening.step?.what ?? "over");
      // Quick work reports nothing, so the checkout is made to wait first.
      if (told.includes("waiting for the base")) lock.drop();
      if (happening.kind === "progress" && happening.step?.files) counted ??= happening.step;
      if (happening.kind === "record") told.push(happening.record.type);
      if (happening.kind === "record" && happening.record.type === "task_ended") break;
    }
    const total = Object.keys(manyFiles).length;
    expect(counted).toMatchObject({ what: "checking out the base" });
    expect(counted?.ofFiles).toBeGreaterThanOrEqual(total);
    expect(told.filter((one) => one.startsWith("output"))).toEqual(["output said\n"]);
    const at = (what: string) => told.indexOf(what);
    expect(at("checking out the base")).toBeGreaterThanOrEqual(0);
    expect(at("over")).toBeGreaterThan(at("syncing the base to disk"));
    expect(at("over")).toBeLessThan(at("output said\n"));
    await home.quiet();
  });

  it("sees no progress in the output of a command that was cut off", () => {
    using dir = new TempDir();
    const spool = new Spool(dir.path, "task_1", () => []);
    const spooled = new SpooledProgress(spool, systemClock, () => {}, 0);
    spooled.onProgress({ what: "packing", files: 1 });
    spool.add("stdout", Buffer.from("said\n"));
    spooled.onProgress({ what: "packing", files: 2 });
    spooled.end();
    const frames = readFrames(readFileSync(spoolPath(dir.path, "task_1"))).frames;
    const steps = frames
      .filter(({ stream }) => stream === "progress")
      .map(({ chunk }) => readProgress(chunk));
    expect(steps).toEqual([{ what: "packing", files: 1 }, { what: "packing", files: 2 }, null]);
    const task = { ...emptyState.task, request: "task_1" } as SessionState["task"];
    expect(new CutOutput(dir.path).read({ task })).toBe("said\n");
    spool.remove();
  });

  it("sees the progress of export, audit, doctor, hand-off, archive, gc and import", async () => {
    using home = new HostHome();
    const steps: Progress[] = [];
    const onProgress = (step: Progress) => void steps.push(step);
    const dispatcher = await Dispatcher.open({ home: home.dir, onProgress });
    const { id } = await dispatcher.begin({ repo: home.main }, script("echo two > b.txt"));
    await until(async () => (await dispatcher.show(id)).status === "paused");
    const { holdfast } = dispatcher;
    const heard = async (work: () => Promise<unknown>) => {
      steps.length = 0;
      await work();
      return steps.map(({ what }) => what);
    };
    const file = home.join("x.holdfast");
    expect(await heard(() => holdfast.exportSession(id, file))).toEqual(
      expect.arrayContaining([
        "checking the journal",
        "packing snapshots",
        "reading what the export takes along",
        "writing the export",
        "reading the export back",
      ]),
    );
    expect(await heard(() => holdfast.auditSession(id, { deep: true }))).toEqual(
      expect.arrayContaining([
        "checking the journal",
        "checking artifacts",
        "checking snapshots",
        "reading snapshots",
        "reading packs",
      ]),
    );
    expect(await heard(() => holdfast.examine())).toContain("session 1 of 1: checking the journal");
    expect(await heard(() => holdfast.handOffSession(id, { to: "bo", directory: home.join("bo") }))).toEqual(
      expect.arrayContaining([
        "looking for changes",
        "taking a snapshot",
        "preparing the commit of the work",
        "checking out the files",
        "bringing files back",
        "syncing the files to disk",
      ]),
    );
    expect(await heard(() => holdfast.takeBackSession(id))).toContain("taking the files back");
    expect(await heard(() => holdfast.archiveSession(id))).toContain("compressing the journal");
    expect(await heard(() => holdfast.gc())).toContain("looking for what may be cleared");
    const other = await Dispatcher.open({ home: home.join("other"), onProgress });
    expect(await heard(() => other.holdfast.importSession(file, { repo: home.main }))).toEqual(
      expect.arrayContaining([
        "unpacking the export",
        "checking the journal",
        "unpacking snapshots",
        "waiting for the base",
        "checking out the base",
        "syncing the base to disk",
        "bringing files back",
      ]),
    );
    await home.quiet();
  });
});
