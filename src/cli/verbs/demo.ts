/**
 * The tour: what holdfast does today, on this machine, with real processes. No key, no server, nothing kept.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Command, Option } from "commander";
import { exitStatus } from "../../contract/index.ts";
import { type Holdfast, openHoldfast } from "../../home/index.ts";
import { type Child, startSelf } from "../../process/index.ts";
import { formatRecord } from "../record-line.ts";
import { paint, say, sayJson } from "../screen.ts";
import { bareVerb } from "../verb.ts";

interface Options {
  readonly json?: boolean;
  readonly keep?: boolean;
  readonly worker?: string;
  readonly at?: string;
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
    "A tour: three parallel sessions, one of them killed, resumed, forked, moved and checked.",
    ["holdfast demo", "holdfast demo --keep"],
  )
    .option("--keep", "leave the tour's directory there, to look around")
    .addOption(new Option("--worker <title>").hideHelp())
    .addOption(new Option("--at <home>").hideHelp())
    .action(async ({ worker, at, keep, json }: Options) => {
      if (worker !== undefined && at !== undefined) return work(at, worker);
      const guide = new Guide(json ?? false);
      const directory = mkdtempSync(join(tmpdir(), "holdfast-demo-"));
      // However it ends: a signal, or a reader that has seen enough.
      if (!keep) process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
      for (const signal of ["SIGINT", "SIGTERM"] as const)
        process.once(signal, () => process.exit(exitStatus.interrupted));
      await tour(guide, join(directory, "home"), join(directory, "other"));
      if (keep) guide.tell(`\nkept: HOLDFAST_HOME=${join(directory, "home")} holdfast ls`);
    });
}

async function tour(guide: Guide, homeDir: string, otherDir: string): Promise<void> {
  const home = await openHoldfast({ home: homeDir });

  guide.step("Three sessions run at once, each in a process of its own");
  const children = WORKERS.map((title) => startSelf(["demo", "--at", homeDir, "--worker", title]));
  process.once("exit", () => {
    for (const child of children) child.kill("SIGKILL");
  });
  const ids = await Promise.all(children.map(firstLine));
  for (const [index, id] of ids.entries())
    guide.tell(`  ${id}  process ${children[index]?.pid}  ${WORKERS[index]}`);

  const victim = ids[VICTIM] ?? "";
  guide.step("One is killed in the middle of a tool call (SIGKILL)");
  await untilLastCall(home, victim);
  children[VICTIM]?.kill("SIGKILL");
  await Promise.all(children.map((child) => child.ended()));
  await list(guide, home);

  guide.step(
    "It is resumed: what it had been told is there, and the open call says that its outcome is unknown",
  );
  const resumed = await home.resumeSession(victim);
  await show(guide, home, victim, 5);
  await using turn = await resumed.beginTurn("go on");
  await turn.addMessage("assistant", `The token in the log was ${fakeToken()}`);
  await turn.end({ inputTokens: 120, outputTokens: 30 });
  await resumed.pause();
  guide.step("A secret never reaches the journal");
  await show(guide, home, victim, 3);

  guide.step("A fork at turn 1 has the history up to there, and nothing that came later");
  const fork = await home.forkSession(victim, { atTurn: 1, title: "the other way" });
  await fork.release();
  guide.tell(`  ${fork.id}  ${fork.state.turns} turn of ${(await home.showSession(victim)).turns}`);

  guide.step("Another user's session is not there");
  const denied = await home
    .showSession(victim, { user: "someone-else" })
    .catch((error: Error) => error.message);
  guide.tell(`  ${String(denied)}`);

  guide.step("The session moves to another home, checked on arrival, and goes on there");
  const file = `${otherDir}.holdfast`;
  const { head, files } = await home.exportSession(victim, file);
  const other = await openHoldfast({ home: otherDir });
  await other.importSession(file);
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
  guide.tell("\nThat was all real: journals, processes, a kill. holdfast --help lists the verbs.");
}

/** What a harness does: turns, messages and tool calls, each on disk before the next. */
async function work(homeDir: string, title: string): Promise<void> {
  const home = await openHoldfast({ home: homeDir });
  await using session = await home.openSession({ title, budget: { turns: 20 } });
  say(session.id);
  for (let number = 1; number <= TURNS; number += 1) {
    await using turn = await session.beginTurn(`${title}, step ${number}`);
    const call = await turn.callTool("run_command", { command: "npm test" });
    const isVictimsEnd = title === WORKERS[VICTIM] && number === TURNS;
    await sleep(isVictimsEnd ? 60_000 : 20);
    await call.returned("3 passed");
    await turn.addMessage("assistant", `Step ${number} is done.`);
    await turn.end({ inputTokens: 900, outputTokens: 80, usd: 0.004 });
  }
}

async function firstLine(child: Child): Promise<string> {
  for await (const line of child.lines) return line;
  throw new Error("a worker of the tour ended before it said anything");
}

async function untilLastCall(home: Holdfast, id: string): Promise<void> {
  const stop = AbortSignal.timeout(30_000);
  for await (const { type, data } of home.followJournal(id, { signal: stop })) {
    if (type === "tool_called" && data["turn"] === TURNS) return;
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
