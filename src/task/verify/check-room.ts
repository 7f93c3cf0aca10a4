/**
 * Owns the room that checks run in: a capsule of exactly the tree, an empty HOME and TMPDIR, and a network
 * with the hosts of the running check. The task's agent had no access to any of it. Each check gets the room
 * as it was before the first of them.
 *
 * verify-1 Nothing that an agent wrote outside of the tree reaches a check: no ignored file, no HOME, no
 *    process, no config. Nor does anything that another check wrote.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  type Capsule,
  giveTo,
  type KeptFiles,
  keepFiles,
  makeWork,
  openStore,
  removeTree,
  userIdentity,
} from "../../capsule/index.ts";
import type { ContactCounts } from "../../network/index.ts";
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
import { RoomNetwork } from "../room/network.ts";
import { Watch } from "../room/quota-watch.ts";
import type { Room } from "../room/room.ts";
import { toolsOf } from "../room/sandbox.ts";
import { type ExactFiles, makeExactFiles, removeExactFiles } from "./exact-files.ts";
import { KeptOutput } from "./kept-output.ts";

/** A command to run in the room. */
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
  /** Why Holdfast ended it; undefined when it ended by itself. */
  readonly ended: string | undefined;
  /** Hosts that it asked for and may not reach. */
  readonly refused: readonly string[];
  /** How often it asked for which hosts; undefined if it asked for none. */
  readonly contacts: ContactCounts | undefined;
}

/** More output than this comes from a program that writes without end. */
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;
const MINUTE_MS = 60_000;

export class CheckRoom {
  readonly #room: Room;
  readonly #files: ExactFiles;
  readonly #sandbox: Sandbox | undefined;
  readonly #capsule: Capsule;
  readonly #dir: string;
  /** At first the network that was begun together with the files, which has no hosts. */
  #network: { readonly hosts: string; readonly open: RoomNetwork };

  /** Its files as every check gets them; undefined while nothing had to be kept. */
  #kept: KeptFiles | undefined;
  #ending: Promise<void> | undefined;

  private constructor(
    room: Room,
    of: { files: ExactFiles; sandbox: Sandbox | undefined; capsule: Capsule; dir: string },
  ) {
    this.#room = room;
    this.#files = of.files;
    this.#sandbox = of.sandbox;
    this.#capsule = of.capsule;
    this.#dir = of.dir;
    this.#network = { hosts: "", open: RoomNetwork.find(of.dir) ?? this.#networkFor([]) };
  }

  static async make(room: Room, files: ExactFiles): Promise<CheckRoom> {
    const made = await makeExactFiles(room, files);
    const { dir } = made.capsule.layout;
    const place = new CheckRoom(room, { files, dir, ...made });
    await place.#makeOwn();
    return place;
  }

  /** Keeps its files as they are now, for `renew`. */
  async keep(): Promise<void> {
    await this.#closeNetwork();
    this.#kept = await keepFiles(this.#capsule);
  }

  /** Brings it back to the files that were kept, with an empty HOME and TMPDIR and no process. */
  async renew(): Promise<void> {
    await this.#closeNetwork();
    await this.#kept?.renew();
    for (const name of OWN) await removeTree(join(this.#dir, name));
    await this.#makeOwn();
    await this.#capsule.attach();
  }

  async #makeOwn(): Promise<void> {
    for (const name of OWN) {
      await mkdir(join(this.#dir, name), { recursive: true, mode: 0o700 });
      giveTo(this.#sandbox?.user, join(this.#dir, name));
    }
  }

  /** All processes that it started have ended when this returns. */
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
    // A check that hangs can only be recognized by its time: it may be silent as long as it runs.
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
              end(`it exceeded its quota and was ended: ${limit}, ${used} of ${allowed}`),
          );
        },
      });
      watch?.end();
      const durationMs = Math.round(clock.monotonicMs() - startedMs);
      const contacts = this.#network.open.takeCounts();
      return { exitCode, signal, output: output.text, durationMs, ended, refused: [...refused], contacts };
    } finally {
      stop.removeEventListener("abort", onStop);
      watch?.end();
      clearTimeout(overdue);
    }
  }

  /** Taken before a command, it tells whether anything was written since. */
  get stamp(): string | undefined {
    return this.#capsule.stamp;
  }

  /** The tree that a commit of the files would have now. */
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

  /** The capsule's namespace has one network at a time: a network with other hosts is closed first. */
  async #networkWith(hosts: readonly string[]): Promise<RoomNetwork> {
    const key = hosts.join("\n");
    if (this.#network.hosts === key) return this.#network.open;
    await this.#network.open.close();
    this.#network = { hosts: key, open: this.#networkFor(hosts) };
    return this.#network.open;
  }

  async #closeNetwork(): Promise<void> {
    await this.#network.open.close();
    this.#network = { hosts: "", open: this.#networkFor([]) };
  }

  #networkFor(hosts: readonly string[]): RoomNetwork {
    return new RoomNetwork(this.#dir, { hosts }, Object.values(this.#capsule.spec.ports));
  }

  /** It can be asked for more than once. Nothing is run in the room after that. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    // It is awaited later.
    this.#ending.catch(() => {});
    return this.#ending;
  }

  async #end(): Promise<void> {
    await this.#network.open.close();
    await removeExactFiles(this.#room, this.#capsule);
    await this.#kept?.drop();
  }
}

/** HOME and TMPDIR of the checks. */
const OWN = ["home", "tmp"] as const;
