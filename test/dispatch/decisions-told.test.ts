/**
 * What an agent learns of a person's decision: a call that waits gets it, or there is one message, and a task
 * that was parked for it goes on to its end.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: scripts have variables of their own
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openHome } from "../../src/home/index.ts";
import { DispatcherCalls } from "../../src/host/calling.ts";
import { Presence } from "../../src/host/presence.ts";
import { SessionMail } from "../../src/host/session-mail.ts";
import { SessionTasks } from "../../src/host/session-tasks.ts";
import { hasSandbox } from "../support/capsules.ts";
import { type Dispatcher, HostHome, until } from "../support/hosts.ts";
import { isParked, PushHome } from "../support/pushing.ts";

const wall = hasSandbox ? [] : ["--no-sandbox"];
const ASKS = `
steps:
  - { tool: ask_person, with: { question: "Which one?" }, as: answer }
  - { tool: write_file, with: { path: answer.txt, content: "\${answer}" } }
  - { wait_message: { seconds: 0.05 }, on_failure: continue }
`;

/** A call is held for this time. */
const settings = (home: HostHome, seconds: number) =>
  writeFileSync(join(home.dir, "settings.yaml"), `ask_seconds: ${seconds}\n`, { mode: 0o600 });

async function recordsOf(dispatcher: Dispatcher, id: string, ...types: string[]) {
  const found = [];
  for await (const record of dispatcher.holdfast.readJournal(id))
    if (types.includes(record.type)) found.push(record.data);
  return found;
}

describe("a script that asks a person", () => {
  it("goes on with the answer after its task was parked, and its wait for a message does not get the answer", async () => {
    using home = new HostHome();
    const dispatcher = await home.dispatcher();
    settings(home, 0.2);
    writeFileSync(home.join("ask.yaml"), ASKS);
    const how = ["--detach", "--script", home.join("ask.yaml"), "--repo", home.main, ...wall];
    expect(await home.cli("run", ...how)).toMatchObject({ status: 0 });
    const [id = ""] = dispatcher.sessionIds();
    await isParked(dispatcher, id);
    const [parked] = await recordsOf(dispatcher, id, "task_parked");
    const [asked] = await recordsOf(dispatcher, id, "question_asked");
    expect(parked).toMatchObject({ reason: "answer", requests: [asked?.["question"]] });
    const answered = await home.cli("answer", String(asked?.["question"]), "the", "second");
    expect(answered.stdout, answered.stderr).toContain("answered");
    expect(await home.cli("wait", id)).toMatchObject({ status: 0 });
    expect(await recordsOf(dispatcher, id, "question_asked")).toHaveLength(1);
    expect((await home.cli("diff", id)).stdout).toContain("+the second");
    expect((await home.cli("output", id)).stdout).toContain("[3/3] wait_message: its outcome was error");
    expect(await recordsOf(dispatcher, id, "message_received")).toMatchObject([
      { from: expect.stringMatching(/^user:/), text: 'Answer to "Which one?": the second' },
    ]);
    expect(await recordsOf(dispatcher, id, "message_entered_context")).toHaveLength(1);
  });

  it("park-2 goes on at once if the answer comes when its task is about to be parked", async () => {
    using home = new HostHome();
    await home.dispatcher();
    settings(home, 0.2);
    const session = await (await home.open()).openSession({ repo: home.main, title: "asks" });
    const agent = { adapter: "script" as const, script: ASKS, vars: {}, input: "messages" as const };
    const spec = { agent, definition: "script:ask.yaml", sandbox: hasSandbox };
    await session.append("task_queued", { request: "task_1", spec });
    const inside = await openHome({ home: home.dir, create: false });
    const mail = await SessionMail.read(inside, session, new DispatcherCalls(inside, ""));
    const presence = await Presence.begin(inside, session, mail.inbox, async () => {});
    const tasks = new SessionTasks(inside, session, mail, presence);
    session.observe((records) => {
      mail.note(records);
      const [question] = Object.keys(session.state.pending);
      // The turn has ended, and its files are kept: the next record is that of the park.
      if (question !== undefined && records.some(({ type }) => type === "checkpoint_taken"))
        void session.append("question_answered", { question, by: "user:ani", text: "the second" });
    });
    await tasks.drive({ kind: "queued", request: "task_1" });
    expect(session.state.task).toMatchObject({ outcome: "unverified", changed: { insertions: 1 } });
    const types = [];
    for await (const { type } of (await home.open()).readJournal(session.id)) types.push(type);
    expect(types).not.toContain("task_parked");
    expect(types.filter((type) => type === "question_asked")).toHaveLength(1);
    await tasks.doorway.close();
    presence.end();
    await session.pause("idle");
  });
});

describe.skipIf(!hasSandbox)("a process that drives several tasks", () => {
  it("sends no message about the decision that a call of the second task gets", async () => {
    using home = new PushHome();
    const dispatcher = await home.dispatcher();
    settings(home, 600);
    const push = (branch: string) => {
      const file = home.join(`${branch}.yaml`);
      const write = `{ tool: write_file, with: { path: made.txt, content: ${branch} } }`;
      writeFileSync(file, `steps:\n  - ${write}\n  - { tool: git_push, with: { branch: ${branch} } }\n`);
      return ["run", "--detach", "--lane", "pushing", "--script", file];
    };
    expect(await home.cli(...push("one"), "--repo", home.main)).toMatchObject({ status: 0 });
    const [id = ""] = dispatcher.sessionIds();
    await until(() => home.pending(id));
    const first = home.hostPid(id);
    expect(await home.cli(...push("two"), "--session", id)).toMatchObject({ status: 0 });
    expect(await home.approve(id)).toBe(0);
    await until(async () => (await dispatcher.show(id)).task?.number === 2 && home.pending(id));
    expect(home.hostPid(id)).toBe(first);
    expect(await home.approve(id)).toBe(0);
    expect(await home.cli("wait", id)).toMatchObject({ status: 0 });
    expect(home.effects()).toBe(2);
    expect(await recordsOf(dispatcher, id, "message_received")).toEqual([]);
  });
});
