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
import { closeSync, openSync, readdirSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../contract/index.ts";
import { identityOf, isAlive, type ProcessIdentity, readTextOr, signalIfThere } from "../util/index.ts";
import { onlyStdio } from "./descriptors.ts";

/** In the environment of everything that belongs to a capsule: how strays are found again. */
export const CAPSULE_MARK = "HOLDFAST_CAPSULE";

export interface Holder extends ProcessIdentity {
  /** The namespace, as `mnt:[4026532]`: finds what else lives in it, as long as the holder does. */
  readonly mountNamespace: string;
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
const END_MS = 10_000;
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
    const holder = { ...identityOf(child.pid), mountNamespace: readlinkSync(`/proc/${child.pid}/ns/mnt`) };
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
 * Ends the holder and whatever else lives in its namespace; resolves when they are gone. The namespace is kept
 * from being freed meanwhile: the kernel gives its number to the next one at once. So of a holder that is gone
 * already nothing is known by that number any more; what it left is found by its mark.
 */
export async function endHolder(holder: Holder): Promise<void> {
  const pin = pinNamespace(holder);
  if (pin === undefined) return;
  try {
    for (const deadlineMs = Date.now() + END_MS; Date.now() < deadlineMs; await sleep(2)) {
      const living = inNamespace(holder.mountNamespace);
      if (living.length === 0) return;
      for (const pid of living) signalIfThere(pid, "SIGKILL");
    }
    const left = inNamespace(holder.mountNamespace).join(", ");
    throw new HoldfastError("processes_remain", `processes of the capsule did not end: ${left}`);
  } finally {
    closeSync(pin);
  }
}

/** Undefined when the holder is gone, or its pid is another process now. */
function pinNamespace(holder: Holder): number | undefined {
  if (!isAlive(holder)) return undefined;
  try {
    const fd = openSync(`/proc/${holder.pid}/ns/mnt`, "r");
    if (isAlive(holder) && readlinkSync(`/proc/${holder.pid}/ns/mnt`) === holder.mountNamespace) return fd;
    closeSync(fd);
  } catch {
    // It ended just now.
  }
  return undefined;
}

/** Processes that stand in that mount namespace. Those of other users can't be looked at, and aren't ours. */
export function inNamespace(mountNamespace: string): number[] {
  return allPids().filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/ns/mnt`) === mountNamespace;
    } catch {
      return false;
    }
  });
}

/** Processes that carry the mark of a capsule, with the mark. */
export function markedProcesses(): { readonly pid: number; readonly mark: string }[] {
  return allPids().flatMap((pid) => {
    const environ = readTextOr(`/proc/${pid}/environ`, "");
    const mark = environ.split("\0").find((line) => line.startsWith(`${CAPSULE_MARK}=`));
    return mark ? [{ pid, mark: mark.slice(CAPSULE_MARK.length + 1) }] : [];
  });
}

/** Ends every process that carries this mark. */
export async function endMarked(mark: string): Promise<void> {
  for (const deadlineMs = Date.now() + END_MS; Date.now() < deadlineMs; await sleep(2)) {
    const pids = markedProcesses().filter((one) => one.mark === mark && one.pid !== process.pid);
    if (pids.length === 0) return;
    for (const { pid } of pids) signalIfThere(pid, "SIGKILL");
  }
  throw new HoldfastError("processes_remain", "processes of the capsule did not end");
}

function allPids(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}
