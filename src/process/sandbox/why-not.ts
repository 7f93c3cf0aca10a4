/**
 * Owns the reasons why a machine can't make a sandbox, and what a person can do about each.
 */
import { existsSync } from "node:fs";
import { readTextOr } from "../../util/index.ts";
import { findOutsideProgram } from "../outside-program.ts";

export interface NoSandbox {
  readonly reason: string;
  readonly wayOut: string;
}

/** A part of a sandbox, and the error that it was refused with. */
export interface Tried {
  readonly what: "namespaces" | "processes" | "network" | "version" | "filter" | "user" | "whole";
  readonly said: string;
}

const isRoot = () => process.getuid?.() === 0;

export function missingProgram(): NoSandbox | undefined {
  if (process.platform !== "linux")
    return { reason: "sandboxes exist only on Linux", wayOut: "run it in a Linux machine or container" };
  if (!findOutsideProgram("bwrap"))
    return {
      reason: "bubblewrap is not installed",
      wayOut: "apt install bubblewrap, or the same with your system's package manager",
    };
  const others = ["nsenter", ...(isRoot() ? ["setpriv"] : [])];
  const missing = others.find((name) => !findOutsideProgram(name));
  if (missing === undefined) return undefined;
  const why = missing === "setpriv" ? ", so a task that root starts can't become another user" : "";
  return {
    reason: `${missing} is missing${why}`,
    wayOut: "apt install util-linux, or the same with your system's package manager",
  };
}

const CONTAINER =
  "allow this container more: --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined, as root also --cap-add SYS_ADMIN --cap-add NET_ADMIN";
const OLD_KERNEL = "use a kernel that has CONFIG_SECCOMP_FILTER, and a container that allows it";

export function whyRefused(tried: Tried): NoSandbox {
  const { reason, wayOut } = explained(tried);
  const said = tried.said.trim().split("\n").at(-1) ?? "";
  return { reason: said === "" ? reason : `${reason} (${said})`, wayOut };
}

function explained({ what, said }: Tried): NoSandbox {
  const off = whyNamespacesAreOff(said);
  if (off && what !== "filter" && what !== "user" && what !== "version") return off;
  switch (what) {
    case "namespaces":
      return ofContainer("namespaces can't be made");
    case "processes":
      return ofContainer("a /proc of its own can't be mounted, as in a container whose /proc is masked");
    case "network":
      return ofContainer("a network of its own can't be made");
    case "version":
      return {
        reason: "bubblewrap is too old to forbid namespaces inside",
        wayOut: "install 0.8 or newer",
      };
    case "filter":
      return { reason: "no filter of system calls can be set", wayOut: OLD_KERNEL };
    case "user":
      return ofContainer("root can't become another user");
    case "whole":
      return ofContainer("each of its parts can be made, but all of them together can't");
  }
}

/** An ordinary user needs user namespaces, which many systems restrict. */
function whyNamespacesAreOff(said: string): NoSandbox | undefined {
  if (isRoot() && !/uid map|RTM_NEWADDR/.test(said)) return undefined;
  const setting = (path: string) => readTextOr(`/proc/sys/${path}`, "").trim();
  if (setting("kernel/unprivileged_userns_clone") === "0")
    return { reason: "user namespaces are off", wayOut: "sysctl -w kernel.unprivileged_userns_clone=1" };
  if (setting("user/max_user_namespaces") === "0")
    return { reason: "user namespaces are off", wayOut: "sysctl -w user.max_user_namespaces=10000" };
  const isRestricted = setting("kernel/apparmor_restrict_unprivileged_userns") === "1";
  // AppArmor lets a program make the namespace, but without capabilities. The first use of one shows that.
  if (!isRestricted && !/setting up uid map: Permission denied|RTM_NEWADDR/.test(said)) return undefined;
  return {
    reason: "AppArmor keeps bubblewrap from using user namespaces",
    wayOut:
      "give bubblewrap a profile (apt install apparmor-profiles; ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/; apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict), or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
  };
}

function ofContainer(reason: string): NoSandbox {
  const isContainer = ["/.dockerenv", "/run/.containerenv"].some((path) => existsSync(path));
  return {
    reason: `${reason}${isContainer ? ", which this container does not allow" : ""}`,
    wayOut: CONTAINER,
  };
}
