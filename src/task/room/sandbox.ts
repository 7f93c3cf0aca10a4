/**
 * Owns the sandbox of a task: resolved once, from the repo, the user's settings and the task's share of the machine.
 * Where none can be made, nothing begins that wants one.
 */
import { readlinkSync, statSync } from "node:fs";
import { assertReadable, cgroupOfTasks, sandboxAround } from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import { readSettings } from "../../home/index.ts";
import type { LaneInForce } from "../../lane/index.ts";
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

/** Fails where none can be made. */
export async function sandboxOf(
  { io, repo, session }: Room,
  { quota, lane }: { readonly quota: Quota; readonly lane: LaneInForce },
): Promise<Sandbox> {
  await assertSandbox(io.homeDir);
  const around = sandboxAround(io.homeDir, repo, session.id);
  assertReadable(around);
  const tools = await toolsOf(io.homeDir, { checkout: around.at, hosts: lane.hosts });
  const cgroup = { name: cgroupOfTasks(repo, session.id), limits: cgroupLimits(quota) };
  const limits = kernelLimits(quota, around.user);
  return { ...around, tools, isReadOnly: lane.isReadOnly, limits, cgroup };
}

export interface ToolsFor {
  readonly checkout?: string;
  /** That the task may reach: then its tools keep what they fetch in its HOME. */
  readonly hosts?: readonly string[];
}

/** What tasks of a home see of the user's tools, and of what the user names in `sandbox.read`. */
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

/** Fails with the reason, and with what can be done about it. */
export async function assertSandbox(homeDir: string): Promise<void> {
  const key = machineKey();
  // A task should not pay for a question that has its answer.
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

/** Whatever may change the answer: the boot, who we are, what we may do, which bubblewrap it is. */
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
