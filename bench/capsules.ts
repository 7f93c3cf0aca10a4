/**
 * Benches of capsules, against `git worktree add` / `remove` and a copy of node_modules, on a generated repo
 * of 50,000 files and 1 GB with 30,000 ignored files.
 */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { StrategyName } from "../src/capsule/dir/capsule-dir.ts";
import {
  type Capsule,
  type CapsuleIo,
  createCapsule,
  openRepo,
  removeTree,
  resolveCommit,
  restoreCapsule,
  type Snapshot,
  sandboxAround,
  setupRunner,
} from "../src/capsule/index.ts";
import { findProgram } from "../src/process/index.ts";
import { realDisk, systemClock } from "../src/util/index.ts";
import { atLeast, atMost, compared, median, type Row, timeMs } from "./measure.ts";

const run = promisify(execFile);
const MEGABYTE = 1024 * 1024;
const limits = { maxSnapshotBytes: 4096 * MEGABYTE, maxIgnoredBytes: 512 * MEGABYTE };
const ms = (value: number) => (value < 10 ? `${value.toFixed(1)} ms` : `${Math.round(value)} ms`);

interface Repo {
  readonly dir: string;
  readonly files: number;
}

export async function benchCapsules(directory: string, progress: (text: string) => void): Promise<Row[]> {
  const home = join(directory, "capsules");
  for (const dir of ["", "leases", "trash", "sessions"]) mkdirSync(join(home, dir), { mode: 0o700 });
  progress("making a repo of 50,000 files and 1 GB");
  const big = await makeRepo(join(directory, "big"), 50_000, 20 * 1024, 30_000);
  const small = await makeRepo(join(directory, "small"), 1_000, 4 * 1024, 0);
  const bench = new CapsuleBench(home);

  progress("git worktree add and remove, with node_modules copied");
  const plain = await plainGit(big, join(directory, "worktrees"), 3);
  progress("capsules: worktree");
  const own = await bench.lives(big, "worktree", 3);
  progress("capsules: overlay");
  await bench.once(small, "overlay");
  await bench.once(big, "overlay");
  const overlay = await bench.lives(big, "overlay", 15);
  const flat = await bench.lives(small, "overlay", 15);
  progress("snapshots and forks");
  const { status, snapshot, fork, createAgain } = await bench.snapshots(big, 9);

  const alternative = plain.add + plain.copy;
  return [
    atLeast(
      "overlay: create, against git worktree add + cp node_modules",
      `${ms(overlay.create)} : ${ms(alternative)}`,
      alternative / overlay.create,
      100,
    ),
    atMost(
      "overlay: disk space of a capsule",
      `${(overlay.bytes / MEGABYTE).toFixed(1)} MB of 1.2 GB`,
      overlay.bytes / MEGABYTE,
      10,
      "MB",
    ),
    atLeast(
      "overlay: teardown without its snapshot, against git worktree remove",
      `${ms(overlay.remove)} : ${ms(plain.remove)}`,
      plain.remove / overlay.remove,
      20,
    ),
    atMost(
      "overlay: create, 50,000 files against 1,000",
      `${ms(overlay.create)} : ${ms(flat.create)}`,
      overlay.create / flat.create,
      2,
    ),
    atMost(
      "snapshot of a small change, against git status there",
      `${ms(snapshot)} : ${ms(status)}`,
      snapshot / status,
      2,
    ),
    atMost(
      "fork on a sealed layer, against a create",
      `${ms(fork)} : ${ms(createAgain)}`,
      fork / createAgain,
      5,
    ),
    atMost(
      "worktree: create, against git worktree add",
      `${ms(own.create)} : ${ms(plain.add)}`,
      own.create / plain.add,
      1.1,
    ),
    compared(
      "worktree: the same, against git worktree add with checkout.workers=0",
      `${ms(own.create)} : ${ms(plain.addInParallel)}`,
      own.create / plain.addInParallel,
    ),
    atLeast(
      "worktree: teardown without its snapshot, against git worktree remove",
      `${ms(own.remove)} : ${ms(plain.remove)}`,
      plain.remove / own.remove,
      20,
    ),
  ];
}

export async function makeRepo(dir: string, files: number, bytes: number, ignored: number): Promise<Repo> {
  const filler = Buffer.alloc(bytes, "some source text that compresses\n").toString();
  const write = (path: string, text: string) => writeFileSync(join(dir, path), text);
  mkdirSync(dir);
  for (let index = 0; index < files; index += 1) {
    if (index % 100 === 0) mkdirSync(join(dir, `src/d${index / 100}`), { recursive: true });
    write(`src/d${Math.floor(index / 100)}/f${index}.ts`, `// ${index}\n${filler}`);
  }
  for (let index = 0; index < ignored; index += 1) {
    if (index % 50 === 0) mkdirSync(join(dir, `node_modules/p${index / 50}`), { recursive: true });
    write(`node_modules/p${Math.floor(index / 50)}/m${index}.js`, filler.slice(0, 8 * 1024));
  }
  write(".gitignore", "node_modules\n");
  const git = (...args: string[]) =>
    run("git", ["-c", "core.compression=1", ...args], { cwd: dir, maxBuffer: 1 << 26 });
  await git("init", "-q", "-b", "main");
  await git("config", "user.name", "Bench");
  await git("config", "user.email", "bench@example.org");
  await git("config", "gc.auto", "0");
  await git("add", "-A");
  await git("commit", "-qm", "all of it");
  return { dir, files };
}

async function plainGit({ dir }: Repo, worktrees: string, rounds: number) {
  const add: number[] = [];
  const addInParallel: number[] = [];
  const copy: number[] = [];
  const remove: number[] = [];
  const git = (...args: string[]) => run("git", args, { cwd: dir, maxBuffer: 1 << 26 });
  for (let round = 0; round < rounds; round += 1) {
    const path = join(worktrees, `w${round}`);
    add.push(await timeMs(() => git("worktree", "add", "-q", "--detach", path)));
    copy.push(await timeMs(() => run("cp", ["-a", join(dir, "node_modules"), path])));
    remove.push(await timeMs(() => git("worktree", "remove", "--force", path)));
    addInParallel.push(
      await timeMs(() => git("-c", "checkout.workers=0", "worktree", "add", "-q", "--detach", path)),
    );
    await git("worktree", "remove", "--force", path);
  }
  return {
    add: median(add),
    copy: median(copy),
    remove: median(remove),
    addInParallel: median(addInParallel),
  };
}

class CapsuleBench {
  readonly #home: string;
  readonly #io: CapsuleIo;
  #count = 0;

  constructor(home: string) {
    this.#home = home;
    this.#io = { homeDir: home, disk: realDisk, clock: systemClock };
  }

  async create({ dir }: Repo, strategy: StrategyName, snapshot?: string): Promise<Capsule> {
    const session = `sess_${++this.#count}`;
    const repo = await openRepo({ dir: this.#home, id: "home_bench" }, dir);
    const request = {
      dir: join(this.#home, "sessions", session, "tasks", "1", "capsule"),
      session,
      branch: `holdfast/${session}`,
      task: 1,
      repo,
      // The bases of the cache contain what a set-up installs. Here the set-up copies it, which takes the
      // place of installing.
      settings: {
        strategy,
        setupHosts: [],
        setup: strategy === "overlay" ? `cp -a ${dir}/node_modules . 2>/dev/null || true` : "",
        include: [],
        ports: [],
        limits,
      },
      sandbox: findProgram("bwrap") === undefined ? undefined : sandboxAround(this.#home, repo, session),
      runSetup: setupRunner({ sandbox: undefined, onOutput: () => {} }),
    };
    if (snapshot) return (await restoreCapsule(this.#io, request, snapshot)).capsule;
    return (await createCapsule(this.#io, { ...request, base: await resolveCommit(repo) })).capsule;
  }

  async remove(capsule: Capsule): Promise<void> {
    await capsule.remove(join(this.#home, "trash"), `${capsule.spec.session}`);
  }

  async #emptyTrash(): Promise<void> {
    await removeTree(join(this.#home, "trash"));
    mkdirSync(join(this.#home, "trash"));
  }

  /** Builds the base that later capsules find. */
  async once(repo: Repo, strategy: StrategyName): Promise<void> {
    await this.remove(await this.create(repo, strategy));
  }

  async lives(repo: Repo, strategy: StrategyName, rounds: number) {
    const create: number[] = [];
    const remove: number[] = [];
    let bytes = 0;
    for (let round = 0; round < rounds; round += 1) {
      let capsule: Capsule | undefined;
      create.push(
        await timeMs(async () => {
          capsule = await this.create(repo, strategy);
        }),
      );
      if (!capsule) throw new Error("no capsule was made");
      const { stdout } = await run("du", ["-s", "--block-size=1", capsule.layout.dir]);
      bytes = Number.parseInt(stdout, 10);
      const made = capsule;
      remove.push(await timeMs(() => this.remove(made)));
      await this.#emptyTrash();
    }
    return { create: median(create), remove: median(remove), bytes };
  }

  async snapshots(repo: Repo, rounds: number) {
    const capsule = await this.create(repo, "overlay");
    const { root, enter, workTree } = await capsule.attach();
    // As root, the files belong to the task's user, and git does not trust them by itself.
    const asOwn = ["-c", "safe.directory=*"];
    const [program = "", ...args] = [...enter, "git", ...asOwn, "-C", workTree, "status", "--porcelain"];
    const statusOnce = () => run(program, args, { maxBuffer: 1 << 26 });
    await statusOnce();
    const times = {
      status: [] as number[],
      snapshot: [] as number[],
      fork: [] as number[],
      createAgain: [] as number[],
    };
    let taken: Snapshot | undefined;
    for (let round = 0; round < rounds; round += 1) {
      for (let file = 0; file < 3; file += 1)
        writeFileSync(join(root, `src/d${round}/f${round * 100 + file}.ts`), `changed ${round}`);
      times.status.push(await timeMs(statusOnce));
      times.snapshot.push(
        await timeMs(async () => {
          taken = await capsule.snapshot(`${round}`, limits);
        }),
      );
    }
    if (!taken) throw new Error("no round was run");
    await capsule.settle(taken);
    const last = taken.commit;
    for (let round = 0; round < rounds; round += 1) {
      let made: Capsule | undefined;
      times.fork.push(
        await timeMs(async () => {
          made = await this.create(repo, "overlay", last).then(attached);
        }),
      );
      if (made) await this.remove(made);
      times.createAgain.push(
        await timeMs(async () => {
          made = await this.create(repo, "overlay").then(attached);
        }),
      );
      if (made) await this.remove(made);
    }
    await this.remove(capsule);
    await rm(join(this.#home, "trash"), { recursive: true, force: true }).catch(() =>
      removeTree(join(this.#home, "trash")),
    );
    return {
      status: median(times.status),
      snapshot: median(times.snapshot),
      fork: median(times.fork),
      createAgain: median(times.createAgain),
    };
  }
}

async function attached(capsule: Capsule): Promise<Capsule> {
  await capsule.attach();
  return capsule;
}
