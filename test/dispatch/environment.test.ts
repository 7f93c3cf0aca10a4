/**
 * Values that a task is given by name: the task has them, and no file keeps them once it is over, however it
 * ends.
 */
import { readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { encodeEnvelope, Maildir } from "../../src/mail/index.ts";
import { writeEnvironment } from "../../src/session/index.ts";
import { realDisk } from "../../src/util/index.ts";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { ask, doorOf, tokenOf } from "../support/doors.ts";
import {
  agent,
  type Dispatcher,
  HostHome,
  type ScriptOptions,
  script,
  typesOf,
  until,
} from "../support/hosts.ts";
import { gitIn } from "../support/repo.ts";
import { filesWith, newValue, objectsHave, processesWith } from "../support/values.ts";

const envDir = (home: HostHome, id: string) => home.sessionDir(id, "env");
const kept = (home: HostHome, id: string) => readdirSync(envDir(home, id));

async function records(dispatcher: Dispatcher, id: string, type: string) {
  const all = await Array.fromAsync(dispatcher.holdfast.readJournal(id));
  return all.filter((record) => record.type === type);
}

const started = (dispatcher: Dispatcher, id: string, times = 1) =>
  until(
    async () => (await typesOf(dispatcher, id)).filter((type) => type === "process_started").length >= times,
  );

/** A session whose task runs until it is ended. */
async function waiting(
  home: HostHome,
  dispatcher: Dispatcher,
  env: Record<string, string>,
  more: ScriptOptions = {},
) {
  const spec = script('echo "$FIRST"; exec sleep 60', more);
  const { id, request } = await dispatcher.begin({ repo: home.main }, spec, { env });
  await started(dispatcher, id);
  return { id, request };
}

/** Ends by itself when it is started for the second time. */
const AGAIN = 'if [ -e b.txt ]; then echo "$FIRST"; exit 0; fi; echo x > b.txt; echo "$FIRST"; exec sleep 60';

describe("the values of a task's environment", () => {
  it("value-1 value-2 reach the command, and are in no file, record or commit but their own file while it runs", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const [first, second] = [newValue(), `${newValue()} "quoted" \\ é`];
    // The title also has a value that is cut off.
    const command = `echo "$FIRST"; echo ": ${first}" >&2; printf '\\377%s\\376' "$SECOND"; sleep 0.5; [ "$SECOND" = '${second}' ] && echo x > b.txt`;
    const title = `about ${first} and ${second.slice(0, 12)}`;
    const { id, request } = await dispatcher.begin({ repo: home.main, title }, script(command), {
      env: { FIRST: first, SECOND: second },
    });
    await started(dispatcher, id);
    expect(processesWith(first).length).toBeGreaterThan(0);
    expect(processesWith(second.slice(0, -1)).length).toBeGreaterThan(0);
    expect(kept(home, id)).toEqual([`${request}.json`]);
    expect(statSync(envDir(home, id)).mode & 0o777).toBe(0o700);
    expect(statSync(join(envDir(home, id), `${request}.json`)).mode & 0o777).toBe(0o600);
    await home.quiet();
    const [ended] = await records(dispatcher, id, "task_ended");
    expect(ended?.data).toMatchObject({ outcome: "unverified", files: 1 });
    const [returned] = await records(dispatcher, id, "tool_returned");
    expect(returned?.redacted).toEqual(["env:FIRST", "env:SECOND"]);
    expect(JSON.stringify(returned?.data).match(/\[redacted:env:FIRST\]/g)).toHaveLength(2);
    const [queued] = await records(dispatcher, id, "task_queued");
    expect(queued?.data["spec"]).toMatchObject({ env: ["FIRST", "SECOND"] });
    expect(kept(home, id)).toEqual([]);
    for (const value of [first, second, second.slice(0, 12)]) {
      expect(filesWith(home.dir, value)).toEqual([]);
      expect(objectsHave(join(home.main, ".git"), value)).toBe(false);
    }
    const subject = gitIn(home.main, "log", "--all", "-1", "--format=%s");
    expect(subject).toBe("about [redacted:env:FIRST] and");
  });

  it("are in the arguments of no process, and in no log", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const first = newValue();
    const { id, request } = await waiting(home, dispatcher, { FIRST: first });
    await until(() => filesWith(home.sessionDir(id, "log"), "[redacted:env:FIRST]").length > 0);
    expect(filesWith(home.dir, first)).toEqual([join(envDir(home, id), `${request}.json`)]);
    expect(processesWith(first)).toEqual([]);
    await dispatcher.interrupt(id);
    await home.quiet();
    expect(filesWith(home.dir, first)).toEqual([]);
  });

  it("value-2 survive a kill for the task that goes on, and are still removed from its output", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const first = newValue();
    const { id, request } = await dispatcher.begin({ repo: home.main }, script(AGAIN, { restart: true }), {
      env: { FIRST: first },
    });
    await started(dispatcher, id);
    await until(() => filesWith(home.sessionDir(id, "log"), "[redacted:env:FIRST]").length > 0);
    expect(filesWith(home.dir, first)).toEqual([join(envDir(home, id), `${request}.json`)]);
    kill(home.hostPid(id) ?? 0, "SIGKILL");
    await until(() => home.hostPid(id) === undefined);
    expect(kept(home, id)).toEqual([`${request}.json`]);
    await dispatcher.resume(id);
    await home.quiet();
    const said = (await records(dispatcher, id, "tool_returned")).map(({ data }) => JSON.stringify(data));
    expect(said).toHaveLength(2);
    for (const one of said) expect(one).toContain("[redacted:env:FIRST]");
    expect((await records(dispatcher, id, "task_ended"))[0]?.data).toMatchObject({ outcome: "unverified" });
    expect(kept(home, id)).toEqual([]);
    expect(filesWith(home.dir, first)).toEqual([]);
  });

  it("are kept while their task is paused, together with its unredacted command, and removed at its end", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const first = newValue();
    // The record does not have the whole command; only the envelope does.
    const again = `X_TOKEN=abcdefghijk true; ${AGAIN}`;
    const { id } = await dispatcher.begin({ repo: home.main }, script(again, { restart: true }), {
      env: { FIRST: first },
    });
    await until(() => filesWith(home.sessionDir(id, "log"), "[redacted:env:FIRST]").length > 0);
    await dispatcher.pause(id);
    expect(kept(home, id)).toHaveLength(1);
    await dispatcher.resume(id);
    await home.quiet();
    expect((await records(dispatcher, id, "task_ended"))[0]?.data).toMatchObject({ outcome: "unverified" });
    expect(filesWith(home.dir, first)).toEqual([]);
    expect(filesWith(home.dir, "abcdefghijk")).toEqual([]);
  });

  it("are removed when their task is refused or cancelled, or its session closed; a task without them is refused", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const value = newValue();
    const env = { FIRST: value };
    const { id } = await waiting(home, dispatcher, env);
    const queued = [];
    for (let count = 0; count < 3; count += 1)
      queued.push(await dispatcher.submit(id, script("true"), { env }));
    const [back, lost] = queued;
    expect(kept(home, id)).toHaveLength(4);
    await dispatcher.cancel(id, back?.request ?? "");
    await until(() => kept(home, id).length === 3);
    rmSync(join(envDir(home, id), `${lost?.request}.json`));
    await dispatcher.interrupt(id);
    await until(async () => (await records(dispatcher, id, "task_refused")).length === 2);
    const [, refused] = await records(dispatcher, id, "task_refused");
    expect(refused?.data).toMatchObject({ request: lost?.request, code: "env_missing" });
    await home.quiet();
    expect(kept(home, id)).toEqual([]);

    const other = await waiting(home, dispatcher, env);
    await dispatcher.submit(other.id, script("true"), { env });
    await dispatcher.close(other.id);
    expect(kept(home, other.id)).toEqual([]);
    expect(filesWith(home.dir, value)).toEqual([]);
    await home.quiet();
  });

  it("value-2 are not shown in the queue, and are removed when their task is cancelled while no process runs", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const value = newValue();
    const env = { FIRST: value };
    const { id } = await waiting(home, dispatcher, {});
    const { request } = await dispatcher.submit(id, script("true"), { env });
    await dispatcher.pause(id);
    // What a caller leaves behind that is killed right after it submitted the task.
    const spec = script(`echo ${value}`, { env: ["FIRST"] });
    const envelope = {
      id: "task_lying",
      from: "user:test",
      at: new Date().toISOString(),
      kind: "task" as const,
    };
    const inbox = new Maildir(realDisk, home.sessionDir(id, "inbox"));
    await inbox.put(envelope.id, encodeEnvelope({ ...envelope, spec, priority: 0 }));
    await writeEnvironment(realDisk, home.sessionDir(id), envelope.id, { values: env });
    const { waiting: queue } = await dispatcher.queue(id);
    expect(queue.map(({ asked }) => asked)).toEqual(["sh -c true", "sh -c echo [redacted:env:FIRST]"]);
    await dispatcher.cancelByName(id, request);
    expect(kept(home, id)).toEqual(["task_lying.json"]);
    await dispatcher.cancel(id, envelope.id);
    expect(kept(home, id)).toEqual([]);
    expect(filesWith(home.dir, value)).toEqual([]);
  });

  it("are removed when the set-up fails, and by gc when a kill left them behind", async () => {
    using home = new HostHome({ "holdfast.yaml": "capsule:\n  setup: exit 1\n" });
    const dispatcher = await home.dispatcher();
    const first = newValue();
    const { id } = await dispatcher.begin({ repo: home.main }, script("true"), { env: { FIRST: first } });
    await home.quiet();
    expect((await records(dispatcher, id, "task_refused"))[0]?.data).toMatchObject({ code: "setup_failed" });
    expect(kept(home, id)).toEqual([]);

    for (const name of ["task_01old.json", ".tmp-0123"]) {
      const path = join(envDir(home, id), name);
      writeFileSync(path, JSON.stringify({ values: { FIRST: first } }), { mode: 0o600 });
      utimesSync(path, 1, 1);
    }
    writeFileSync(join(envDir(home, id), "task_01young.json"), "{}");
    await dispatcher.holdfast.gc();
    expect(kept(home, id)).toEqual(["task_01young.json"]);
    expect(filesWith(home.dir, first)).toEqual([]);
  });

  it("value-2 are removed from every message, from any sender", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const first = newValue();
    const { id } = await dispatcher.begin({ repo: home.main }, agent("message-loop.mjs"), {
      env: { FIRST: first },
    });
    const resting = await dispatcher.holdfast.openSession({ repo: home.main });
    await resting.release();
    await started(dispatcher, id);
    const door = await until(
      () => doorOf(home, id),
      (path) => statSync(path, { throwIfNoEntry: false }) !== undefined,
    );
    const body = JSON.stringify({ to: resting.id, text: `take ${first}` });
    expect((await ask(door, tokenOf(home, id), { method: "POST", path: "/v1/outbox", body })).status).toBe(
      202,
    );
    await dispatcher.send(id, `here is ${first}`);
    await until(async () => (await records(dispatcher, id, "message_entered_context")).length === 1);
    await until(async () => (await dispatcher.show(resting.id)).unread === 1);
    expect(filesWith(home.dir, first).filter((path) => !path.startsWith(envDir(home, id)))).toEqual([]);
    await dispatcher.send(id, "stop");
    await home.quiet();
    const [received] = await records(dispatcher, id, "message_received");
    expect(received?.data["text"]).toBe("here is [redacted:env:FIRST]");
    const [sent] = await records(dispatcher, id, "message_sent");
    expect(sent?.data).toMatchObject({ to: resting.id, text: "take [redacted:env:FIRST]" });
  });

  it("value-1 do not damage records if they equal one of Holdfast's words, a commit or text of the base", async () => {
    using home = new HostHome({ "a.txt": "in production mode\n" });
    const dispatcher = await home.dispatcher();
    const env = {
      GITHUB_SHA: gitIn(home.main, "rev-parse", "HEAD"),
      STATE: "completed",
      MODE: "production mode",
      SHORT: "1234567",
    };
    const command = 'echo "$MODE, $SHORT, $STATE" | tee b.txt';
    const { id } = await dispatcher.begin({ repo: home.main }, script(command), { env });
    await home.quiet();
    expect((await dispatcher.show(id)).task).toMatchObject({ outcome: "needs_review" });
    const [returned] = await records(dispatcher, id, "tool_returned");
    expect(returned?.data["output"]).toMatchObject({
      output: "production mode, 1234567, [redacted:env:STATE]\n",
    });
    expect((await records(dispatcher, id, "turn_ended"))[0]?.data).toMatchObject({ outcome: "completed" });
    expect((await records(dispatcher, id, "task_started"))[0]?.data["base"]).toBe(env.GITHUB_SHA);
    const { state } = await dispatcher.resume(id);
    expect(state.oddities).toBe(0);
  });

  it("are refused before a session is opened if they are not allowed, and no error shows them", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    const begin = (env: Record<string, string>, more: ScriptOptions = {}) =>
      dispatcher.begin({ repo: home.main }, script("true", more), { env });
    for (const name of [
      "HOME",
      "PATH",
      "LD_PRELOAD",
      "BASH_ENV",
      "GLIBC_TUNABLES",
      "HOLDFAST_DOOR",
      "no-name",
    ])
      await expect(begin({ [name]: "x" })).rejects.toMatchObject({ code: "invalid_data" });
    const zero = await begin({ FIRST: "hush\0hush" }).catch((error: Error) => error.message);
    expect(zero).toBe("env: FIRST has a value with a NUL or with broken Unicode, which no variable can have");
    await expect(begin({ FIRST: "x".repeat(200_000) })).rejects.toMatchObject({ code: "invalid_data" });
    await expect(begin({}, { env: ["FIRST"] })).rejects.toMatchObject({ code: "env_missing" });
    expect(dispatcher.sessionIds()).toEqual([]);
  });
});
