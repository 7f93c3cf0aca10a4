/**
 * Owns the start of a holder. First its namespaces are made. Then it waits: whoever starts it may have something to do
 * meanwhile that takes as long, such as making the files that are mounted, or opening sockets in its network.
 *
 * Q1 A holder that is not on record ends by itself: it waits for our word before it mounts and after it has mounted, and
 *    we give the last one after its name is on disk.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { relative } from "node:path";
import type { Readable, Writable } from "node:stream";
import { HoldfastError } from "../contract/index.ts";
import { identityOf, isAlive } from "../util/index.ts";
import { onlyStdio } from "./descriptors.ts";
import {
  enterNetwork,
  findMount,
  type Holder,
  mountOptions,
  namespaceOf,
  type OverlayMount,
} from "./holder.ts";
import { CAPSULE_MARK } from "./marks.ts";
import { findOutsideProgram, programPath } from "./outside-program.ts";

export interface ComingOptions {
  /** What relative paths of the mount begin at. */
  readonly cwd: string;
  readonly mark: string;
  /** Whether it has a network of its own, for processes in a sandbox. */
  readonly hasNetwork: boolean;
}

export interface HoldOptions {
  readonly mount?: OverlayMount;
  /** Writes down who it is, before it is let go on. */
  record(holder: Holder): Promise<void>;
}

const SCRIPT = [
  'cd "$1"',
  'echo "there $$"',
  "IFS= read -r options",
  "IFS= read -r target",
  '{ [ "$options" = "" ] || "$2" -t overlay overlay -o "$options" "$target"; }',
  "echo ready",
  "read -r go",
  'exec "$3" infinity',
].join(" && ");
/** A mount may hang in the kernel: then there is no holder. */
const START_MS = 10_000;

export async function startHolder(options: ComingOptions & HoldOptions): Promise<Holder> {
  return new ComingHolder(options).hold(options);
}

export class ComingHolder {
  readonly #cwd: string;
  readonly #hasNetwork: boolean;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Undefined when it has ended without a word. */
  readonly #pid: Promise<number | undefined>;
  readonly #ended: Promise<undefined>;
  #said = "";
  #isTaken = false;

  /** Fails with `program_missing`. */
  constructor({ cwd, mark, hasNetwork }: ComingOptions) {
    this.#cwd = cwd;
    this.#hasNetwork = hasNetwork;
    const script = [programPath("sh"), "-c", SCRIPT, "holdfast-holder", cwd];
    // Without `mount` there is nothing that can be mounted, and it says so.
    const programs = [findOutsideProgram("mount") ?? "", programPath("sleep")];
    const [program = "", ...args] = [...namespaces(hasNetwork), ...script, ...programs];
    this.#child = spawn(program, args, {
      cwd: "/",
      detached: true,
      env: {
        PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin",
        [CAPSULE_MARK]: mark,
        // Newer versions of mount hand each option to the kernel alone, where it may have 256 bytes only.
        LIBMOUNT_FORCE_MOUNT2: "always",
      },
      stdio: onlyStdio(["pipe", "pipe", "pipe"]) as ["pipe", "pipe", "pipe"],
    });
    const { stdin, stdout, stderr } = this.#child;
    // It may be gone when we give it our word; that shows in its exit.
    stdin.on("error", () => {});
    stderr.on("data", (chunk: Buffer) => {
      this.#said = (this.#said + chunk.toString("utf8")).slice(-2000);
    });
    this.#ended = once(this.#child, "close").then(
      () => undefined,
      (error: Error) => {
        this.#said = error.message;
        return undefined;
      },
    );
    // What we started may only watch over it.
    const there = once(stdout, "data").then(
      ([text]) => Number(/^there (\d+)/.exec(String(text))?.[1]) || undefined,
      () => undefined,
    );
    this.#pid = this.#inTime(there);
  }

  /** What a program of ours is started with to stand in its network, as soon as that is there. */
  async network(): Promise<string[] | undefined> {
    const pid = await this.#pid;
    return pid === undefined ? undefined : enterNetwork({ pid });
  }

  /** Whether it can still be told what to hold. */
  async isWaiting(): Promise<boolean> {
    const pid = await this.#pid;
    return !this.#isTaken && pid !== undefined && isAlive({ pid, startTicks: null });
  }

  /** Mounts, and lets the caller write down who holds it before the holder is let go on. */
  async hold({ mount, record }: HoldOptions): Promise<Holder> {
    this.#isTaken = true;
    const { stdin, stdout } = this.#child;
    try {
      const pid = await this.#pid;
      const isReady = this.#inTime(once(stdout, "data").then(() => true));
      const target = mount ? relative(this.#cwd, mount.target) : "";
      stdin.write(`${mount ? mountOptions(mount) : ""}\n${target}\n`);
      if (pid === undefined || !(await isReady))
        throw new HoldfastError("mount_failed", `${whatFailed(mount)}: ${this.#said.trim()}`);
      const mountName = mount && findMount(pid, mount.target);
      if (mount && mountName === undefined)
        throw new HoldfastError("mount_failed", "the overlay was mounted, and is not there");
      const holder: Holder = {
        ...identityOf(pid),
        mountNamespace: namespaceOf(pid, "mnt") ?? "",
        netNamespace: this.#hasNetwork ? namespaceOf(pid, "net") : undefined,
        mount: mountName,
      };
      await record(holder);
      stdin.end("go\n");
      return holder;
    } catch (error) {
      this.#kill();
      throw error;
    } finally {
      this.#letGo();
    }
  }

  /** It is not needed. One that holds something is left alone. */
  end(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    this.#kill();
    this.#letGo();
  }

  /** The kernel may take for ever. */
  async #inTime<T>(answer: Promise<T>): Promise<T | undefined> {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), START_MS);
    try {
      return await Promise.race([answer, this.#ended]);
    } finally {
      clearTimeout(timer);
    }
  }

  #kill(): void {
    this.#child.kill("SIGKILL");
    // It waits for our word, which does not come.
    this.#child.stdin.destroy();
  }

  #letGo(): void {
    this.#child.unref();
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream.destroy();
  }
}

const whatFailed = (mount: OverlayMount | undefined) =>
  mount ? "the overlay could not be mounted" : "a namespace could not be made";

/** Bubblewrap brings the loopback of a new network up, which `unshare` does not. */
function namespaces(hasNetwork: boolean): string[] {
  const isRoot = process.getuid?.() === 0;
  if (hasNetwork) {
    const user = isRoot ? [] : ["--unshare-user"];
    const words = ["--unshare-net", "--cap-add", "ALL", "--dev-bind", "/", "/", "--"];
    return [programPath("bwrap"), ...user, ...words];
  }
  const user = isRoot ? [] : ["-U", "--map-current-user", "--keep-caps"];
  return [programPath("unshare"), ...user, "-m", "--propagation", "private", "--"];
}
