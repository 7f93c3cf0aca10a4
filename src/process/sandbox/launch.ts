/**
 * Owns how a process is started in a sandbox: the words before its command, its environment, and the descriptors that
 * these words read.
 *
 * Q2 No process that was started in the sandbox outlives the one that started it.
 * Q3 Nothing outside the capsule and the task's own directories can be written, the kernel's settings included.
 * Q7 It has no network but the one that it is put into, which has nothing of the machine's.
 */
import { closeSync } from "node:fs";
import { join } from "node:path";
import { makeCgroup } from "../cgroup.ts";
import { openData } from "../data-descriptor.ts";
import { firstToEnd, limited } from "../limits.ts";
import { programPath } from "../outside-program.ts";
import { HOST_NAME, ownFiles } from "./identity.ts";
import { lateVariables } from "./late-variables.ts";
import { parentDirs, shownArguments } from "./mounts.ts";
import { minimalRoot } from "./root.ts";
import type { Sandbox } from "./sandbox.ts";
import { openSeccomp } from "./seccomp.ts";
import { becoming } from "./user.ts";

export interface LaunchOptions {
  readonly command: readonly string[];
  /** The capsule's files, as seen from where `entry` leads. */
  readonly tree: string;
  /** The namespaces that it is started in, and whether a network is among them. */
  readonly entry: Entry;
  readonly env: Readonly<Record<string, string>>;
  /** The directory of the files that it starts in. Default: the top. */
  readonly cwd?: string | undefined;
  /** More that it may read, and where that stands inside. */
  readonly readable?: readonly (readonly [string, string])[];
  /** Writable, and at their own path. */
  readonly writable?: readonly string[];
  /** Its TMPDIR, which stands at a short path inside: programs make sockets in it, whose paths have 107 bytes at most. */
  readonly tmp?: string;
  readonly isReadOnly?: boolean;
}

export interface Entry {
  /** Words that go before all others. */
  readonly enter: readonly string[];
  /** Otherwise it gets one of its own, in which it is alone. */
  readonly hasNetwork: boolean;
}

/** What a program is started with. */
export interface Launch {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Ours; the program has them as 3 and up. */
  readonly descriptors: readonly number[];
  /** When the program has them, or will not be started. */
  close(): void;
}

/**
 * It goes to the directory as the task's user, whom bubblewrap is not yet. And it says what can't be run in words that
 * people know, and with the status that programs do.
 */
const SCRIPT = 'cd "$0" && exec "$@"';
const TMP_INSIDE = "/tmp/task-tmp";
/** The first behind a program's own streams. */
const FIRST_DESCRIPTOR = 3;

export function launch(sandbox: Sandbox, options: LaunchOptions): Launch {
  const descriptors: number[] = [];
  const close = () => {
    for (const fd of descriptors.splice(0)) closeSync(fd);
  };
  const given = (fd: number) => String(FIRST_DESCRIPTOR + descriptors.push(fd) - 1);
  const { user, tools, limits } = sandbox;
  const env = { ...options.env, ...tools.env, ...(options.tmp && { TMPDIR: TMP_INSIDE }) };
  const late = lateVariables(env);
  try {
    const argv = [
      ...countedIn(sandbox),
      // Before any power is dropped: what an ordinary process sets, it can take back.
      ...firstToEnd(),
      ...options.entry.enter,
      programPath("bwrap"),
      ...namespaces(sandbox, options.entry),
      ...viewOf(sandbox, options, given),
      "--seccomp",
      given(openSeccomp()),
      "--",
      ...(user ? becoming(user, sandbox.at) : []),
      ...limited({ maxCoreBytes: 0, ...limits }),
      ...["/bin/sh", "-c", late.naming + SCRIPT],
      join(sandbox.at, options.cwd ?? "."),
      ...options.command,
    ];
    return { argv, cwd: "/", env: late.env, descriptors, close };
  } catch (error) {
    close();
    throw error;
  }
}

function countedIn({ cgroup }: Sandbox): readonly string[] {
  return (cgroup && makeCgroup(cgroup.name, cgroup.limits)?.enter) ?? [];
}

function namespaces({ user }: Sandbox, { hasNetwork }: Entry): string[] {
  const args = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"];
  args.push("--die-with-parent", "--new-session", "--hostname", HOST_NAME);
  if (!hasNetwork) args.push("--unshare-net");
  // Root drops its power inside, where it has none but that; an ordinary user gets a namespace that has no other in it.
  if (user)
    args.push(
      "--cap-drop",
      "ALL",
      ...["SETUID", "SETGID", "SETPCAP"].flatMap((cap) => ["--cap-add", `CAP_${cap}`]),
    );
  else if (process.getuid?.() === 0) args.push("--cap-drop", "ALL");
  else args.push("--unshare-user", "--disable-userns");
  return args;
}

/** What is named by others comes first: nothing uncovers what is hidden but what we bind ourselves. */
function viewOf(sandbox: Sandbox, options: LaunchOptions, given: (fd: number) => string): string[] {
  const { at, borrowed, hidden, tools } = sandbox;
  const { tree, writable = [], tmp } = options;
  const readable = [...sandbox.readable, ...(options.readable ?? [])];
  const isReadOnly = options.isReadOnly ?? sandbox.isReadOnly;
  const user = sandbox.user ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const shown = shownArguments(tools);
  const own = ownFiles(user, options.env["HOME"] ?? "/");
  return [
    ...minimalRoot(user),
    ...own.flatMap(([path, text]) => ["--perms", "0644", "--ro-bind-data", given(openData(text)), path]),
    ...shown.show,
    ...parentDirs([...borrowed, ...hidden], tools.read),
    ...borrowed.flatMap((path) => ["--ro-bind", path, path]),
    ...hidden.flatMap((path) => ["--perms", "0755", "--tmpfs", path]),
    ...parentDirs([...readable.map(([, to]) => to), ...writable, at]),
    ...readable.flatMap(([from, to]) => ["--ro-bind", from, to]),
    ...writable.flatMap((path) => ["--bind", path, path]),
    ...(tmp ? ["--bind", tmp, TMP_INSIDE] : []),
    ...[isReadOnly ? "--ro-bind" : "--bind", tree, at],
    // What was made empty to stand things in is not a place to write to.
    ...shown.seal,
    ...[...hidden, "/"].flatMap((path) => ["--remount-ro", path]),
    ...["--chdir", "/"],
  ];
}
