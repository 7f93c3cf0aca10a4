/**
 * Benches of a session that continues, on a generated repo with a long history: 50,000 files, 30,000 commits,
 * 5,000 branches, no commit-graph. A continued session is compared with a new one, and a hand-off with `git
 * worktree add`.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type LocalHome, openLocalHome } from "../src/library/local-home.ts";
import { trySandbox } from "../src/process/index.ts";
import type { Session } from "../src/session/session.ts";
import { atMost, compared, median, type Row, timeMs } from "./measure.ts";

const run = promisify(execFile);
const ROUNDS = 5;
const FILES = 50_000;
const COMMITS = 30_000;
const BRANCHES = 5_000;
const ms = (value: number) => `${Math.round(value)} ms`;

export async function benchSessions(directory: string, progress: (text: string) => void): Promise<Row[]> {
  progress("making a repo of 50,000 files, 30,000 commits and 5,000 branches");
  const main = join(directory, "long");
  await makeRepo(main);
  const holdfast = await openLocalHome({ home: join(directory, "sessions-home") });
  const bench = new SessionBench(holdfast, main, (await trySandbox()) === undefined);
  progress("new sessions, next tasks, forks, restores");
  const { first, next, fork, restore } = await bench.tasks();
  progress("hand-offs and git worktree add");
  const handOff = await bench.handOffs(join(directory, "handed"));
  progress("turns beside 30,000 ignored files");
  const ignored = await bench.ignoredFiles();
  return [
    atMost("the next task, against a new session's first", `${ms(next)} : ${ms(first)}`, next / first, 1.5),
    atMost("a fork and its first task, against the same", `${ms(fork)} : ${ms(first)}`, fork / first, 2),
    atMost("restore, against the same", `${ms(restore)} : ${ms(first)}`, restore / first, 5),
    atMost(
      "hand-off, against git worktree add",
      `${ms(handOff.own)} : ${ms(handOff.git)}`,
      handOff.own / handOff.git,
      1.2,
    ),
    compared(
      "a task beside 30,000 ignored files of 240 MB, against the one that made them",
      `${ms(ignored.later)} : ${ms(ignored.first)}`,
      ignored.later / ignored.first,
    ),
  ];
}

class SessionBench {
  readonly #holdfast: LocalHome;
  readonly #main: string;
  readonly #options: { readonly sandbox: boolean };

  constructor(holdfast: LocalHome, main: string, sandbox: boolean) {
    this.#holdfast = holdfast;
    this.#main = main;
    this.#options = { sandbox };
  }

  /** In turns, so that other load on the machine affects all of them. */
  async tasks() {
    const times = {
      first: [] as number[],
      next: [] as number[],
      fork: [] as number[],
      restore: [] as number[],
    };
    const hf = this.#holdfast;
    const seed = await this.#begin();
    for (let round = 0; round < ROUNDS; round += 1) {
      times.first.push(await timeMs(() => this.#begin()));
      times.next.push(await timeMs(() => this.#goOn(seed)));
      times.fork.push(await timeMs(async () => this.#task(await hf.forkSession(seed))));
      await hf.tearDownSession(seed);
      times.restore.push(await timeMs(() => hf.restoreSession(seed)));
    }
    return {
      first: median(times.first),
      next: median(times.next),
      fork: median(times.fork),
      restore: median(times.restore),
    };
  }

  async #begin(): Promise<string> {
    const session = await this.#holdfast.openSession({ repo: this.#main, title: "bench" });
    await this.#task(session);
    return session.id;
  }

  async #goOn(id: string): Promise<void> {
    await this.#task(await this.#holdfast.resumeSession(id, { files: false }));
  }

  /** Each task publishes something, so that the next one stands on a commit of ours. */
  async #task(session: Session, script = "echo $$ >> changed"): Promise<void> {
    const task = await this.#holdfast.startTask(session, this.#options);
    await task.runTurn(["sh", "-c", script]);
    await task.end("done");
    await session.pause();
  }

  async handOffs(directory: string) {
    const times = { own: [] as number[], git: [] as number[] };
    const id = await this.#begin();
    const handOff = () => this.#holdfast.handOffSession(id, { to: "ani", directory });
    const add = () => run("git", ["worktree", "add", "-q", "--detach", directory], { cwd: this.#main });
    for (let round = 0; round < 3; round += 1) {
      times.own.push(await timeMs(handOff));
      await this.#holdfast.takeBackSession(id, { unchanged: true });
      await rm(directory, { recursive: true, force: true });
      times.git.push(await timeMs(add));
      await run("git", ["worktree", "remove", "--force", directory], { cwd: this.#main });
    }
    return { own: median(times.own), git: median(times.git) };
  }

  async ignoredFiles() {
    const session = await this.#holdfast.openSession({ repo: this.#main, title: "bench" });
    const script =
      "mkdir -p node_modules && cd node_modules && head -c 8000 /dev/urandom > f && i=0 && while [ $i -lt 300 ]; do mkdir d$i; j=0; while [ $j -lt 100 ]; do echo $i.$j > d$i/$j; cat f >> d$i/$j; j=$((j+1)); done; i=$((i+1)); done";
    const made = await this.#holdfast.startTask(session, this.#options);
    await made.runTurn(["sh", "-c", script]);
    const first = await timeMs(() => made.checkpoint());
    await made.end("done");
    await session.pause();
    const later: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const again = await this.#holdfast.resumeSession(session.id, { files: false });
      const task = await this.#holdfast.startTask(again, this.#options);
      await task.runTurn(["sh", "-c", "echo $$ >> changed"]);
      later.push(await timeMs(() => task.checkpoint()));
      await task.end("done");
      await again.pause();
    }
    return { first, later: median(later) };
  }
}

/** With `git fast-import`: nothing else makes thirty thousand commits quickly. */
async function makeRepo(dir: string): Promise<void> {
  mkdirSync(dir);
  const git = (...args: string[]) => run("git", args, { cwd: dir, maxBuffer: 1 << 26 });
  await git("init", "-q", "-b", "main");
  const child = spawn("git", ["fast-import", "--quiet"], { cwd: dir, stdio: ["pipe", "ignore", "inherit"] });
  const write = async (text: string) => {
    if (!child.stdin.write(text)) await once(child.stdin, "drain");
  };
  const filler = "some source text that compresses\n".repeat(30);
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const commit = (number: number) =>
    `commit refs/heads/main\ncommitter A <a@b> ${1_600_000_000 + number * 60} +0000\n${data(`commit ${number}`)}`;
  const pathOf = (file: number) => `src/d${Math.floor(file / 100)}/f${file}.ts`;
  await write(`${commit(0)}M 100644 inline .gitignore\n${data("node_modules\n")}`);
  for (let file = 0; file < FILES; file += 1)
    await write(`M 100644 inline ${pathOf(file)}\n${data(`// ${file}\n${filler}`)}`);
  for (let number = 1; number <= COMMITS; number += 1) {
    await write(
      `${commit(number)}M 100644 inline ${pathOf((number * 7) % FILES)}\n${data(`// ${number}\n`)}\n`,
    );
    if (number % (COMMITS / BRANCHES) === 0)
      await write(`reset refs/heads/topic/${number}\nfrom refs/heads/main\n\n`);
  }
  child.stdin.end();
  await once(child, "close");
  await git("config", "user.name", "A");
  await git("config", "user.email", "a@b");
  await git("reset", "-q", "--hard");
}
