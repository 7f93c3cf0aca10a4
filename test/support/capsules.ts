/**
 * Capsules for tests: a home, a real repo, and a way to run things inside.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StrategyName } from "../../src/capsule/dir/capsule-dir.ts";
import {
  Capsule,
  type CapsuleIo,
  type CapsuleSettings,
  commitText,
  createCapsule,
  createExactCapsule,
  openRepo,
  openStore,
  type Repo,
  type RunSetup,
  resolveCommit,
  restoreCapsule,
  sandboxAround,
  setupRunner,
} from "../../src/capsule/index.ts";
import { findProgram, type Launch, launch } from "../../src/process/index.ts";
import { realDisk, systemClock } from "../../src/util/index.ts";
import { TempDir } from "./home.ts";
import { makeRepo } from "./repo.ts";

export const plainSettings: CapsuleSettings = {
  strategy: "auto",
  setup: "",
  setupHosts: [],
  include: [],
  ports: [],
  limits: { maxSnapshotBytes: 1 << 30, maxIgnoredBytes: 1 << 28 },
};

export const hasSandbox = findProgram("bwrap") !== undefined;

export class CapsuleLab implements AsyncDisposable {
  readonly temp: TempDir;
  readonly main: string;
  readonly home: string;
  readonly io: CapsuleIo;
  readonly settings: CapsuleSettings;
  readonly #made = new Set<Capsule>();
  #count = 0;

  constructor(
    strategy: StrategyName,
    options: { readonly parent?: string; readonly files?: Record<string, string> } = {},
  ) {
    this.temp = new TempDir(options.parent ?? tmpdir());
    this.home = this.temp.join("home");
    for (const dir of ["", "leases", "trash", "sessions"]) mkdirSync(join(this.home, dir), { mode: 0o700 });
    this.main = makeRepo(this.temp.join("main"), options.files);
    this.io = { homeDir: this.home, disk: realDisk, clock: systemClock };
    this.settings = { ...plainSettings, strategy };
  }

  get trash(): string {
    return join(this.home, "trash");
  }

  repo(): Promise<Repo> {
    return openRepo({ dir: this.home, id: "home_lab" }, this.main);
  }

  async #request(settings: Partial<CapsuleSettings>, session = `sess_${++this.#count}`) {
    const repo = await this.repo();
    const dir = join(this.home, "sessions", session, "tasks", "1", "capsule");
    const sandbox = hasSandbox ? sandboxAround(this.home, repo, session) : undefined;
    const runSetup: RunSetup = setupRunner({ sandbox, onOutput: () => {} });
    return {
      dir,
      session,
      branch: `holdfast/${session}`,
      task: 1,
      repo,
      settings: { ...this.settings, ...settings },
      sandbox,
      runSetup,
    };
  }

  async create(settings: Partial<CapsuleSettings> = {}, base?: string): Promise<Capsule> {
    const request = await this.#request(settings);
    const commit = await resolveCommit(request.repo, base);
    const { capsule } = await createCapsule(this.io, { ...request, base: commit });
    this.#made.add(capsule);
    return capsule;
  }

  /** A capsule with exactly a tree of the repo, over a base. */
  async createExact(tree: string, base: string, settings: Partial<CapsuleSettings> = {}): Promise<Capsule> {
    const request = await this.#request(settings);
    const store = await openStore(request.repo, this.io.disk);
    const identity = { name: "Ani", email: "ani@example.org" };
    const commit = commitText({ tree, base, message: "exact\n", identity, atMs: 0 });
    const { capsule } = await createExactCapsule(this.io, { ...request, base }, { store, tree, commit });
    this.#made.add(capsule);
    return capsule;
  }

  /** Restores into the session that is named, or into a new one, as for a fork. */
  async restore(
    snapshot: string,
    session?: string,
    settings: Partial<CapsuleSettings> = {},
  ): Promise<Capsule> {
    const { capsule } = await restoreCapsule(this.io, await this.#request(settings, session), snapshot);
    this.#made.add(capsule);
    return capsule;
  }

  async open(capsule: Capsule): Promise<Capsule | undefined> {
    return Capsule.open(this.io, await this.repo(), capsule.layout.dir);
  }

  async remove(capsule: Capsule): Promise<void> {
    this.#made.delete(capsule);
    await capsule.remove(this.trash, `${capsule.spec.session}-${this.#made.size}-${performance.now()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const capsule of this.#made) await capsule.detach();
    this.temp[Symbol.dispose]();
  }
}

/** Runs a shell script where the capsule's files are, as its agent would. */
export async function inside(
  capsule: Capsule,
  script: string,
  env: Record<string, string> = {},
): Promise<string> {
  const view = await capsule.attach();
  const { sandbox } = capsule;
  const own = { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent", LC_ALL: "C", ...env };
  const shell = ["sh", "-euc", `cd "$0"; ${script}`];
  const launched: Partial<Launch> = sandbox
    ? launch(sandbox, { command: [...shell, "."], tree: view.workTree, entry: view, env: own })
    : { argv: [...view.enter, ...shell, view.workTree], env: own };
  const [program = "", ...args] = launched.argv ?? [];
  try {
    return execFileSync(program, args, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe", ...(launched.descriptors ?? [])],
      env: launched.env,
      maxBuffer: 1 << 28,
    }).trimEnd();
  } finally {
    launched.close?.();
  }
}

export const limits = plainSettings.limits;
