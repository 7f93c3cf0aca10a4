/**
 * Owns holders: the one small process per capsule in whose mount namespace the capsule's overlay stands. The
 * mount lives exactly as long as the holder, so that nothing is left mounted after it. Without root, the
 * namespace belongs to a user namespace in which our own user may mount.
 *
 * Q1 A holder that nobody has on record ends by itself: it waits for our word after it has mounted, and we
 *    give it after its name is on disk.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readlinkSync } from "node:fs";
import { HoldfastError } from "../contract/index.ts";
import { identityOf, isAlive, type ProcessIdentity, readTextOr, sha256Hex } from "../util/index.ts";
import { onlyStdio } from "./descriptors.ts";
import { CAPSULE_MARK, endAll, endMarked, markedProcesses } from "./marks.ts";
import { allPids } from "./pids.ts";

export interface Holder extends ProcessIdentity {
  /** The namespace, as `mnt:[4026532]`: finds what else lives in it, as long as the holder does. */
  readonly mountNamespace: string;
  /** The name of its mount. Undefined where an earlier version wrote none. */
  readonly mount: string | undefined;
}

export interface OverlayMount {
  /** Topmost first. */
  readonly lowers: readonly string[];
  readonly upper: string;
  readonly work: string;
  readonly target: string;
}

const SCRIPT =
  'cd "$1" && mount -t overlay overlay -o "$2" "$3" && echo ready && read -r go && exec sleep infinity';
/** A mount may hang in the kernel: then there is no holder. */
const START_MS = 10_000;
const isRoot = () => process.getuid?.() === 0;

/** Mounts, and lets the caller write down who holds it before the holder is let go on. */
export async function startHolder(
  { lowers, upper, work, target }: OverlayMount,
  options: { readonly cwd: string; readonly mark: string; record(holder: Holder): Promise<void> },
): Promise<Holder> {
  const shared = `lowerdir=${lowers.map(escaped).join(":")},upperdir=${escaped(upper)},workdir=${escaped(work)}`;
  // Without `redirect_dir` a directory of the base can't be renamed, only copied; users have no other way.
  const mountOptions = isRoot() ? `nosuid,nodev,${shared},redirect_dir=on` : `${shared},userxattr`;
  const child = spawn(
    "unshare",
    [...namespaces(), "sh", "-c", SCRIPT, "holdfast-holder", options.cwd, mountOptions, target],
    {
      cwd: "/",
      detached: true,
      env: {
        PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin",
        [CAPSULE_MARK]: options.mark,
        // Newer versions of mount hand each option to the kernel alone, where it may have 256 bytes only.
        LIBMOUNT_FORCE_MOUNT2: "always",
      },
      stdio: onlyStdio(["pipe", "pipe", "pipe"]) as ["pipe", "pipe", "pipe"],
    },
  );
  let said = "";
  // It may be gone when we give it our word; that shows in its exit.
  child.stdin.on("error", () => {});
  child.stderr.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString("utf8")).slice(-2000);
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), START_MS);
  try {
    const ready = once(child.stdout, "data").then(([chunk]) => String(chunk).startsWith("ready"));
    const ended = once(child, "close").then(
      () => false,
      (error: Error) => {
        said = error.message;
        return false;
      },
    );
    const isReady = await Promise.race([ready, ended]);
    if (!isReady || child.pid === undefined)
      throw new HoldfastError("mount_failed", `the overlay could not be mounted: ${said.trim()}`);
    const mount = findMount(child.pid, target);
    if (mount === undefined)
      throw new HoldfastError("mount_failed", "the overlay was mounted, and is not there");
    const holder = { ...identityOf(child.pid), mountNamespace: namespaceOf(child.pid) ?? "", mount };
    await options.record(holder);
    child.stdin.end("go\n");
    return holder;
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    clearTimeout(timer);
    child.unref();
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
  }
}

/** What a process has to be started with to stand in the holder's namespaces. */
export function enterHolder({ pid }: Holder): string[] {
  const user = isRoot() ? [] : ["-U", "--preserve-credentials"];
  return ["nsenter", "-t", String(pid), ...user, "-m", "--"];
}

/** Where our own process sees what the holder has mounted. */
export function throughHolder({ pid }: Holder, path: string): string {
  return `/proc/${pid}/root${path}`;
}

function namespaces(): string[] {
  const user = isRoot() ? [] : ["-U", "--map-current-user", "--keep-caps"];
  return [...user, "-m", "--propagation", "private", "--"];
}

/** The mount options are a comma-separated list, and layers are separated by colons. */
function escaped(path: string): string {
  return path.replace(/[\\,:]/g, (sign) => `\\${sign}`);
}

/**
 * Ends the holder and whatever else has its mount; resolves when they are gone. What stands in the holder's namespace
 * is found by that, as long as the holder keeps the kernel from giving its number to the next one. What has the mount
 * in a namespace of its own carries the capsule's mark; that is a hint, and its mounts tell whether it is true. Of a
 * holder that is gone, everybody's mounts tell.
 */
export async function endHolder(holder: Holder, mark: string): Promise<void> {
  const { mount, mountNamespace } = holder;
  const pin = pinNamespace(holder);
  if (pin === undefined) return mount === undefined ? endMarked(mark) : endAll(() => mountedBy(mount));
  try {
    await endAll(() => inNamespace(mountNamespace));
  } finally {
    closeSync(pin);
  }
  const marked = () => markedProcesses().flatMap((one) => (one.mark === mark ? [one.pid] : []));
  await endAll(() => marked().filter((pid) => mount === undefined || hasMount(pid, mount)));
}

/** Undefined when the holder is gone, or its pid is another process now. */
function pinNamespace(holder: Holder): number | undefined {
  if (!isAlive(holder)) return undefined;
  try {
    const fd = openSync(`/proc/${holder.pid}/ns/mnt`, "r");
    if (isAlive(holder) && namespaceOf(holder.pid) === holder.mountNamespace) return fd;
    closeSync(fd);
  } catch {
    // It ended just now.
  }
  return undefined;
}

/** Undefined for one that is gone, or another user's, which is not ours. */
function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/mnt`);
  } catch {
    return undefined;
  }
}

const inNamespace = (namespace: string) => allPids().filter((pid) => namespaceOf(pid) === namespace);

/** Processes that have a mount, whatever they carry. It takes its time: the kernel writes every mount down. */
export function mountedBy(mount: string): number[] {
  const known = new Map<string, boolean>();
  return allPids().filter((pid) => {
    const namespace = namespaceOf(pid);
    if (namespace === undefined) return false;
    const has = known.get(namespace) ?? hasMount(pid, mount);
    // One that is ending shows no mounts any more, and others in its namespace still have them.
    if (has || namespaceOf(pid) === namespace) known.set(namespace, has);
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
