/**
 * Every method of the library refuses options that do not exist. The error names the method, the option, and what is
 * possible.
 */
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { hasSandbox } from "../support/capsules.ts";
import { LibraryHome } from "../support/library.ts";

const signal = AbortSignal.abort();
const wrong = { nonsense: 1 } as object;

/** Methods without options. */
const WITHOUT = {
  holdfast: ["conflicts", "limits", "requests", "session"],
  session: [
    ...["answer", "archive", "artifacts", "cancel", "close", "conversation", "deny", "diskBytes"],
    ...["expenses", "interrupt", "keep", "pause", "queue", "raiseBudget", "readArtifact", "repair"],
    ...["requests", "restore", "resume", "revokeToken", "rewind", "rotateToken", "turns"],
  ],
  own: [
    ...["append", "budgetLeft", "close", "currentTask", "note", "observe", "pause", "raiseBudget", "release"],
  ],
  task: ["checkpoint", "end", "rest", "workplace"],
  turn: ["addMessage", "budgetLeft", "interrupt"],
  work: [
    ...["beginConversation", "beginTurn", "conversationOf", "cutCalls", "directory", "model"],
    ...["settledCalls", "show", "story"],
  ],
};

const first = (records: AsyncGenerator<unknown>) => records.next();

async function subjects(home: LibraryHome) {
  const holdfast = await home.holdfast();
  const own = await holdfast.openSession({ repo: home.main });
  const session = await holdfast.session(own.id);
  const task = await own.startTask({ sandbox: hasSandbox });
  const work = task.workplace();
  const turn = await own.beginTurn("try it");
  return { holdfast, own, session, task, work, turn };
}
type Subjects = Awaited<ReturnType<typeof subjects>>;
type Call = (of: Subjects, options: object) => unknown;

const CALLS: Readonly<Record<keyof typeof WITHOUT, Readonly<Record<string, Call>>>> = {
  holdfast: {
    begin: ({ holdfast }, options) => holdfast.begin({ command: ["true"], ...options }, {}),
    collectGarbage: ({ holdfast }, options) => holdfast.collectGarbage(options),
    events: ({ holdfast }, options) => first(holdfast.events({ signal, ...options })),
    examine: ({ holdfast }, options) => holdfast.examine(options),
    importSession: ({ holdfast }, options) => holdfast.importSession("file", options),
    listSessions: ({ holdfast }, options) => holdfast.listSessions(options),
    openSession: ({ holdfast }, options) => holdfast.openSession(options),
    readJournal: ({ holdfast, own }, options) => first(holdfast.readJournal(own.id, options)),
    resumeSession: ({ holdfast, own }, options) => holdfast.resumeSession(own.id, options),
    search: ({ holdfast }, options) => holdfast.search(["word"], options),
    setLimits: ({ holdfast }, options) => holdfast.setLimits(options),
  },
  session: {
    audit: ({ session }, options) => session.audit(options),
    branch: ({ session }, options) => session.branch(options),
    checks: ({ session }, options) => session.checks(options),
    diff: ({ session }, options) => session.diff(options),
    export: ({ session }, options) => session.export("file", options),
    follow: ({ session }, options) => first(session.follow({ signal, ...options })),
    fork: ({ session }, options) => session.fork(options),
    handOff: ({ session }, options) => session.handOff({ to: "bo", ...options }),
    merge: ({ session }, options) => session.merge(options),
    output: ({ session }, options) => first(session.output(options)),
    readJournal: ({ session }, options) => first(session.readJournal(options)),
    rebase: ({ session }, options) => session.rebase(options),
    remove: ({ session }, options) => session.remove(options),
    run: ({ session }, options) => session.run({ command: ["true"], ...options }),
    send: ({ session }, options) => session.send("hello", options),
    takeBack: ({ session }, options) => session.takeBack(options),
    teardown: ({ session }, options) => session.teardown(options),
    view: ({ session }, options) => session.view(options),
    wait: ({ session }, options) => session.wait(options),
    watch: ({ session }, options) => first(session.watch({ signal, ...options })),
  },
  own: {
    beginTurn: ({ own }, options) => own.beginTurn("again", options),
    startTask: ({ own }, options) => own.startTask(options),
  },
  task: { runTurn: ({ task }, options) => task.runTurn(["true"], options) },
  turn: {
    callTool: ({ turn }, options) => turn.callTool("read", {}, options),
    end: ({ turn }, options) => turn.end(options),
    fail: ({ turn }, options) => turn.fail(options),
    reportUsage: ({ turn }, options) => turn.reportUsage(options),
  },
  work: { start: ({ work }, options) => work.start(["true"], options) },
};

/** The methods that a program can call, those of the classes above included. */
function methodsOf(of: object): string[] {
  const found = new Set<string>();
  for (let at = Object.getPrototypeOf(of); at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof value === "function" && name !== "constructor") found.add(name);
  return [...found].sort();
}

describe.runIf(hasSandbox)("options of the library", () => {
  const home = new LibraryHome();
  let of: Subjects;
  beforeAll(async () => {
    of = await subjects(home);
    return async () => {
      await of.turn.interrupt();
      await of.task.rest();
      await of.own.pause();
      home[Symbol.dispose]();
    };
  });

  it.each(Object.keys(WITHOUT) as (keyof typeof WITHOUT)[])(
    "every method of %s is in these lists",
    (name) => {
      expect(methodsOf(of[name])).toEqual([...WITHOUT[name], ...Object.keys(CALLS[name])].sort());
    },
  );

  it.each(
    Object.entries(CALLS).flatMap(([name, calls]) =>
      Object.entries(calls).map(([method, call]) => [name, method, call] as const),
    ),
  )("%s.%s refuses an unknown option, and names the options that there are", async (_, method, call) => {
    // Some fail at once, and some when they are awaited.
    const failed = await (async () => call(of, wrong))().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({
      code: "invalid_data",
      message: expect.stringMatching(
        new RegExp(`^${method}(\\.task)?: there is no option nonsense; the options are `),
      ),
    });
  });

  it("nested options are refused too, and values that can't be meant", async () => {
    const { holdfast, session, own } = of;
    await expect(session.diff({ against: { session: own.id, ...wrong } })).rejects.toThrow(
      "diff.against: there is no option nonsense; the options are session, task",
    );
    await expect(holdfast.openSession({ budget: wrong })).rejects.toThrow(
      "openSession.budget: there is no option nonsense; the options are tokens, usd, minutes, turns",
    );
    await expect(holdfast.begin({ command: ["true"] }, wrong)).rejects.toThrow("begin.session: ");
    await expect(own.raiseBudget(wrong)).rejects.toThrow("raiseBudget: there is no option nonsense");
    await expect(session.raiseBudget(wrong)).rejects.toThrow("raiseBudget: there is no option nonsense");
    for (const limits of [
      { maxSessions: 0 },
      { maxMemoryBytes: -1 },
      { maxSessions: 1.5 },
      { maxSessions: "2" },
    ])
      await expect(holdfast.setLimits(limits as object), JSON.stringify(limits)).rejects.toMatchObject({
        code: "invalid_data",
        message: expect.stringMatching(/^setLimits: max/),
      });
    expect(await holdfast.limits()).toEqual({ maxSessions: null, maxMemoryBytes: null });
  });

  it("openHoldfast refuses one as well", async () => {
    const { openHoldfast } = await import("../support/library.ts");
    await expect(openHoldfast({ home: join(home.dir), clock: {} } as object)).rejects.toThrow(
      "openHoldfast: there is no option clock; the options are home, user, create, onProgress",
    );
  });
});
