/**
 * Owns the room that checks run in: a capsule of exactly the tree, a HOME and a TMPDIR that nothing was in before, and a
 * network with the hosts of the check that runs. The agent of the task has seen none of it.
 *
 * verify-1 Nothing that an agent wrote outside of the tree reaches a check: no ignored file, no HOME, no process, no config.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  type Capsule,
  CapsuleDir,
  type CapsuleSettings,
  clearUnfinished,
  commitWork,
  createExactCapsule,
  giveTo,
  makeWork,
  openStore,
  type Store,
  userIdentity,
} from "../../capsule/index.ts";
import {
  baseEnvironment,
  CAPSULE_MARK,
  dyingWithUs,
  type Launch,
  launch,
  limited,
  refusalsFromNow,
  runCommand,
  type Sandbox,
} from "../../process/index.ts";
import { verifyDir } from "../../util/index.ts";
import { Ahead } from "../room/ahead.ts";
import { RoomNetwork } from "../room/network.ts";
import type { Quota } from "../room/quota.ts";
import { Watch } from "../room/quota-watch.ts";
import type { Room } from "../room/room.ts";
import { sandboxOf, toolsOf } from "../room/sandbox.ts";
import { setupFor } from "../room/setup.ts";
import { KeptOutput } from "./kept-output.ts";

export interface ExactFiles {
  readonly tree: string;
  /** The commit that the tree is measured against, whose installation it stands on. */
  readonly base: string | null;
  readonly settings: CapsuleSettings;
  readonly quota: Quota;
  readonly isSandboxed: boolean;
  readonly signal: AbortSignal;
}

/** A command in the room. */
export interface Step {
  readonly command: string;
  readonly hosts: readonly string[];
  readonly timeoutMinutes: number;
}

export interface StepEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  readonly durationMs: number;
  /** Why we ended it; undefined where it ended by itself. */
  readonly ended: string | undefined;
  /** Hosts that it asked for and may not reach. */
  readonly refused: readonly string[];
}

/** More than this is a program that writes without end. */
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;
const MINUTE_MS = 60_000;
const BRANCH = "checked";

export class CheckRoom implements AsyncDisposable {
  readonly #room: Room;
  readonly #files: ExactFiles;
  readonly #sandbox: Sandbox | undefined;
  readonly #capsule: Capsule;
  readonly #dir: string;
  #network: { readonly hosts: string; readonly open: RoomNetwork } | undefined;

  private constructor(
    room: Room,
    of: { files: ExactFiles; sandbox: Sandbox | undefined; capsule: Capsule; dir: string },
  ) {
    this.#room = room;
    this.#files = of.files;
    this.#sandbox = of.sandbox;
    this.#capsule = of.capsule;
    this.#dir = of.dir;
  }

  static async make(room: Room, files: ExactFiles): Promise<CheckRoom> {
    const { session, sessionDir, repo, io } = room;
    const { base, tree, settings, quota, isSandboxed, signal } = files;
    const task = session.state.task?.number ?? 0;
    const dir = verifyDir(sessionDir, task);
    // What a process left that was killed.
    await clearUnfinished(new CapsuleDir(dir));
    const lane = { name: BRANCH, isReadOnly: false, isWithoutCommands: false, hosts: [] };
    // The holder and the network take as long as the files do.
    const ahead = isSandboxed ? Ahead.begin(io.homeDir, dir) : undefined;
    if (settings.ports.length === 0) await ahead?.openNetwork(lane);
    const sandbox = isSandboxed ? await sandboxOf(room, { quota, lane }) : undefined;
    const setup = { sandbox, hosts: settings.setupHosts, quota, onOutput: () => {}, signal };
    const store = await openStore(repo, io.disk);
    const request = {
      dir,
      session: session.id,
      branch: BRANCH,
      task,
      repo,
      base,
      settings,
      sandbox,
      coming: ahead?.holder,
      runSetup: setupFor(room, setup),
      signal,
    };
    try {
      const commit = await commitOf(room, store, { tree, base });
      const { capsule } = await createExactCapsule(io, request, { store, commit });
      for (const name of OWN) {
        await mkdir(join(dir, name), { recursive: true, mode: 0o700 });
        giveTo(sandbox?.user, join(dir, name));
      }
      return new CheckRoom(room, { files, sandbox, capsule, dir });
    } catch (error) {
      await ahead?.end();
      await clearUnfinished(new CapsuleDir(dir));
      throw error;
    }
  }

  /** All that it started is gone when this returns. */
  async run(step: Step): Promise<StepEnd> {
    const { clock } = this.#room.io;
    const refused = new Set<string>();
    const { argv, ...launched } = await this.#launch(step, (host) => refused.add(host));
    const cgroup = this.#sandbox?.cgroup;
    const stopped = cgroup && refusalsFromNow(cgroup.name);
    let ended: string | undefined;
    const ending = new AbortController();
    const end = (why: string) => {
      ended ??= why;
      ending.abort();
    };
    const output = new KeptOutput(MAX_OUTPUT_BYTES, () =>
      end(`it wrote more than ${MAX_OUTPUT_BYTES / 1024 / 1024} MB and was ended`),
    );
    const onStop = () => end("it was stopped");
    const { signal: stop, quota } = this.#files;
    stop.addEventListener("abort", onStop, { once: true });
    if (stop.aborted) onStop();
    // The only way to tell a check that hangs: it may be silent for as long as it is allowed to run.
    const overdue = setTimeout(
      () => end(`it took longer than ${step.timeoutMinutes} minutes and was ended`),
      step.timeoutMinutes * MINUTE_MS,
    );
    const startedMs = clock.monotonicMs();
    let watch: Watch | undefined;
    try {
      const { exitCode, signal } = await runCommand({
        ...launched,
        argv,
        signal: ending.signal,
        onOutput: (chunk) => output.add(chunk),
        onStart: (pid) => {
          watch = new Watch(
            clock,
            { pid, dirs: [this.#dir], quota, refused: stopped },
            ({ limit, used, allowed }) =>
              end(`it took more than its share and was ended: ${limit}, ${used} of ${allowed}`),
          );
        },
      });
      watch?.end();
      const durationMs = Math.round(clock.monotonicMs() - startedMs);
      return { exitCode, signal, output: output.text, durationMs, ended, refused: [...refused] };
    } finally {
      stop.removeEventListener("abort", onStop);
      watch?.end();
      clearTimeout(overdue);
    }
  }

  /** Taken before a command: whether anything was written since. */
  get stamp(): string | undefined {
    return this.#capsule.stamp;
  }

  /** What a commit of the files would hold now. */
  async treeNow(): Promise<string> {
    const { repo, io, session } = this.#room;
    await this.#capsule.attach();
    const limits = { ...this.#files.settings.limits, maxIgnoredBytes: 0 };
    const { manifest, contents, converted } = await this.#capsule.look(limits);
    const { tree } = await makeWork({
      repo,
      store: await openStore(repo, io.disk),
      manifest,
      contents,
      converted,
      identity: await userIdentity(repo),
      message: `Work of ${session.id}\n`,
      atMs: 0,
    });
    return tree;
  }

  async #launch(
    { command, hosts }: Step,
    onRefused: (host: string) => void,
  ): Promise<Omit<Launch, "descriptors" | "close"> & Partial<Launch>> {
    const view = await this.#capsule.attach();
    const [home = "", tmp = ""] = OWN.map((name) => join(this.#dir, name));
    const ports = Object.entries(this.#capsule.spec.ports).map(([name, port]) => [name, String(port)]);
    const own = {
      HOME: home,
      TMPDIR: tmp,
      CI: "true",
      ...Object.fromEntries(ports),
      [CAPSULE_MARK]: this.#capsule.layout.dir,
    };
    const words = ["sh", "-c", command];
    const sandbox = this.#sandbox;
    if (!sandbox) {
      const inTree = ["/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "holdfast", view.workTree];
      const limits = limited({ maxFileBytes: this.#files.quota.maxBytes });
      const argv = [...view.enter, ...dyingWithUs(), ...limits, ...inTree, ...words];
      return { argv, cwd: "/", env: baseEnvironment(own) };
    }
    const network = await this.#networkWith(hosts);
    network.hear(({ host }) => onRefused(host));
    const env = baseEnvironment({ ...own, ...(await network.environment(view)) });
    const { homeDir } = this.#room.io;
    const tools = hosts.length > 0 ? await toolsOf(homeDir, { checkout: sandbox.at, hosts }) : sandbox.tools;
    return launch(
      { ...sandbox, tools },
      { command: words, tree: view.workTree, entry: view, env, writable: [home], tmp, isReadOnly: false },
    );
  }

  async #networkWith(hosts: readonly string[]): Promise<RoomNetwork> {
    const key = hosts.join("\n");
    if (this.#network?.hosts === key) return this.#network.open;
    await this.#network?.open.close();
    const lane = { name: BRANCH, isReadOnly: false, isWithoutCommands: false, hosts };
    const ports = Object.values(this.#capsule.spec.ports);
    const open = RoomNetwork.of(this.#capsule.layout.dir, lane, ports);
    this.#network = { hosts: key, open };
    return open;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#network?.open.close();
    const { trashDir, session, io } = this.#room;
    await this.#capsule.remove(trashDir, `${session.id}-checked-${io.clock.nowMs()}`);
  }
}

/** HOME and TMPDIR of the checks. */
const OWN = ["home", "tmp"] as const;

/** That the capsule's git stands on: as whoever checks the published branch out would have it. */
async function commitOf(
  { repo, session }: Room,
  store: Store,
  { tree, base }: Pick<ExactFiles, "tree" | "base">,
): Promise<string> {
  const identity = await userIdentity(repo);
  const message = `Work of ${session.id}, as it is checked\n`;
  return commitWork(store, { tree, base, message, identity, atMs: 0 });
}
