/**
 * Tasks that have not begun: what cancels them, what refuses them, and what their records may contain.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { encodeEnvelope } from "../../src/mail/index.ts";
import { hasSandbox } from "../support/capsules.ts";
import { HostHome, reaches, script, shown, typesOf, until } from "../support/hosts.ts";
import { isDone } from "../support/outcomes.ts";
import { gitIn } from "../support/repo.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const secret = () => ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_");

describe("a task", () => {
  it("with a secret in its command runs unchanged, is recorded without the secret, and can't be run again", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin(
      { repo: home.main },
      script(`printf %s '${secret()}' | wc -c > count`),
    );
    await reaches(dispatcher, id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:count`).trim()).toBe("40");
    await expect(dispatcher.lastTaskAgain(id)).rejects.toMatchObject({ code: "secret_not_kept" });
    // Files that were taken in from the inbox have no secret either, not even of a task that was cancelled.
    await dispatcher.submit(id, script("sleep 60"));
    await reaches(dispatcher, id, "running");
    const behind = await dispatcher.submit(id, script(`echo ${secret()}`));
    await dispatcher.cancel(id, behind.request);
    await shown(dispatcher, id, ({ queue }) => queue === 0);
    await dispatcher.pause(id);
    for (const name of readdirSync(home.sessionDir(id, "inbox/cur")))
      expect(readFileSync(home.sessionDir(id, "inbox/cur", name), "utf8")).toBe("");
    await dispatcher.send(id, `the token is ${secret()}`);
    await dispatcher.submit(id, script("true"));
    await reaches(dispatcher, id, "paused");
    for (const name of readdirSync(home.sessionDir(id, "inbox/cur")))
      expect(readFileSync(home.sessionDir(id, "inbox/cur", name), "utf8")).toBe("");
  });

  it("does not begin if its cancellation lies in the inbox beside it", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("true"));
    await reaches(dispatcher, id, "paused");
    await home.quiet();
    const inbox = dispatcher.inboxOf(id);
    const from = { from: "user:test", at: new Date().toISOString() };
    const spec = script("touch taken-back");
    await inbox.put(
      "task_back",
      encodeEnvelope({ ...from, id: "task_back", kind: "task", spec, priority: 9 }),
    );
    // A process takes in requests to itself before everything else.
    await inbox.put(
      "ask_back",
      encodeEnvelope({ ...from, id: "ask_back", kind: "cancel", request: "task_back" }),
    );
    await dispatcher.submit(id, script("true"));
    await shown(dispatcher, id, ({ task }) => task?.number === 2 && isDone(task));
    await reaches(dispatcher, id, "paused");
    expect((await dispatcher.show(id)).task?.number).toBe(2);
    expect((await dispatcher.show(id)).inbox).toBe(0);
  });

  it("whose base does not exist is refused by run, and leaves no session behind", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const run = await home.cli("run", "--detach", "--repo", home.main, "--base", "no-such", "--", "true");
    expect(run).toMatchObject({ status: 4, stderr: expect.stringContaining("base_missing") });
    await until(
      () => dispatcher.list(),
      (sessions) => sessions.length === 0,
    );
    await home.quiet();
  });

  it("in the queue of a session that is closed never begins, even if the session goes on later", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("sleep 60"));
    await dispatcher.submit(id, script("touch ran"));
    await shown(dispatcher, id, ({ queue }) => queue === 1);
    await dispatcher.close(id);
    expect(await dispatcher.show(id)).toMatchObject({ status: "closed", queue: 0, inbox: 0 });
    await dispatcher.submit(id, script("ls > listing"));
    await reaches(dispatcher, id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:listing`)).not.toContain("ran");
  });

  it("that is cancelled never runs, whether its session waits in the line or another task runs before it", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const other = await dispatcher.begin({ repo: home.main }, script("sleep 60"));
    await reaches(dispatcher, other.id, "running");
    const inLine = await dispatcher.begin({ repo: home.main }, script("touch ran"), { maxSessions: 1 });
    await dispatcher.submit(inLine.id, script("echo kept > kept"));
    await dispatcher.cancel(inLine.id, inLine.request);
    expect(dispatcher.placeOf(inLine.id)).toBeDefined();
    const behind = await dispatcher.submit(other.id, script("touch ran"));
    await dispatcher.cancel(other.id, behind.request);
    await dispatcher.interrupt(other.id);
    await shown(dispatcher, inLine.id, ({ task }) => isDone(task));
    expect(gitIn(home.main, "ls-tree", "--name-only", `${home.branchOf(inLine.id)}`)).toContain("kept");
    await reaches(dispatcher, other.id, "paused");
    expect((await dispatcher.show(other.id)).task?.number).toBe(1);
    expect(await typesOf(dispatcher, other.id)).toContain("task_refused");
  });

  it("stays in the inbox with its messages when its session in the line is paused, and begins after resume", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const other = await dispatcher.begin({ repo: home.main }, script("sleep 60"));
    await reaches(dispatcher, other.id, "running");
    const run = home.spawnCli(["run", ...wall, "--max-sessions", "1", "--", "sh", "-c", "echo late > late"]);
    let said = "";
    run.stderr.on("data", (chunk) => {
      said += chunk;
    });
    const [, waiting] = await until(
      () => dispatcher.list(),
      (all) => all[1]?.waits != null,
    );
    const id = waiting?.id ?? "";
    await until(
      () => said,
      (text) => text.includes("[queue]"),
    );
    await dispatcher.send(id, "not to be lost");
    await dispatcher.pause(id);
    await until(
      () => run.exitCode,
      (status) => status !== null,
    );
    expect(said).toContain("The session was paused or closed");
    expect(await dispatcher.show(id)).toMatchObject({ status: "paused", inbox: 2 });
    await dispatcher.pause(other.id);
    expect(await dispatcher.resume(id)).toMatchObject({ process: "started" });
    await shown(dispatcher, id, ({ task }) => isDone(task));
    expect((await dispatcher.show(id)).unread).toBe(1);
  });
});
