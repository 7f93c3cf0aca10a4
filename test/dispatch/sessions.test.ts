/**
 * Real session processes and the dispatcher: started, given tasks and messages, and killed.
 */
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { encodeEnvelope, Maildir } from "../../src/mail/index.ts";
import { readTextOr, realDisk } from "../../src/util/index.ts";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { hasSandbox } from "../support/capsules.ts";
import { type Dispatcher, HostHome, reaches, script, typesOf, until } from "../support/hosts.ts";
import { isDone } from "../support/outcomes.ts";
import { fingerprint, gitIn } from "../support/repo.ts";

const statusOf = async (dispatcher: Dispatcher, id: string) => (await dispatcher.show(id)).status;

async function begin(home: HostHome, dispatcher: Dispatcher, text: string, own = {}) {
  const begun = await dispatcher.begin({ repo: home.main, title: "a test" }, script(text, own));
  return begun.id;
}

/** What a caller leaves behind that is killed before it could start a session process. */
async function putForgotten(home: HostHome, id: string): Promise<void> {
  const request = `task_forgotten_${id.slice(-8)}`;
  const envelope = {
    kind: "task" as const,
    id: request,
    from: "user:test",
    at: new Date().toISOString(),
    spec: script("true"),
    priority: 0,
  };
  await new Maildir(realDisk, home.sessionDir(id, "inbox")).put(request, encodeEnvelope(envelope));
}

/** The output of commands that is still in log/. */
const spooled = (home: HostHome, id: string) =>
  readdirSync(home.sessionDir(id, "log"))
    .filter((name) => name.endsWith(".out"))
    .map((name) => readFileSync(home.sessionDir(id, "log", name), "latin1"))
    .join("");

describe("a session process", () => {
  it("is detached, has its own environment, HOME, TMPDIR and log, and ends when the work is done", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    process.env["MARK_OF_THE_STARTER"] = "leaks";
    const id = await begin(home, dispatcher, "while [ ! -e stop ]; do sleep 0.05; done; echo done > result");
    delete process.env["MARK_OF_THE_STARTER"];
    const pid = await until(() => home.hostPid(id));
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    // It has a process group and a session of its own.
    expect([Number(stat[2]), Number(stat[3])]).toEqual([pid, pid]);
    const environ = readFileSync(`/proc/${pid}/environ`, "utf8");
    expect(environ).not.toContain("MARK_OF_THE_STARTER");
    expect(environ).toContain(`HOME=${home.sessionDir(id, "host", "home")}\0`);
    expect(environ).toContain(`TMPDIR=${home.sessionDir(id, "host", "tmp")}\0`);
    await reaches(dispatcher, id, "running");
    expect(readdirSync(home.sessionDir(id, "log"))).toContain("host.log");
    await dispatcher.interrupt(id);
    await reaches(dispatcher, id, "paused");
    await home.quiet();
    expect(home.strays()).toEqual([]);
  });

  it("goes on when the command that started it is killed and its terminal is closed", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const cli = home.spawnCli(
      ["run", ...(hasSandbox ? [] : ["--no-sandbox"]), "--", "sh", "-c", "sleep 1; echo survived > result"],
      { detached: true },
    );
    const [{ id = "" } = {}] = await until(
      () => dispatcher.list(),
      (all) => all[0]?.status === "running",
    );
    // The whole process group, as when a terminal closes; SIGKILL, to be certain.
    process.kill(-(cli.pid ?? 0), "SIGHUP");
    process.kill(-(cli.pid ?? 0), "SIGKILL");
    await reaches(dispatcher, id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:result`)).toBe("survived");
  });

  it("can be resumed after a kill in the middle of a turn, with nothing lost and nothing done twice", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const before = fingerprint(home.main);
    const id = await begin(home, dispatcher, "echo once >> count; echo said so far; sleep 60");
    const pid = await until(() => home.hostPid(id));
    await until(
      async () =>
        readFileSync(
          home.sessionDir(
            id,
            "log",
            readdirSync(home.sessionDir(id, "log")).find((name) => name.endsWith(".out")) ?? "",
          ),
          "utf8",
        ),
      (output) => output.includes("said so far"),
    );
    await dispatcher.send(id, "for later");
    kill(pid ?? 0, "SIGKILL");
    await reaches(dispatcher, id, "interrupted");
    // With bubblewrap, nothing of the command outlives its session process.
    if (hasSandbox)
      await until(
        () => home.strays().filter(isCommand),
        (left) => left.length === 0,
      );
    await dispatcher.resume(id);
    await reaches(dispatcher, id, "paused");
    const types = await typesOf(dispatcher, id);
    expect(types.filter((type) => type === "tool_called")).toHaveLength(1);
    expect(types.filter((type) => type === "message_received")).toHaveLength(1);
    const shown = await dispatcher.show(id);
    expect(shown).toMatchObject({ unread: 1, task: { outcome: "interrupted", capsule: "there" } });
    for await (const { type, data } of dispatcher.holdfast.readJournal(id))
      if (type === "tool_returned")
        expect(data).toMatchObject({
          outcome: "interrupted",
          output: expect.stringContaining("said so far"),
        });
    const { patch } = await dispatcher.holdfast.diffSession(id);
    expect(patch.toString()).toContain("+once");
    expect(patch.toString().match(/\+once/g)).toHaveLength(1);
    expect(fingerprint(home.main)).toBe(before);
    expect((await dispatcher.holdfast.auditSession(id)).findings).toEqual([]);
  });

  it("starts a command with --restart again in the same files, after a kill and after a pause", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const loop = "echo run >> runs; [ $(wc -l < runs) -ge 3 ] && exit 0; sleep 60";
    const id = await begin(home, dispatcher, loop, { restart: true });
    await until(
      () => typesOf(dispatcher, id),
      (types) => types.includes("process_started"),
    );
    await sleep(200);
    kill(home.hostPid(id) ?? 0, "SIGKILL");
    await reaches(dispatcher, id, "interrupted");
    await dispatcher.resume(id);
    await until(
      () => typesOf(dispatcher, id),
      (types) => types.filter((type) => type === "process_started").length === 2,
    );
    await sleep(200);
    await dispatcher.pause(id);
    expect(await dispatcher.show(id)).toMatchObject({ status: "paused", pid: null, task: { outcome: null } });
    await home.quiet();
    await dispatcher.resume(id);
    await until(
      async () => (await dispatcher.show(id)).task?.outcome,
      (outcome) => outcome === "unverified",
    );
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:runs`)).toBe("run\nrun\nrun");
  });

  it("records the output of each turn when it is killed again and again, and leaves none of it in log/", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const loop = 'n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; echo "SAID-$n"; sleep 60';
    const { id } = await dispatcher.begin({ repo: home.main }, script(loop, { restart: true }));
    for (let round = 1; round <= 3; round += 1) {
      await until(
        async () =>
          (await dispatcher.show(id)).turns === round && (await statusOf(dispatcher, id)) === "running",
      );
      await until(() => spooled(home, id).includes(`SAID-${round}`));
      kill(home.hostPid(id) ?? 0, "SIGKILL");
      await reaches(dispatcher, id, "interrupted");
      if (round < 3) await dispatcher.resume(id);
    }
    await dispatcher.pause(id);
    expect(spooled(home, id)).toBe("");
    const outputs = [];
    for await (const { type, data } of dispatcher.holdfast.readJournal(id))
      if (type === "tool_returned") outputs.push(JSON.stringify(data["output"]).match(/SAID-\d/g));
    expect(outputs).toEqual([["SAID-1"], ["SAID-2"], ["SAID-3"]]);
  });

  it("runs its tasks in order, those with priority first; the last one can be run again from its base", async () => {
    using home = new HostHome({ "a.txt": "one\n" });
    const dispatcher = await home.dispatcher();
    const id = await begin(home, dispatcher, "sleep 1; echo first >> order");
    await reaches(dispatcher, id, "running");
    await dispatcher.submit(id, script("echo second >> order"));
    await dispatcher.submit(id, script("echo urgent >> order"), { priority: 5 });
    expect((await dispatcher.show(id)).queue).toBe(2);
    await reaches(dispatcher, id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:order`)).toBe("first\nurgent\nsecond");
    const spec = (await dispatcher.lastTaskAgain(id)).spec;
    await dispatcher.submit(id, spec);
    await until(
      async () => (await dispatcher.show(id)).task?.number,
      (number) => number === 4,
    );
    await reaches(dispatcher, id, "paused");
    // From the same base: what the first attempt added is not there.
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:order`)).toBe("first\nurgent\nsecond");
  });

  it("records the refusal of a task that can't begin, and begins the next one", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    gitIn(home.main, "branch", "gone");
    const id = await begin(home, dispatcher, "sleep 60");
    await reaches(dispatcher, id, "running");
    await dispatcher.submit(id, script("true", { base: "gone" }));
    await dispatcher.submit(id, script("echo fine > fine"));
    gitIn(home.main, "branch", "-D", "gone");
    await dispatcher.interrupt(id);
    await reaches(dispatcher, id, "paused");
    expect(await typesOf(dispatcher, id)).toContain("task_refused");
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:fine`)).toBe("fine");
  });

  it("pauses its session and ends when nothing is due; a message that comes later starts no process", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    // An earlier version could ask for a process that waits when nothing is due. Now that has no effect.
    const id = await begin(home, dispatcher, "true", { idlePauseMs: 600_000 });
    await reaches(dispatcher, id, "paused");
    await home.quiet();
    expect(await dispatcher.show(id)).toMatchObject({ pausedFor: "idle", pid: null });
    expect(await dispatcher.send(id, "are you there?")).toMatchObject({ isHeard: false });
    expect(await dispatcher.show(id)).toMatchObject({ status: "paused", unread: 1, inbox: 1 });
    expect(home.processes()).toEqual([]);
    await dispatcher.submit(id, script("echo second > second"));
    await until(async () => isDone((await dispatcher.show(id)).task));
    await reaches(dispatcher, id, "paused");
    expect(await dispatcher.show(id)).toMatchObject({ task: { number: 2 }, unread: 1, inbox: 0 });
    expect(home.strays()).toEqual([]);
  });

  it("leaves a session at rest if it is killed between the end of its task and its pause", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const id = await begin(home, dispatcher, "true");
    await reaches(dispatcher, id, "paused");
    await home.quiet();
    // As the kill would leave it: the last record is an end, and not a pause.
    const session = await dispatcher.holdfast.resumeSession(id, { files: false });
    const turn = await session.beginTurn("as if it went on");
    await turn.end();
    await session.release();
    expect(await dispatcher.show(id)).toMatchObject({ status: "paused", pausedFor: null });
    await dispatcher.submit(id, script("true"));
    await until(async () => (await dispatcher.show(id)).task?.number === 2);
    await reaches(dispatcher, id, "paused");
  });

  it("is started by serve for a task in the inbox of a session at rest, but not of one that a person has paused", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const [rests, paused] = [await begin(home, dispatcher, "true"), await begin(home, dispatcher, "true")];
    for (const id of [rests, paused]) await reaches(dispatcher, id, "paused");
    await dispatcher.resume(paused);
    await dispatcher.pause(paused);
    await home.quiet();
    expect((await dispatcher.show(paused)).pausedFor).toBe("asked");
    for (const id of [rests, paused]) await putForgotten(home, id);
    const serving = home.spawnCli(["serve"]);
    try {
      await until(async () => (await dispatcher.show(rests)).task?.number === 2);
      await reaches(dispatcher, rests, "paused");
      expect((await dispatcher.show(paused)).task?.number).toBe(1);
    } finally {
      serving.kill("SIGTERM");
      await once(serving, "exit");
    }
  });

  it("sets an unreadable message file aside, records that, and still takes in the others", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const id = await begin(home, dispatcher, "sleep 60");
    await reaches(dispatcher, id, "running");
    writeFileSync(home.sessionDir(id, "inbox/new/000000000001-msg_bad"), "{ not json");
    await dispatcher.send(id, "good");
    const shown = await until(
      () => dispatcher.show(id),
      ({ unread, inbox }) => unread === 1 && inbox === 0,
    );
    expect(shown.unread).toBe(1);
    expect(await typesOf(dispatcher, id)).toContain("message_set_aside");
    expect(readdirSync(home.sessionDir(id, "inbox/aside"))).toEqual(["000000000001-msg_bad"]);
  });
});

function isCommand(pid: number): boolean {
  // It may end while it is looked at.
  const words = readTextOr(`/proc/${pid}/cmdline`, "");
  return words.includes("sleep\u000060");
}
