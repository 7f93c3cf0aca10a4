/**
 * What went wrong once, between a dispatcher and a session process, at an awkward moment.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { readProcessRecord } from "../../src/home/index.ts";
import { encodeEnvelope } from "../../src/mail/index.ts";
import { tryFileLock } from "../../src/util/index.ts";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { hasSandbox } from "../support/capsules.ts";
import { agent, type Dispatcher, HostHome, reaches, script, typesOf, until } from "../support/hosts.ts";
import { commitFiles, gitIn } from "../support/repo.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const shown = (
  dispatcher: Dispatcher,
  id: string,
  isIt: (one: Awaited<ReturnType<Dispatcher["show"]>>) => boolean,
) => until(() => dispatcher.show(id), isIt);
const secret = () => ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_");

describe("messages from one session to another", () => {
  it("are carried by one at a time, and one that waits for its turn: more go away at once", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, agent("message-loop.mjs"));
    const other = await dispatcher.begin({ repo: home.main }, agent("message-loop.mjs"));
    const carrying = await until(() => tryFileLock(join(home.dir, "post.lock")));
    await dispatcher.send(id, `reply:${other.id}:meanwhile`);
    // What the session process calls for waits; whoever comes after it has nothing to wait for.
    await until(() => {
      const isWaited = tryFileLock(join(home.dir, "post-next.lock"));
      isWaited?.drop();
      return !isWaited;
    });
    for (let call = 0; call < 5; call += 1) await dispatcher.look();
    expect((await dispatcher.show(other.id)).inbox).toBe(0);
    carrying?.drop();
    await until(
      () => typesOf(dispatcher, other.id),
      (types) => types.includes("message_entered_context"),
    );
    for (const one of [id, other.id]) await dispatcher.send(one, "stop");
    for (const one of [id, other.id]) await reaches(dispatcher, one, "paused");
  });
});

describe("a message", () => {
  it("Y4 that is longer without its secrets than one may be keeps its session from nothing", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const session = await dispatcher.holdfast.openSession({ repo: home.main });
    // As a session process leaves it that was killed before it put the message into the outbox.
    const text = "mysql://u:abcd@h\n".repeat(15_000);
    await session.append("message_sent", { message: "msg_long", to: session.id, text });
    await session.release();
    await dispatcher.submit(session.id, script("echo fine > fine"));
    await reaches(dispatcher, session.id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(session.id)}:fine`)).toBe("fine");
    const types = await typesOf(dispatcher, session.id);
    expect(types.filter((type) => type === "message_set_aside")).toHaveLength(1);
    // Once is enough.
    await dispatcher.submit(session.id, script("true"));
    await reaches(dispatcher, session.id, "paused");
    expect(
      (await typesOf(dispatcher, session.id)).filter((type) => type === "message_set_aside"),
    ).toHaveLength(1);
  });
});

describe("a task", () => {
  it("with a secret in its command runs as it was asked for; its record has no secret, and can't be run again", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin(
      { repo: home.main },
      script(`printf %s '${secret()}' | wc -c > count`),
    );
    await reaches(dispatcher, id, "paused");
    expect(gitIn(home.main, "show", `${home.branchOf(id)}:count`).trim()).toBe("40");
    await expect(dispatcher.specOfLastTask(id)).rejects.toMatchObject({ code: "secret_not_kept" });
    // Nor anywhere else of what is kept; also not of one that was taken back before it began.
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

  it("whose process was killed before it began is shown as interrupted, and goes on with resume", async () => {
    using home = new HostHome();
    commitFiles(home.main, { "holdfast.yaml": "capsule: { setup: sleep 3 }\n" }, "a slow set-up");
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("echo done > result"));
    await shown(dispatcher, id, ({ queue }) => queue === 1);
    kill(home.hostPid(id) ?? 0, "SIGKILL");
    await reaches(dispatcher, id, "interrupted");
    await dispatcher.resume(id);
    await shown(dispatcher, id, ({ task }) => task?.outcome === "done");
  });

  it("that lies in the inbox beside the word that takes it back does not begin", async () => {
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
    // A process takes in what is asked of it before everything else.
    await inbox.put(
      "ask_back",
      encodeEnvelope({ ...from, id: "ask_back", kind: "cancel", request: "task_back" }),
    );
    await dispatcher.submit(id, script("true"));
    await shown(dispatcher, id, ({ task }) => task?.number === 2 && task.outcome === "done");
    await reaches(dispatcher, id, "paused");
    expect((await dispatcher.show(id)).task?.number).toBe(2);
    expect((await dispatcher.show(id)).inbox).toBe(0);
  });

  it("that comes just when its process leaves is not lost", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("true"));
    for (let number = 2; number <= 12; number += 1) {
      await shown(dispatcher, id, ({ task, queue }) => queue === 0 && task?.outcome === "done");
      await sleep(Math.random() * 40);
      await dispatcher.submit(id, script("true"));
      await shown(dispatcher, id, ({ task }) => task?.number === number);
    }
    await reaches(dispatcher, id, "paused");
  });

  it("that can't begin, for its base, is refused where it is asked for, and leaves nothing", async () => {
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

  it("that waits in a session which is closed never begins, also when the session goes on later", async () => {
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

  it("that is taken back never runs: in the line, with its process starting, behind another", async () => {
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
    await shown(dispatcher, inLine.id, ({ task }) => task?.outcome === "done");
    expect(gitIn(home.main, "ls-tree", "--name-only", `${home.branchOf(inLine.id)}`)).toContain("kept");
    await reaches(dispatcher, other.id, "paused");
    expect((await dispatcher.show(other.id)).task?.number).toBe(1);
    expect(await typesOf(dispatcher, other.id)).toContain("task_refused");
  });

  it("in the inbox of a session that is resumed begins; in the line, a pause keeps it and everything with it", async () => {
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
    expect(said).toContain("the session was paused or closed");
    expect(await dispatcher.show(id)).toMatchObject({ status: "paused", inbox: 2 });
    await dispatcher.pause(other.id);
    expect(await dispatcher.resume(id)).toMatchObject({ process: "started" });
    await shown(dispatcher, id, ({ task }) => task?.outcome === "done");
    expect((await dispatcher.show(id)).unread).toBe(1);
  });

  it("that crashed keeps what it had written, whoever comes next; and blocks nobody when its files are gone", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    for (const verb of ["pause", "close", "teardown"]) {
      const { id } = await dispatcher.begin({ repo: home.main }, script("echo said; sleep 60"));
      await until(() => {
        const spools = readdirSync(home.sessionDir(id, "log")).filter((name) => name.endsWith(".out"));
        return spools.some((name) => readFileSync(home.sessionDir(id, "log", name), "utf8").includes("said"));
      });
      kill(home.hostPid(id) ?? 0, "SIGKILL");
      await reaches(dispatcher, id, "interrupted");
      expect((await home.cli(verb, id)).status).toBe(0);
      expect((await home.cli("log", id, "--json")).stdout).toContain("It had written:\\nsaid");
      if (verb !== "teardown") continue;
      await dispatcher.enter(id, { by: "serve" });
      await dispatcher.look();
      await shown(dispatcher, id, ({ task }) => task?.outcome === "interrupted");
      await until(() => dispatcher.placeOf(id) === undefined);
      await reaches(dispatcher, id, "paused");
    }
  });

  it("of a fork or an import is not started again there", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("sleep 60", { restart: true }));
    await reaches(dispatcher, id, "running");
    await dispatcher.pause(id);
    const fork = await dispatcher.holdfast.forkSession(id);
    await fork.release();
    expect(await dispatcher.show(fork.id)).toMatchObject({ status: "open", task: { request: null } });
    expect(await dispatcher.resume(fork.id)).toMatchObject({ process: "none" });
  });
});

describe("a session process", () => {
  it("that is starting is paused, too: what was said to be paused or closed does not run", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    for (const move of ["pause", "close"] as const) {
      const session = await dispatcher.holdfast.openSession({ repo: home.main });
      await session.release();
      const submitting = dispatcher.submit(session.id, script("sleep 60")).catch(() => {});
      await until(() => dispatcher.placeOf(session.id)?.state === "granted");
      await dispatcher[move](session.id);
      await submitting;
      await sleep(500);
      const { status, pid } = await dispatcher.show(session.id);
      expect([status, pid]).toEqual([move === "pause" ? "paused" : "closed", null]);
    }
    expect(home.strays()).toEqual([]);
  });

  it("ends although a window on its terminal does not look", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin(
      { repo: home.main },
      script("sleep 1; head -c 2000000 /dev/zero", { input: "terminal" }),
    );
    const path = await until(() => dispatcher.processOf(id)?.terminal);
    const window = connect(path ?? "");
    window.pause();
    await reaches(dispatcher, id, "paused");
    window.destroy();
  });

  it("whose budget is reached with a message half written still ends in order", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const session = await dispatcher.holdfast.openSession({ repo: home.main, budget: { turns: 1 } });
    await session.release();
    await dispatcher.send(session.id, "x".repeat(200_000));
    await dispatcher.submit(session.id, script("sleep 1; echo kept > kept", { input: "messages" }));
    const { task } = await shown(
      dispatcher,
      session.id,
      ({ status, task }) => status === "paused" && task?.outcome !== null,
    );
    expect(task?.outcome).toBe("done");
    await home.quiet();
    expect(home.strays()).toEqual([]);
  });

  it("Y6 whose inbox is flooded, by its own command too, is still paused, interrupted and given tasks", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, script("sleep 60"));
    await reaches(dispatcher, id, "running");
    mkdirSync(home.sessionDir(id, "inbox/tmp"), { recursive: true });
    for (const part of ["cur", "new"]) mkdirSync(home.sessionDir(id, "inbox", part), { recursive: true });
    for (let number = 1; number <= 1300; number += 1) {
      const message = `msg_${String(number).padStart(5, "0")}`;
      const text = JSON.stringify({ kind: "message", id: message, from: "x", at: "", to: id, text: "" });
      writeFileSync(home.sessionDir(id, `inbox/new/${String(number).padStart(12, "0")}-${message}`), text);
    }
    await dispatcher.submit(id, script("echo through > through"));
    await dispatcher.interrupt(id);
    await shown(dispatcher, id, ({ task }) => task?.number === 2 && task.outcome === "done");
    // Those that there is no room for yet lie in the inbox, and are as unread as the others.
    expect(await dispatcher.show(id)).toMatchObject({ unread: 1300, inbox: 300 });
    await reaches(dispatcher, id, "paused");
  });

  it("does not keep the questions of a command that waits for no answer", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin({ repo: home.main }, agent("message-loop.mjs"));
    const door = await until(
      () => join(readProcessRecord(home.sessionDir(id))?.bell ?? "", "..", "door", "socket"),
      existsSync,
    );
    const token = readFileSync(home.sessionDir(id, "token"), "utf8").trim();
    const socket = connect(door);
    let answers = "";
    socket.on("data", (chunk) => {
      answers += chunk;
    });
    socket.on("error", () => {});
    const question = `GET /v1/inbox?wait=50 HTTP/1.1\r\nhost: door\r\nauthorization: Bearer ${token}\r\n\r\n`;
    socket.write(question.repeat(50));
    // Long before any of them has been answered.
    const isRefused = () => socket.closed || socket.destroyed || answers.includes(" 429 ");
    await until(isRefused, Boolean, 10_000);
    socket.destroy();
    // And it still answers others.
    await dispatcher.send(id, "stop");
    await reaches(dispatcher, id, "paused");
  });

  it("counts threads as processes, as the system does", async () => {
    using home = new HostHome();
    commitFiles(home.main, { "holdfast.yaml": "quota: { processes: 40 }\n" }, "a quota");
    const dispatcher = await home.dispatcher();
    const many =
      'const { Worker } = require("worker_threads"); for (let i = 0; i < 60; i += 1) new Worker("setInterval(() => {}, 1000)", { eval: true })';
    const { id } = await dispatcher.begin({ repo: home.main }, script(`node -e '${many}'`));
    await reaches(dispatcher, id, "paused");
    const limits: unknown[] = [];
    for await (const { type, data } of dispatcher.holdfast.readJournal(id))
      if (type === "quota_reached") limits.push(data["limit"]);
    expect(limits).toEqual(["processes"]);
  });

  it("counts files without a name, and what threads start, against the quota", async () => {
    using home = new HostHome();
    commitFiles(home.main, { "holdfast.yaml": "quota: { disk_mb: 64 }\n" }, "a quota");
    const dispatcher = await home.dispatcher();
    const { id } = await dispatcher.begin(
      { repo: home.main },
      script(
        "exec 3>$TMPDIR/big; rm $TMPDIR/big; for i in $(seq 60); do head -c 8000000 /dev/zero >&3; sleep 0.1; done; sleep 60",
      ),
    );
    await reaches(dispatcher, id, "paused");
    expect(await typesOf(dispatcher, id)).toContain("quota_reached");
  });
});

if (!hasSandbox) console.log("left out: what the sandbox hides: bubblewrap is not installed");

describe.skipIf(!hasSandbox)("in the sandbox", () => {
  it("no service of the machine, and no socket of another session, can be reached", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const other = await dispatcher.begin({ repo: home.main }, script("sleep 60", { input: "terminal" }));
    await until(() => dispatcher.processOf(other.id)?.terminal);
    const { id } = await dispatcher.begin(
      { repo: home.main },
      script(
        "find /tmp /run /var/run/ /proc/1/root/run /proc/1/root/tmp /root /home /dev -type s > sockets 2>/dev/null; true",
      ),
    );
    await shown(dispatcher, id, ({ task }) => task?.outcome === "done");
    const found = gitIn(home.main, "show", `${home.branchOf(id)}:sockets`)
      .split("\n")
      .filter(Boolean);
    expect([...new Set(found.map((path) => path.replace("/proc/1/root", "")))]).toEqual([
      "/tmp/.holdfast/socket",
    ]);
    await dispatcher.pause(other.id);
  });
});
