/**
 * Owns the sandbox of a task. It is resolved once, from the repo, the user's settings and the task's quota.
 * If no sandbox can be made, nothing that needs one is started.
 */
import { readlinkSync, statSync } from "node:fs";
import { assertReadable, cgroupOfTasks, sandboxAround } from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import { readSettings } from "../../home/index.ts";
import type { Lane } from "../../lane/index.ts";
import { findHomeRuntimeDir } from "../../mail/index.ts";
import { reaches } from "../../network/index.ts";
import {
  findOutsideProgram,
  findTools,
  type Sandbox,
  type Tools,
  trySandbox,
  userHome,
} from "../../process/index.ts";
import {
  parseObject,
  readTextOr,
  realDisk,
  replaceFile,
  sandboxProbePath,
  sha256Hex,
} from "../../util/index.ts";
import { cgroupLimits, kernelLimits, type Quota } from "./quota.ts";
import type { Room } from "./room.ts";

/** Fails if no sandbox can be made, or if a new task's processes could not read the repo. */
export async function sandboxOf(room: Room, of: SandboxFor): Promise<Sandbox> {
  assertReadable(sandboxAround(room.io.homeDir, room.repo, room.session.id));
  return knownSandboxOf(room, of);
}

export interface SandboxFor {
  readonly quota: Quota;
  readonly lane: Lane;
}

/** For a session whose task had a sandbox: what its processes could read then, they can read now. */
export async function knownSandboxOf(
  { io, repo, session }: Room,
  { quota, lane }: SandboxFor,
): Promise<Sandbox> {
  await assertSandbox(io.homeDir);
  const around = sandboxAround(io.homeDir, repo, session.id);
  const tools = await toolsOf(io.homeDir, { checkout: around.at, hosts: lane.hosts });
  const cgroup = { name: cgroupOfTasks(repo, session.id), limits: cgroupLimits(quota) };
  const limits = kernelLimits(quota, around.user);
  return { ...around, tools, isReadOnly: lane.isReadOnly, limits, cgroup };
}

export interface ToolsFor {
  readonly checkout?: string;
  /** Hosts that the task may reach. With any, its tools store what they fetch in its HOME. */
  readonly hosts?: readonly string[];
}

/**
 * What tasks of a home see of the user's tools, and the paths that the user's settings name in
 * `sandbox.read`.
 */
export async function toolsOf(homeDir: string, { checkout, hosts = [] }: ToolsFor = {}): Promise<Tools> {
  const runtime = findHomeRuntimeDir(homeDir);
  const apart = runtime === undefined ? [homeDir] : [homeDir, runtime];
  const { read } = (await readSettings(homeDir)).sandbox;
  return findTools({
    env: process.env,
    userHome: userHome(),
    read,
    apart,
    checkout,
    reaches: (host) => reaches(hosts, host),
  });
}

/** Fails with the reason, and with what to do about it. */
export async function assertSandbox(homeDir: string): Promise<void> {
  const key = machineKey();
  // The answer is cached, so that not every task has to try.
  if (parseObject(readTextOr(sandboxProbePath(homeDir), ""))?.["madeUnder"] === key) return;
  const refusal = await trySandbox();
  if (refusal) {
    const { reason, wayOut } = refusal;
    throw new HoldfastError("sandbox_missing", `no sandbox can be made: ${reason}; ${wayOut}`, { reason });
  }
  await replaceFile(realDisk, sandboxProbePath(homeDir), Buffer.from(JSON.stringify({ madeUnder: key })));
}

export async function canSandbox(homeDir: string): Promise<boolean> {
  return assertSandbox(homeDir).then(
    () => true,
    () => false,
  );
}

/**
 * Everything that may change the answer: the boot, the user, the process's rights, the bubblewrap program.
 */
function machineKey(): string {
  const rights = readTextOr("/proc/self/status", "").match(/^(CapEff|CapBnd|NoNewPrivs|Seccomp):.*$/gm);
  const settings = [
    "kernel/random/boot_id",
    "kernel/apparmor_restrict_unprivileged_userns",
    "kernel/unprivileged_userns_clone",
    "user/max_user_namespaces",
  ].map((name) => readTextOr(`/proc/sys/${name}`, ""));
  const programs = ["bwrap", "setpriv", "nsenter"].map((name) => {
    const path = findOutsideProgram(name);
    return path === undefined ? null : [path, statSync(path).mtimeMs];
  });
  const parts = [process.getuid?.(), readlinkSync("/proc/self/ns/user"), rights, settings, programs];
  return sha256Hex(JSON.stringify(parts));
}
