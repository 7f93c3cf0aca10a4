/**
 * Owns the start of a holder. First its namespaces are made. Then it waits, so that its starter can do slow
 * work meanwhile, such as making the files that are mounted, or opening sockets in its network.
 *
 * holder-2 A holder that is not on record ends by itself: it waits for our word before it mounts and after it
 *    has mounted, and we give the last word after its name is on disk.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { relative } from "node:path";
import type { Readable, Writable } from "node:stream";
import { HoldfastError } from "../contract/index.ts";
import { identityOf, isAlive, readTextOr } from "../util/index.ts";
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
  /** The directory that relative paths of the mount start from. */
  readonly cwd: string;
  readonly mark: string;
  /** Whether it has a network of its own, for processes in a sandbox. */
  readonly hasNetwork: boolean;
}

export interface HoldOptions {
  readonly mount?: OverlayMount;
  /** Records its identity before it may go on. */
  record(holder: Holder): Promise<void>;
  /** It never gets the last word, so it ends with this process: for a holder that is on no record. */
  readonly endsWithUs?: boolean;
}

/**
 * In a user namespace of its own, a session can have half of the user's watches on files at most: the user's other
 * programs, and other sessions, need some too.
 */
function boundingWatches(): string {
  if (process.getuid?.() === 0) return "";
  const steps = ["instances", "watches"].map((kind) => {
    const most = Number(readTextOr(`/proc/sys/fs/inotify/max_user_${kind}`, ""));
    const own = `/proc/sys/user/max_inotify_${kind}`;
    // An old kernel has no such file.
    return most > 1 ? `{ echo ${Math.floor(most / 2)} >${own}; } 2>/dev/null; ` : "";
  });
  return steps.join("");
}

const SCRIPT = [
  'cd "$1"',
  'echo "there $$"',
  // What the host mounts later does not come in. Our process prepares the files meanwhile.
  '{ [ "$2" = "" ] || "$2" --make-rprivate /; }',
  "IFS= read -r options",
  "IFS= read -r target",
  '{ [ "$options" = "" ] || "$2" -t overlay overlay -o "$options" "$target"; }',
  "echo ready",
  "read -r go",
  'exec "$3" infinity',
].join(" && ");
/** A mount may hang in the kernel. Then there is no holder. */
const START_MS = 10_000;

export async function startHolder(options: ComingOptions & HoldOptions): Promise<Holder> {
  return new ComingHolder(options).hold(options);
}

export class ComingHolder {
  readonly #cwd: string;
  readonly #hasNetwork: boolean;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Undefined if it ended without an answer. */
  readonly #pid: Promise<number | undefined>;
  readonly #ended: Promise<undefined>;
  #said = "";
  #isTaken = false;

  /** Fails with `program_missing`. */
  constructor({ cwd, mark, hasNetwork }: ComingOptions) {
    this.#cwd = cwd;
    this.#hasNetwork = hasNetwork;
    const script = [programPath("sh"), "-c", boundingWatches() + SCRIPT, "holdfast-holder", cwd];
    // Without `mount` nothing can be mounted, and the holder reports that.
    const programs = [findOutsideProgram("mount") ?? "", programPath("sleep")];
    const [program = "", ...args] = [...namespaces(hasNetwork), ...script, ...programs];
    this.#child = spawn(program, args, {
      cwd: "/",
      detached: true,
      env: {
        PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin",
        [CAPSULE_MARK]: mark,
        // Newer versions of mount pass each option to the kernel separately, where it may have only 256
        // bytes.
        LIBMOUNT_FORCE_MOUNT2: "always",
      },
      stdio: onlyStdio(["pipe", "pipe", "pipe"]) as ["pipe", "pipe", "pipe"],
    });
    const { stdin, stdout, stderr } = this.#child;
    // It may have ended before we give our word. Its exit status shows that.
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
    // The process that we started may only watch over the holder.
    const there = once(stdout, "data").then(
      ([text]) => Number(/^there (\d+)/.exec(String(text))?.[1]) || undefined,
      () => undefined,
    );
    this.#pid = this.#inTime(there);
  }

  /** Words that start a program of ours in its network, once the network exists. */
  async network(): Promise<string[] | undefined> {
    const pid = await this.#pid;
    return pid === undefined ? undefined : enterNetwork({ pid });
  }

  /** Whether it still waits to be told what to hold. */
  async isWaiting(): Promise<boolean> {
    const pid = await this.#pid;
    return !this.#isTaken && pid !== undefined && isAlive({ pid, startTicks: null });
  }

  /** Mounts, and lets the caller record the holder before it may go on. */
  async hold({ mount, record, endsWithUs = false }: HoldOptions): Promise<Holder> {
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
        throw new HoldfastError("mount_failed", "mount reported success, but the overlay is not mounted");
      const holder: Holder = {
        ...identityOf(pid),
        mountNamespace: namespaceOf(pid, "mnt") ?? "",
        netNamespace: this.#hasNetwork ? namespaceOf(pid, "net") : undefined,
        mount: mountName,
      };
      await record(holder);
      // Without the word, it ends when our end of its input closes, with us at the latest.
      if (endsWithUs) (stdin as Socket).unref();
      else stdin.end("go\n");
      return holder;
    } catch (error) {
      this.#kill();
      throw error;
    } finally {
      this.#letGo();
    }
  }

  /** Ends a holder that is not needed. A holder that has mounted something is left alone. */
  end(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    this.#kill();
    this.#letGo();
  }

  /** The kernel may never answer. */
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
    // It waits for our word, which will not come.
    this.#child.stdin.destroy();
  }

  #letGo(): void {
    this.#child.unref();
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream.destroy();
  }
}

const whatFailed = (mount: OverlayMount | undefined) =>
  mount ? "the overlay could not be mounted" : "a namespace could not be made";

/** Bubblewrap brings up the loopback of a new network, which `unshare` does not. */
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
