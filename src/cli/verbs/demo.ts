/**
 * The tour: what holdfast does today, on this machine, with real processes. No key, no server, nothing kept.
 */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { exitStatus } from "../../contract/index.ts";
import { type Holdfast, openHoldfast } from "../../home/index.ts";
import { type Child, findProgram, removeTreeNow, runProgram, startSelf } from "../../process/index.ts";
import { printable } from "../../util/index.ts";
import { formatRecord } from "../record-line.ts";
import { paint, say, sayJson } from "../screen.ts";
import { bareVerb } from "../verb.ts";

interface Options {
  readonly json?: boolean;
  readonly keep?: boolean;
  readonly worker?: string;
  readonly at?: string;
  readonly repo?: string;
}

const WORKERS = ["fix the login timeout", "write the migration", "speed the search up"];
const TURNS = 3;
/** Has the form of a GitHub token, and is none; put together here, so that no scanner takes a file for a leak. */
const fakeToken = () => ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_");
/** The one that is killed never ends its last turn by itself. */
const VICTIM = 0;

export function command(): Command {
  return bareVerb(
    "demo",
    "A tour: three parallel sessions on one repo, one of them killed, resumed, forked, torn down, moved and checked.",
    ["holdfast demo", "holdfast demo --keep"],
  )
    .option("--keep", "leave the tour's directory there, to look around")
    .addOption(new Option("--worker <title>").hideHelp())
    .addOption(new Option("--at <home>").hideHelp())
    .addOption(new Option("--repo <dir>").hideHelp())
    .action(async ({ worker, at, repo, keep, json }: Options) => {
      if (worker !== undefined && at !== undefined && repo !== undefined) return work(at, repo, worker);
      const guide = new Guide(json ?? false);
      const directory = mkdtempSync(join(tmpdir(), "holdfast-demo-"));
      // However it ends: a signal, or a reader that has seen enough.
      if (!keep) process.once("exit", () => removeTreeNow(directory));
      for (const signal of ["SIGINT", "SIGTERM"] as const)
        process.once(signal, () => process.exit(exitStatus.interrupted));
      await tour(guide, directory);
      if (keep) guide.tell(`\nkept: HOLDFAST_HOME=${join(directory, "home")} holdfast ls`);
    });
}

async function tour(guide: Guide, directory: string): Promise<void> {
  const homeDir = join(directory, "home");
  const repo = join(directory, "app");
  const home = await openHoldfast({ home: homeDir });
  await makeDemoRepo(repo);
  const hasWall = findProgram("bwrap") !== undefined;
  if (!hasWall)
    guide.tell("bubblewrap is not installed: the tour goes on without a sandbox (apt install bubblewrap)");

  guide.step("Three sessions work at once on one repo, each in a process and a capsule of its own");
  const children = WORKERS.map((title) =>
    startSelf(["demo", "--at", homeDir, "--repo", repo, "--worker", title]),
  );
  process.once("exit", () => {
    for (const child of children) child.kill("SIGKILL");
  });
  const ids = await Promise.all(children.map(firstLine));
  for (const [index, id] of ids.entries())
    guide.tell(`  ${id}  process ${children[index]?.pid}  ${WORKERS[index]}`);

  const victim = ids[VICTIM] ?? "";
  guide.step("One is killed in the middle of a command (SIGKILL)");
  await untilLastCall(home, victim);
  children[VICTIM]?.kill("SIGKILL");
  await Promise.all(children.map((child) => child.ended()));
  await list(guide, home);

  guide.step(
    "It is resumed: history and files are of the same moment, and the open call says that its outcome is unknown",
  );
  const resumed = await home.resumeSession(victim);
  await show(guide, home, victim, 4);
  const task = await home.currentTask(resumed, { sandbox: hasWall });
  await task.runTurn(["cat", "notes.txt"], { onOutput: (chunk) => guide.tell(indented(chunk)) });

  guide.step("A secret never reaches the journal");
  await task.runTurn(["sh", "-c", `echo 'the token in the log was ${fakeToken()}'`]);
  await show(guide, home, victim, 4);
  await task.end("done");
  await resumed.pause();

  guide.step("The work is in branches; the checkout is as it was");
  for (const line of await gitLines(repo, "log", "--oneline", "--branches", "--not", "main"))
    guide.tell(`  ${line}`);
  const changes = await gitLines(repo, "status", "--porcelain");
  guide.tell(`  git status: ${changes.length === 0 ? "clean" : changes.join(", ")}`);

  guide.step("A fork at turn 1 has the history and the files of that turn");
  const fork = await home.forkSession(victim, { atTurn: 1, title: "the other way" });
  const forked = await home.currentTask(fork, { sandbox: hasWall });
  await forked.runTurn(["cat", "notes.txt"], { onOutput: (chunk) => guide.tell(indented(chunk)) });
  await forked.rest();
  await fork.pause();

  guide.step("A capsule is torn down, and brought back");
  const receipt = await home.tearDownSession(victim);
  guide.tell(`  snapshot ${receipt.snapshot?.slice(0, 12)}, ${receipt.freedBytes} bytes freed`);
  guide.tell(`  restored: ${(await home.restoreSession(victim)).strategy}`);

  guide.step("Another user's session is not there");
  const denied = await home
    .showSession(victim, { user: "someone-else" })
    .catch((error: Error) => error.message);
  guide.tell(`  ${String(denied)}`);

  guide.step("The session moves to another home, checked on arrival, and goes on there with its files");
  const file = join(directory, "moved.holdfast");
  const { head, files } = await home.exportSession(victim, file);
  const other = await openHoldfast({ home: join(directory, "other") });
  await other.importSession(file, { repo });
  const moved = await other.resumeSession(victim);
  guide.tell(
    `  ${head.seq} records in ${files.length} files, head ${head.hash.slice(0, 12)}…, now at turn ${moved.state.turns} over there`,
  );
  await moved.pause();

  guide.step("Every byte is checked");
  for (const one of await home.listSessions()) {
    const { records, findings } = await home.auditSession(one.id);
    guide.tell(
      `  ${one.id}  ${records} records, ${findings.length === 0 ? paint("green", "whole") : paint("red", "damaged")}`,
    );
  }
  guide.tell("\nThat was all real: git, processes, mounts, a kill. holdfast --help lists the verbs.");
}

/** What a harness does: turns in a capsule, a checkpoint after each. */
async function work(homeDir: string, repo: string, title: string): Promise<void> {
  const home = await openHoldfast({ home: homeDir });
  await using session = await home.openSession({ title, repo, budget: { turns: 20 } });
  say(session.id);
  const task = await home.startTask(session, { sandbox: findProgram("bwrap") !== undefined });
  for (let number = 1; number <= TURNS; number += 1) {
    const isVictimsEnd = title === WORKERS[VICTIM] && number === TURNS;
    const script = `echo "${title}, step ${number}" >> notes.txt${isVictimsEnd ? "; sleep 60" : ""}`;
    await task.runTurn(["sh", "-c", script]);
    await task.checkpoint();
  }
  await task.end("done");
}

const indented = (chunk: Buffer) =>
  printable(chunk.toString("utf8").trimEnd().replaceAll("\n", " · ")).replace(/^/, "  ");

async function makeDemoRepo(dir: string): Promise<void> {
  mkdirSync(dir);
  writeFileSync(join(dir, "notes.txt"), "the notes of everybody\n");
  await gitLines(dir, "init", "-q", "-b", "main");
  await gitLines(dir, "add", "-A");
  await gitLines(dir, "-c", "user.name=Demo", "-c", "user.email=demo@localhost", "commit", "-qm", "begin");
}

async function gitLines(cwd: string, ...args: string[]): Promise<string[]> {
  const { stdout, stderr, exitCode } = await runProgram(["git", ...args], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", HOME: cwd },
  });
  if (exitCode !== 0) throw new Error(`git ${args[0]}: ${stderr}`);
  return stdout.toString("utf8").split("\n").filter(Boolean);
}

async function firstLine(child: Child): Promise<string> {
  for await (const line of child.lines) return line;
  throw new Error("a worker of the tour ended before it said anything");
}

async function untilLastCall(home: Holdfast, id: string): Promise<void> {
  const stop = AbortSignal.timeout(60_000);
  let isLast = false;
  for await (const { type, data } of home.followJournal(id, { signal: stop })) {
    if (type === "tool_called" && data["turn"] === TURNS) isLast = true;
    if (isLast && type === "process_started") return;
  }
  throw new Error("a worker of the tour did not get to its last turn");
}

async function list(guide: Guide, home: Holdfast): Promise<void> {
  for (const { id, status, turns, title } of await home.listSessions())
    guide.tell(`  ${id}  ${status.padEnd(11)}  ${turns} turns  ${title}`);
}

async function show(guide: Guide, home: Holdfast, id: string, last: number): Promise<void> {
  const records = [];
  for await (const record of home.readJournal(id)) records.push(record);
  for (const record of records.slice(-last)) guide.tell(`  ${formatRecord(record, 120)}`);
}

/** Says what the tour is at: to a person, or as one line of JSON each. */
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
