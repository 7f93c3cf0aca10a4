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
import { readlinkSync } from "node:fs";
import { HoldfastError } from "../contract/index.ts";
import { identityOf, type ProcessIdentity, readTextOr, sha256Hex } from "../util/index.ts";
import { onlyStdio } from "./descriptors.ts";
import { CAPSULE_MARK, endAll } from "./marks.ts";
import { allPids } from "./pids.ts";

export interface Holder extends ProcessIdentity {
  /** The name of its mount, by which everything is found that has it. Undefined where an earlier version wrote none. */
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
    const holder = { ...identityOf(child.pid), mount };
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
 * Ends the holder and whatever else has its mount, also in a namespace of its own and after the holder is gone;
 * resolves when they are gone. What only says that it belongs to the capsule is left alone.
 */
export function endHolder({ mount }: Holder): Promise<void> {
  return mount === undefined ? Promise.resolve() : endAll(() => mountedBy(mount));
}

/** Processes that have a mount. Those of other users can't be looked at, and aren't ours. */
export function mountedBy(mount: string): number[] {
  const known = new Map<string, boolean>();
  return allPids().filter((pid) => {
    try {
      const namespace = readlinkSync(`/proc/${pid}/ns/mnt`);
      const has = known.get(namespace) ?? mountsOf(pid).some((one) => nameOf(one) === mount);
      known.set(namespace, has);
      return has;
    } catch {
      return false;
    }
  });
}

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
