/**
 * Owns the tour: it shows what Holdfast does, on this machine, with real processes. It needs no key and no
 * server, and keeps nothing.
 */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { gitLine } from "../../capsule/index.ts";
import { exitStatus, type TaskSpec } from "../../contract/index.ts";
import { Dispatcher } from "../../dispatch/index.ts";
import { type LocalHome, openLocalHome } from "../../library/index.ts";
import { findHomeRuntimeDir } from "../../mail/index.ts";
import { findOutsideProgram, removeTreeNow } from "../../process/index.ts";
import { deadline, printable } from "../../util/index.ts";
import { formatRecord } from "../record-line.ts";
import { paint, say, sayJson } from "../screen.ts";
import { bareVerb } from "../verb.ts";
import { labelOf } from "../which-session.ts";

interface Options {
  readonly json?: boolean;
  readonly keep?: boolean;
}

const TITLES = ["fix the login timeout", "write the migration", "speed the search up"];
/**
 * Looks like a GitHub token but is none. It is put together here, so that no scanner reports this file as a
 * leak.
 */
const fakeToken = () => ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_");
/** A step of the tour that takes longer than this has failed. */
const WAIT_MS = 60_000;

export function command(): Command {
  return bareVerb(
    "demo",
    "Take a tour: three sessions work on one repo at once, and one of them is killed, resumed, forked, torn down, moved and checked. It runs in a temporary directory and needs no key.",
    ["holdfast demo", "holdfast demo --keep"],
  )
    .option("--keep", "keep the tour's directory, so that you can look at it")
    .action(async ({ keep, json }: Options) => {
      const guide = new Guide(json ?? false);
      const directory = mkdtempSync(join(tmpdir(), "holdfast-demo-"));
      const dispatcher = await Dispatcher.open({ home: join(directory, "home") });
      // Cleans up however the tour ends, also by a signal, or when the reader of its output closes the pipe.
      process.once("exit", () => {
        for (const pid of processesOf(dispatcher)) endIfThere(pid);
        if (keep) return;
        const runtime = findHomeRuntimeDir(join(directory, "home"));
        for (const path of [directory, ...(runtime ? [runtime] : [])]) removeTreeNow(path);
      });
      for (const signal of ["SIGINT", "SIGTERM"] as const)
        process.once(signal, () => process.exit(exitStatus.interrupted));
      await tour(guide, dispatcher, directory);
      if (keep) guide.tell(`\nkept; to look around: HOLDFAST_HOME=${join(directory, "home")} holdfast ls`);
    });
}

async function tour(guide: Guide, dispatcher: Dispatcher, directory: string): Promise<void> {
  const home = dispatcher.holdfast;
  const repo = join(directory, "app");
  await makeDemoRepo(repo);
  const hasWall = findOutsideProgram("bwrap") !== undefined;
  if (!hasWall)
    guide.tell(
      "bubblewrap is not installed, so the tour runs without a sandbox (to install it: apt install bubblewrap)",
    );
  const shell = (script: string) => taskOf(script, hasWall);

  guide.step("Three sessions work on one repo at once, each in its own process and capsule");
  const begun = await Promise.all(
    TITLES.map((title) => dispatcher.begin({ title, repo }, shell(`echo "${title}, step 1" >> notes.txt`))),
  );
  const ids = begun.map(({ id }) => id);
  for (const [index, id] of ids.entries())
    guide.tell(`  ${begun[index]?.name ?? id}  process ${dispatcher.processOf(id)?.pid ?? "gone"}`);
  const [victim = "", other = ""] = ids;

  guide.step("Each session has a queue: its next task starts with the files that its last one left");
  for (const [index, id] of ids.entries())
    await dispatcher.submit(id, shell(`echo "${TITLES[index]}, step 2" >> notes.txt`));
  const half = await dispatcher.submit(
    victim,
    shell('echo "step 3, half" >> notes.txt; echo working; sleep 60'),
  );
  for (const id of ids.slice(1))
    await untilShown(dispatcher, id, ({ task }) => task?.number === 2 && task.outcome !== null);
  await untilSaid(dispatcher, victim, half, "working");
  await list(guide, home);

  guide.step("One session is killed in the middle of a command (SIGKILL); the others continue");
  await dispatcher.send(victim, "a message that must not get lost");
  await untilShown(dispatcher, victim, ({ unread }) => unread === 1);
  for (const pid of processesOf(dispatcher, [victim])) endIfThere(pid);
  await dispatcher.submit(other, shell('echo "undisturbed" >> notes.txt'));
  await untilShown(dispatcher, other, ({ task }) => task?.number === 3 && task.outcome !== null);
  await list(guide, home);

  guide.step(
    "It is resumed: history, files and messages are from the same moment, and the call that was cut off has an unknown outcome",
  );
  await dispatcher.resume(victim);
  await untilShown(dispatcher, victim, ({ task }) => task?.outcome === "interrupted");
  await show(guide, home, victim, 6);
  await follow(guide, dispatcher, victim, shell("cat notes.txt"));

  guide.step("A secret never reaches the journal");
  await follow(
    guide,
    dispatcher,
    victim,
    shell(`echo 'the token in the log was ${fakeToken()}' > /dev/null; echo '${fakeToken()}'`),
    false,
  );
  await show(guide, home, victim, 5);
  for (const id of ids) await untilPaused(dispatcher, id);

  guide.step("The work is on branches, and the checkout is unchanged");
  for (const line of await gitLines(repo, "log", "--oneline", "--branches", "--not", "main"))
    guide.tell(`  ${line}`);
  const changes = await gitLines(repo, "status", "--porcelain");
  guide.tell(`  git status: ${changes.length === 0 ? "clean" : changes.join(", ")}`);

  guide.step("A fork at turn 1 has the history and the files of that turn");
  const fork = await home.forkSession(victim, { atTurn: 1, title: "the other way" });
  await fork.release();
  await follow(guide, dispatcher, fork.id, shell("cat notes.txt"));
  await untilPaused(dispatcher, fork.id);

  guide.step("A capsule is torn down and restored");
  const receipt = await home.tearDownSession(victim);
  guide.tell(`  snapshot ${receipt.snapshot?.slice(0, 12)}, ${receipt.freedBytes} bytes freed`);
  guide.tell(`  restored: ${(await home.restoreSession(victim)).strategy}`);

  guide.step("Another user can't find the session");
  const denied = await home
    .showSession(victim, { user: "someone-else" })
    .catch((error: Error) => error.message);
  guide.tell(`  ${String(denied)}`);

  guide.step("The session moves to another home, is checked on arrival, and continues there with its files");
  const file = join(directory, "moved.holdfast");
  const { head, files } = await home.exportSession(victim, file);
  const elsewhere = await openLocalHome({ home: join(directory, "other") });
  await elsewhere.importSession(file, { repo });
  const moved = await elsewhere.resumeSession(victim);
  guide.tell(
    `  ${head.seq} records in ${files.length} files, head ${head.hash.slice(0, 12)}…; the session is at turn ${moved.state.turns} over there`,
  );
  await moved.pause();

  guide.step("Every byte of every session is checked");
  for (const one of await home.listSessions()) {
    const { records, findings } = await home.auditSession(one.id);
    guide.tell(
      `  ${labelOf(one)}  ${records} records, ${findings.length === 0 ? paint("green", "whole") : paint("red", "damaged")}`,
    );
  }
  guide.tell(
    "\nAll of this was real: git, processes, mounts, a kill. Next: holdfast --help lists the verbs.",
  );
}

function taskOf(script: string, sandbox: boolean): TaskSpec {
  return {
    agent: { adapter: "exec", command: ["sh", "-c", script], input: "nothing", restart: false },
    definition: "exec:sh",
    sandbox,
  };
}

/** Gives a session a task, and prints its output. */
async function follow(
  guide: Guide,
  dispatcher: Dispatcher,
  id: string,
  spec: TaskSpec,
  isTold = true,
): Promise<void> {
  const { records } = await dispatcher.show(id);
  const { request, outputFd } = await dispatcher.submit(id, spec);
  const signal = AbortSignal.timeout(WAIT_MS);
  for await (const happening of dispatcher.follow(id, { request, outputFd, fromSeq: records + 1, signal })) {
    if (happening.kind === "output" && isTold) guide.tell(indented(happening.chunk));
    if (happening.kind === "record" && happening.record.type === "task_ended") return;
  }
  throw new Error(`a task of the tour did not end: ${id}`);
}

/** Once a task has written a word, everything before that word in its script has happened. */
async function untilSaid(
  dispatcher: Dispatcher,
  id: string,
  { request, outputFd }: Awaited<ReturnType<Dispatcher["submit"]>>,
  word: string,
): Promise<void> {
  const signal = AbortSignal.timeout(WAIT_MS);
  let said = "";
  for await (const happening of dispatcher.follow(id, { request, outputFd, fromSeq: 1, signal })) {
    if (happening.kind === "output") said += happening.chunk.toString("utf8");
    if (said.includes(word)) return;
  }
  throw new Error(`the tour timed out while it waited for ${id} to print ${word}`);
}

type Shown = Awaited<ReturnType<Dispatcher["show"]>>;

async function untilShown(
  dispatcher: Dispatcher,
  id: string,
  isIt: (shown: Shown) => boolean,
): Promise<void> {
  const ears = await dispatcher.listen(id);
  try {
    const patience = deadline(dispatcher.home.io.clock, WAIT_MS);
    for (; !isIt(await dispatcher.show(id)); await ears.next())
      if (patience.isPast) throw new Error(`the tour timed out while it waited for ${id}`);
  } finally {
    ears.close();
  }
}

const untilPaused = (dispatcher: Dispatcher, id: string) =>
  untilShown(dispatcher, id, ({ status }) => status === "paused");

function processesOf(dispatcher: Dispatcher, ids = dispatcher.sessionIds()): number[] {
  return ids.flatMap((id) => dispatcher.processOf(id)?.pid ?? []);
}

function endIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

const indented = (chunk: Buffer) =>
  printable(chunk.toString("utf8").trimEnd().replaceAll("\n", " · ")).replace(/^/, "  ");

async function makeDemoRepo(dir: string): Promise<void> {
  mkdirSync(dir);
  writeFileSync(join(dir, "notes.txt"), "shared notes\n");
  await gitLines(dir, "init", "-q", "-b", "main");
  await gitLines(dir, "add", "-A");
  await gitLines(dir, "commit", "-qm", "begin");
}

async function gitLines(checkout: string, ...args: string[]): Promise<string[]> {
  const place = { gitDir: join(checkout, ".git"), workTree: checkout };
  const identity = { name: "Demo", email: "demo@localhost" };
  return (await gitLine(place, args, { identity })).split("\n").filter(Boolean);
}

async function list(guide: Guide, home: LocalHome): Promise<void> {
  for (const session of await home.listSessions())
    guide.tell(`  ${labelOf(session).padEnd(22)}  ${session.status.padEnd(11)}  ${session.turns} turns`);
}

/** The records that show what became of a call and its task. */
const TOLD: readonly string[] = [
  "session_resumed",
  "tool_called",
  "tool_returned",
  "turn_ended",
  "snapshot_taken",
  "task_ended",
];

async function show(guide: Guide, home: LocalHome, id: string, last: number): Promise<void> {
  const records = [];
  for await (const record of home.readJournal(id)) if (TOLD.includes(record.type)) records.push(record);
  for (const record of records.slice(-last)) guide.tell(`  ${formatRecord(record, 120)}`);
}

/** Reports what the tour is doing: as text for a person, or as one line of JSON each. */
class Guide {
  readonly #isJson: boolean;
  #steps = 0;

  constructor(isJson: boolean) {
    this.#isJson = isJson;
  }

  step(text: string): void {
    this.#steps += 1;
    this.tell(this.#isJson ? text : `\n${paint("bold", `${this.#steps}. ${text}`)}`);
  }

  tell(text: string): void {
    if (this.#isJson) sayJson({ step: this.#steps, text: text.trim() });
    else say(text);
  }
}
