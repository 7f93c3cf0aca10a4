/**
 * Owns holders: the one small process per capsule whose namespaces the capsule's processes stand in. In its mount
 * namespace the capsule's overlay is mounted, where the capsule has one; its network namespace has a loopback and
 * nothing else. Both live exactly as long as the holder, so that nothing is left after it. Without root, they belong to
 * a user namespace in which our own user may mount.
 *
 * Q1 A holder that is not on record ends by itself: it waits for our word after it has mounted, and we give it after
 *    its name is on disk.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readlinkSync } from "node:fs";
import { HoldfastError } from "../contract/index.ts";
import { identityOf, isAlive, type ProcessIdentity, readTextOr, sha256Hex } from "../util/index.ts";
import { onlyStdio } from "./descriptors.ts";
import { programPath } from "./find-program.ts";
import { CAPSULE_MARK, endAll, markedProcesses } from "./marks.ts";
import { allPids } from "./pids.ts";

export interface Holder extends ProcessIdentity {
  /** The namespace, as `mnt:[4026532]`: finds what else lives in it, as long as the holder does. */
  readonly mountNamespace: string;
  /** The same of the network. Undefined: it has the machine's. */
  readonly netNamespace: string | undefined;
  /** The name of its mount. Undefined where it has none, or where an earlier version wrote none. */
  readonly mount: string | undefined;
}

export interface OverlayMount {
  /** Topmost first. */
  readonly lowers: readonly string[];
  readonly upper: string;
  readonly work: string;
  readonly target: string;
}

export interface HolderOptions {
  /** What relative paths of the mount begin at. */
  readonly cwd: string;
  readonly mark: string;
  readonly mount?: OverlayMount;
  /** Whether it has a network of its own, for processes in a sandbox. */
  readonly hasNetwork: boolean;
  record(holder: Holder): Promise<void>;
}

const SCRIPT =
  'cd "$1" && { [ "$2" = "" ] || "$4" -t overlay overlay -o "$2" "$3"; } && echo "ready $$" && read -r go && exec "$5" infinity';
/** A mount may hang in the kernel: then there is no holder. */
const START_MS = 10_000;
const isRoot = () => process.getuid?.() === 0;

/** Mounts, and lets the caller write down who holds it before the holder is let go on. */
export async function startHolder({ cwd, mark, mount, hasNetwork, record }: HolderOptions): Promise<Holder> {
  const words = [...namespaces(hasNetwork), programPath("sh"), "-c", SCRIPT, "holdfast-holder", cwd];
  const mounted = mount ? [mountOptions(mount), mount.target, programPath("mount")] : ["", "", ""];
  const [program = "", ...args] = [...words, ...mounted, programPath("sleep")];
  const child = spawn(program, args, {
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
  let said = "";
  // It may be gone when we give it our word; that shows in its exit.
  child.stdin.on("error", () => {});
  child.stderr.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString("utf8")).slice(-2000);
  });
  // The kernel may take for ever to mount.
  const timer = setTimeout(() => child.kill("SIGKILL"), START_MS);
  try {
    const ready = once(child.stdout, "data").then(([chunk]) => /^ready (\d+)/.exec(String(chunk))?.[1]);
    const ended = once(child, "close").then(
      () => undefined,
      (error: Error) => {
        said = error.message;
        return undefined;
      },
    );
    // What we started may only watch over it.
    const pid = Number(await Promise.race([ready, ended]));
    if (!pid) throw new HoldfastError("mount_failed", `${whatFailed(mount)}: ${said.trim()}`);
    const mountName = mount && findMount(pid, mount.target);
    if (mount && mountName === undefined)
      throw new HoldfastError("mount_failed", "the overlay was mounted, and is not there");
    const holder: Holder = {
      ...identityOf(pid),
      mountNamespace: namespaceOf(pid, "mnt") ?? "",
      netNamespace: hasNetwork ? namespaceOf(pid, "net") : undefined,
      mount: mountName,
    };
    await record(holder);
    child.stdin.end("go\n");
    return holder;
  } catch (error) {
    child.kill("SIGKILL");
    // It waits for our word, which does not come.
    child.stdin.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    child.unref();
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
  }
}

const whatFailed = (mount: OverlayMount | undefined) =>
  mount ? "the overlay could not be mounted" : "a namespace could not be made";

function mountOptions({ lowers, upper, work }: OverlayMount): string {
  const shared = `lowerdir=${lowers.map(escaped).join(":")},upperdir=${escaped(upper)},workdir=${escaped(work)}`;
  // Without `redirect_dir` a directory of the base can't be renamed, only copied; users have no other way.
  return isRoot() ? `nosuid,nodev,${shared},redirect_dir=on` : `${shared},userxattr`;
}

/** What a process has to be started with to stand in the holder's namespaces. */
export function enterHolder({ pid, netNamespace }: Holder): string[] {
  return [...entering(pid), "-m", ...(netNamespace === undefined ? [] : ["-n"]), "--"];
}

/** The same, with the machine's files: for a program of ours that is to listen in there. */
export function enterNetwork({ pid }: Pick<Holder, "pid">): string[] {
  return [...entering(pid), "-n", "--"];
}

function entering(pid: number): string[] {
  const user = isRoot() ? [] : ["-U", "--preserve-credentials"];
  return [programPath("nsenter"), "-t", String(pid), ...user];
}

/** Where our own process sees what the holder has mounted. */
export function throughHolder({ pid }: Holder, path: string): string {
  return `/proc/${pid}/root${path}`;
}

/** Bubblewrap brings the loopback of a new network up, which `unshare` does not. */
function namespaces(hasNetwork: boolean): string[] {
  if (hasNetwork) {
    const user = isRoot() ? [] : ["--unshare-user"];
    const words = ["--unshare-net", "--cap-add", "ALL", "--dev-bind", "/", "/", "--"];
    return [programPath("bwrap"), ...user, ...words];
  }
  const user = isRoot() ? [] : ["-U", "--map-current-user", "--keep-caps"];
  return [programPath("unshare"), ...user, "-m", "--propagation", "private", "--"];
}

/** The mount options are a comma-separated list, and layers are separated by colons. */
function escaped(path: string): string {
  return path.replace(/[\\,:]/g, (sign) => `\\${sign}`);
}

/**
 * Ends the holder and all that stands in its namespaces; resolves when they are gone. They are found by that, as long as
 * the holder keeps the kernel from giving their numbers to the next ones. Of what is left, and of a holder that is gone,
 * the mark tells, which is a hint: whether it is true is told by what the process has mounted, and by its network.
 */
export async function endHolder(holder: Holder, mark: string): Promise<void> {
  const { mount } = holder;
  const pins = pinNamespaces(holder);
  if (pins === undefined)
    return mount === undefined ? endMarkedOf(holder, mark) : endAll(() => mountedBy(mount));
  try {
    await endAll(() => allPids().filter((pid) => isIn(pid, holder)));
  } finally {
    for (const pin of pins) closeSync(pin);
  }
  await endMarkedOf(holder, mark);
}

function endMarkedOf(holder: Holder, mark: string): Promise<void> {
  const { mount, netNamespace } = holder;
  // An earlier version wrote down neither.
  const isBlank = mount === undefined && netNamespace === undefined;
  const isOf = (pid: number) => isBlank || isIn(pid, holder) || (mount !== undefined && hasMount(pid, mount));
  const marked = () => markedProcesses().flatMap((one) => (one.mark === mark ? [one.pid] : []));
  return endAll(() => marked().filter((pid) => pid !== process.pid && isOf(pid)));
}

const isIn = (pid: number, { mountNamespace, netNamespace }: Holder) =>
  namespaceOf(pid, "mnt") === mountNamespace ||
  (netNamespace !== undefined && namespaceOf(pid, "net") === netNamespace);

/** Undefined when the holder is gone, or its pid is another process now. */
function pinNamespaces(holder: Holder): number[] | undefined {
  if (!isAlive(holder)) return undefined;
  const pins: number[] = [];
  try {
    for (const kind of ["mnt", "net"]) pins.push(openSync(`/proc/${holder.pid}/ns/${kind}`, "r"));
    if (isAlive(holder) && isIn(holder.pid, holder)) return pins;
  } catch {
    // It ended just now.
  }
  for (const pin of pins) closeSync(pin);
  return undefined;
}

/** Undefined for one that is gone, or another user's, which is not ours. */
function namespaceOf(pid: number, kind: "mnt" | "net"): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch {
    return undefined;
  }
}

/** Processes that have a mount, whatever they carry. It takes its time: the kernel writes every mount down. */
export function mountedBy(mount: string): number[] {
  const known = new Map<string, boolean>();
  return allPids().filter((pid) => {
    const namespace = namespaceOf(pid, "mnt");
    if (namespace === undefined) return false;
    const has = known.get(namespace) ?? hasMount(pid, mount);
    // One that is ending shows no mounts any more, and others in its namespace still have them.
    if (has || namespaceOf(pid, "mnt") === namespace) known.set(namespace, has);
    return has;
  });
}

const hasMount = (pid: number, mount: string) => mountsOf(pid).some((one) => nameOf(one) === mount);

interface MountLine {
  readonly device: string;
  readonly target: string;
  readonly options: string;
}

/** Overlays among the mounts that a process sees: fields 3 and 5 of proc_pid_mountinfo(5), and the last one. */
function mountsOf(pid: number): MountLine[] {
  const lines = readTextOr(`/proc/${pid}/mountinfo`, "").split("\n");
  return lines.flatMap((line) => {
    const [own = "", system = ""] = line.split(" - ");
    const [, , device = "", , target = ""] = own.split(" ");
    const [type, , options = ""] = system.split(" ");
    return type === "overlay" ? [{ device, target: unescaped(target), options }] : [];
  });
}

const unescaped = (path: string) =>
  path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/** While it is mounted anywhere, no other mount has its device; and its options say whose it is. */
const nameOf = ({ device, options }: MountLine) => sha256Hex(`${device} ${options}`).slice(0, 32);

function findMount(pid: number, target: string): string | undefined {
  const found = mountsOf(pid).findLast((one) => one.target === target);
  return found && nameOf(found);
}
