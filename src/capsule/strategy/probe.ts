/**
 * Owns the answer to "what can this machine do?": each strategy is tried for real, in the home's own
 * directory.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findOutsideProgram, startHolder } from "../../process/index.ts";
import {
  parseObject,
  probePath,
  readTextOr,
  realDisk,
  replaceFile,
  temporaryPath,
} from "../../util/index.ts";
import type { StrategyName } from "../dir/capsule-dir.ts";
import { removeTree } from "../files/directories.ts";
import { copySharing, makeShareable } from "../files/share.ts";
import type { Probe } from "./strategy.ts";

export async function probeStrategies(homeDir: string): Promise<Probe[]> {
  return [await probe("overlay", homeDir), await probe("clone", homeDir), await probe("worktree", homeDir)];
}

/** Like `probe`, but remembered until the next boot, so that tasks need not wait for a known answer. */
export async function isAvailable(
  strategy: StrategyName,
  homeDir: string,
): Promise<{ isAvailable: boolean; detail: string }> {
  const path = probePath(homeDir);
  const key = `${strategy}:${process.getuid?.()}:${readTextOr("/proc/sys/kernel/random/boot_id", "").trim()}`;
  const known = parseObject(readTextOr(path, ""))?.[key];
  if (known === true) return { isAvailable: true, detail: "" };
  const found = await probe(strategy, homeDir);
  if (found.isAvailable) await replaceFile(realDisk, path, Buffer.from(JSON.stringify({ [key]: true })));
  return found;
}

export async function probe(strategy: StrategyName, homeDir: string): Promise<Probe> {
  if (strategy === "worktree")
    return { strategy, isAvailable: true, detail: "git checkouts work everywhere" };
  const dir = temporaryPath(join(homeDir, "probe"));
  try {
    await mkdir(dir, { mode: 0o700 });
    await makeShareable(join(dir, "lower"));
    await writeFile(join(dir, "lower", "file"), "probe");
    const detail = strategy === "overlay" ? await tryOverlay(dir) : await tryClone(dir);
    return { strategy, isAvailable: true, detail };
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";
    return {
      strategy,
      isAvailable: false,
      detail: strategy === "overlay" ? `${reason}${blockedBy()}` : reason,
    };
  } finally {
    await removeTree(dir);
  }
}

/** The holder never gets past the mount: if we are killed meanwhile, it ends by itself (holder-2). */
async function tryOverlay(dir: string): Promise<string> {
  for (const name of ["upper", "work", "tree"]) await mkdir(join(dir, name));
  let isMounted = false;
  const mount = { lowers: ["lower"], upper: "upper", work: "work", target: join(dir, "tree") };
  const record = async () => {
    isMounted = true;
    throw new Error("the test of overlays ended");
  };
  await startHolder({ cwd: dir, mark: dir, mount, hasNetwork: false, record }).catch((error: unknown) => {
    if (!isMounted) throw error;
  });
  return process.getuid?.() === 0 ? "as root" : "in a user namespace";
}

async function tryClone(dir: string): Promise<string> {
  await copySharing(join(dir, "lower"), join(dir, "copy"));
  return "the file system shares blocks between copies";
}

/** Common obstacles, and how to remove them. */
function blockedBy(): string {
  if (process.platform !== "linux") return " (overlays exist only on Linux)";
  const setting = (path: string) => readTextOr(`/proc/sys/${path}`, "").trim();
  if (!findOutsideProgram("unshare") || !findOutsideProgram("nsenter"))
    return " (unshare and nsenter are missing: install util-linux)";
  if (setting("kernel/apparmor_restrict_unprivileged_userns") === "1")
    return " (AppArmor keeps users from making namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for unshare)";
  if (setting("kernel/unprivileged_userns_clone") === "0")
    return " (user namespaces are off: sysctl kernel.unprivileged_userns_clone=1)";
  if (setting("user/max_user_namespaces") === "0")
    return " (user namespaces are off: sysctl user.max_user_namespaces=10000)";
  return "";
}
