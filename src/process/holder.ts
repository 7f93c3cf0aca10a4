/**
 * Owns holders. A holder is the one small process of a capsule whose namespaces the capsule's processes run
 * in. In its mount namespace the capsule's overlay is mounted, if it has one; its network namespace has a
 * loopback and nothing else. Both exist exactly as long as the holder, so nothing is left after it. Without
 * root, they belong to a user namespace in which our own user may mount. `holder-start.ts` describes its
 * start.
 */
import { closeSync, openSync, readlinkSync } from "node:fs";
import { isAlive, type ProcessIdentity, readTextOr, sha256Hex } from "../util/index.ts";
import { endAll, markedProcesses } from "./marks.ts";
import { programPath } from "./outside-program.ts";
import { allPids } from "./pids.ts";

export interface Holder extends ProcessIdentity {
  /** The namespace, as `mnt:[4026532]`. It identifies other processes in it, as long as the holder runs. */
  readonly mountNamespace: string;
  /** The same for the network. Undefined: it uses the machine's. */
  readonly netNamespace: string | undefined;
  /** The name of its mount. Undefined if it has none, or if an earlier version did not record one. */
  readonly mount: string | undefined;
}

export interface OverlayMount {
  /** Topmost first. */
  readonly lowers: readonly string[];
  readonly upper: string;
  readonly work: string;
  readonly target: string;
}

const isRoot = () => process.getuid?.() === 0;

/** One line whose length does not depend on the home: its paths are relative to it. */
export function mountOptions({ lowers, upper, work }: OverlayMount): string {
  const shared = `lowerdir=${lowers.map(escaped).join(":")},upperdir=${escaped(upper)},workdir=${escaped(work)}`;
  // Without `redirect_dir` a directory of the base can't be renamed, only copied. Ordinary users have no
  // other way.
  return isRoot() ? `nosuid,nodev,${shared},redirect_dir=on` : `${shared},userxattr`;
}

/** Words before a command that start it in the holder's namespaces. */
export function enterHolder({ pid, netNamespace }: Holder): string[] {
  return [...entering(pid), "-m", ...(netNamespace === undefined ? [] : ["-n"]), "--"];
}

/** The same, without its network. */
export function enterFiles({ pid }: Pick<Holder, "pid">): string[] {
  return [...entering(pid), "-m", "--"];
}

/** The same, but with the machine's files: for a program of ours that listens inside. */
export function enterNetwork({ pid }: Pick<Holder, "pid">): string[] {
  return [...entering(pid), "-n", "--"];
}

function entering(pid: number): string[] {
  const user = isRoot() ? [] : ["-U", "--preserve-credentials"];
  return [programPath("nsenter"), "-t", String(pid), ...user];
}

/** The path at which our own process sees what the holder has mounted. */
export function throughHolder({ pid }: Holder, path: string): string {
  return `/proc/${pid}/root${path}`;
}

/** The mount options are a comma-separated list, and layers are separated by colons. */
function escaped(path: string): string {
  return path.replace(/[\\,:]/g, (sign) => `\\${sign}`);
}

/**
 * Ends the holder and every process in its namespaces, and resolves when they are gone. The processes are
 * found by their namespaces, as long as the holder keeps the kernel from reusing the numbers. The rest, and
 * those of a holder that is gone, are found by the mark. The mark is a hint: the mounts and the network of a
 * process show whether it is true.
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
  // An earlier version recorded neither.
  const isBlank = mount === undefined && netNamespace === undefined;
  const isOf = (pid: number) => isBlank || isIn(pid, holder) || (mount !== undefined && hasMount(pid, mount));
  const marked = () => markedProcesses().flatMap((one) => (one.mark === mark ? [one.pid] : []));
  return endAll(() => marked().filter((pid) => pid !== process.pid && isOf(pid)));
}

/** Whether a process is in the holder's namespaces. */
export const isIn = (pid: number, { mountNamespace, netNamespace }: Holder) =>
  namespaceOf(pid, "mnt") === mountNamespace ||
  (netNamespace !== undefined && namespaceOf(pid, "net") === netNamespace);

/** Undefined if the holder has ended, or its pid is another process now. */
function pinNamespaces(holder: Holder): number[] | undefined {
  if (!isAlive(holder)) return undefined;
  const pins: number[] = [];
  try {
    for (const kind of ["mnt", "net"]) pins.push(openSync(`/proc/${holder.pid}/ns/${kind}`, "r"));
    if (isAlive(holder) && isIn(holder.pid, holder)) return pins;
  } catch {
    // It has just ended.
  }
  for (const pin of pins) closeSync(pin);
  return undefined;
}

/** Undefined for a process that has ended, or that belongs to another user. */
export function namespaceOf(pid: number, kind: "mnt" | "net"): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch {
    return undefined;
  }
}

/** Processes that have a mount, whatever their environment. It is slow: the kernel prints every mount. */
export function mountedBy(mount: string): number[] {
  const known = new Map<string, boolean>();
  return allPids().filter((pid) => {
    const namespace = namespaceOf(pid, "mnt");
    if (namespace === undefined) return false;
    const has = known.get(namespace) ?? hasMount(pid, mount);
    // A process that is ending shows no mounts any more, but others in its namespace still have them.
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

/**
 * The overlays among the mounts that a process sees: fields 3 and 5 of proc_pid_mountinfo(5), and the last
 * one.
 */
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

/**
 * While it is mounted anywhere, no other mount has its device. Its options show which capsule it belongs to.
 */
const nameOf = ({ device, options }: MountLine) => sha256Hex(`${device} ${options}`).slice(0, 32);

export function findMount(pid: number, target: string): string | undefined {
  const found = mountsOf(pid).findLast((one) => one.target === target);
  return found && nameOf(found);
}
