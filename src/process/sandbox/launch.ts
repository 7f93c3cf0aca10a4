/**
 * Owns how a process is started in a sandbox: the words before its command, its environment, and the
 * descriptors that these words read.
 *
 * sandbox-1 No process that was started in the sandbox outlives the one that started it.
 * sandbox-2 Nothing outside the capsule and the task's own directories can be written, including the kernel's
 *    settings.
 * sandbox-3 It has no network but the one that it is put into, which has no part of the machine's.
 */
import { closeSync } from "node:fs";
import { join } from "node:path";
import { present } from "../../util/index.ts";
import { makeCgroup } from "../cgroup.ts";
import { openData } from "../data-descriptor.ts";
import { type FirstWrite, writingFirst } from "../first-writes.ts";
import {
  firstToEnd,
  limited,
  limitingFirst,
  limitingScript,
  mostOfCore,
  type ProcessLimits,
} from "../limits.ts";
import { programPath } from "../outside-program.ts";
import { HOST_NAME, ownFiles } from "./identity.ts";
import { lateVariables } from "./late-variables.ts";
import { dirsInside, parentDirs, shownArguments } from "./mounts.ts";
import { minimalRoot } from "./root.ts";
import type { Sandbox } from "./sandbox.ts";
import { openSeccomp } from "./seccomp.ts";
import { becoming } from "./user.ts";

export interface LaunchOptions {
  readonly command: readonly string[];
  /** The capsule's files, as seen from where `entry` leads. */
  readonly tree: string;
  /** The namespaces that it is started in, and whether they include a network. */
  readonly entry: Entry;
  readonly env: Readonly<Record<string, string>>;
  /** The directory of the files that it starts in. Default: the top. */
  readonly cwd?: string | undefined;
  /** More files that it may read, with their paths inside. */
  readonly readable?: readonly (readonly [string, string])[];
  /** Writable, at the same path inside. */
  readonly writable?: readonly string[];
  /**
   * Its TMPDIR. It has a short path inside, because programs make sockets in it, whose paths have at most 107
   * bytes.
   */
  readonly tmp?: string;
  readonly isReadOnly?: boolean;
}

export interface Entry {
  /** Words that go before all others. */
  readonly enter: readonly string[];
  /** Otherwise it gets a network of its own, in which it is alone. */
  readonly hasNetwork: boolean;
}

/** What is needed to start the program. */
export interface Launch {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Descriptors of ours. The program has them as 3 and up. */
  readonly descriptors: readonly number[];
  /** Called when the program has them, or will not be started. */
  close(): void;
}

/**
 * The shell goes to the directory as the task's user, which bubblewrap does not run as yet. If the command
 * can't be run, the shell reports it in its usual words and with its usual status.
 */
const SCRIPT = 'cd "$0" && exec "$@"';
const TMP_INSIDE = "/tmp/task-tmp";
/** The first one after a program's own streams. */
const FIRST_DESCRIPTOR = 3;

export function launch(sandbox: Sandbox, options: LaunchOptions): Launch {
  const descriptors: number[] = [];
  const close = () => {
    for (const fd of descriptors.splice(0)) closeSync(fd);
  };
  const given = (fd: number) => String(FIRST_DESCRIPTOR + descriptors.push(fd) - 1);
  const { user, tools } = sandbox;
  const { outer, inner } = limitsOf(sandbox);
  const env = { ...options.env, ...tools.env, ...(options.tmp && { TMPDIR: TMP_INSIDE }) };
  const late = lateVariables(env);
  try {
    const argv = [
      // Done before privileges are dropped: what an ordinary process sets, it can also undo.
      ...writingFirst([...countedIn(sandbox), ...firstToEnd()]),
      ...limited(outer),
      ...options.entry.enter,
      programPath("bwrap"),
      ...namespaces(sandbox, options.entry),
      ...viewOf(sandbox, options, given),
      "--seccomp",
      given(openSeccomp()),
      "--",
      ...(user ? becoming(user, sandbox.at) : []),
      ...[
        "/bin/sh",
        "-c",
        `${user ? "" : limitingFirst(inner)}${limitingScript(inner)}${late.naming}${SCRIPT}`,
      ],
      join(sandbox.at, options.cwd ?? "."),
      ...options.command,
    ];
    return { argv, cwd: "/", env: late.env, descriptors, close };
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * `outer`: for bubblewrap too, whose own process inside belongs to an ordinary user, who could make it start others.
 * Processes are counted inside alone: outside, all of the user's count. `inner`: a shell sets them, because another
 * program would make every command start later.
 */
function limitsOf({ user, limits }: Sandbox): {
  readonly outer: ProcessLimits;
  readonly inner: ProcessLimits;
} {
  const maxCoreBytes = mostOfCore();
  const { maxProcesses, ...others } = limits;
  if (!user) return { outer: { ...others, maxCoreBytes }, inner: present({ maxProcesses }) };
  return maxCoreBytes === 0
    ? { outer: {}, inner: { ...limits, maxCoreBytes } }
    : { outer: { maxCoreBytes }, inner: limits };
}

function countedIn({ cgroup }: Sandbox): readonly FirstWrite[] {
  return (cgroup && makeCgroup(cgroup.name, cgroup.limits)?.entry) ?? [];
}

function namespaces({ user }: Sandbox, { hasNetwork }: Entry): string[] {
  const args = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"];
  args.push("--die-with-parent", "--new-session", "--hostname", HOST_NAME);
  if (!hasNetwork) args.push("--unshare-net");
  // Root keeps only this one capability, and drops it inside. An ordinary user gets a namespace without any
  // capability.
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

/** What others name comes first: only what we bind ourselves may uncover a hidden path. */
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
    ...dirsInside(tools.covered, [...borrowed, ...hidden, ...readable.map(([, to]) => to), ...writable, at]),
    ...parentDirs([...borrowed, ...hidden], tools.read),
    ...borrowed.flatMap((path) => ["--ro-bind", path, path]),
    ...hidden.flatMap((path) => ["--perms", "0755", "--tmpfs", path]),
    ...parentDirs([...readable.map(([, to]) => to), ...writable, at]),
    ...readable.flatMap(([from, to]) => ["--ro-bind", from, to]),
    ...writable.flatMap((path) => ["--bind", path, path]),
    ...(tmp ? ["--bind", tmp, TMP_INSIDE] : []),
    ...[isReadOnly ? "--ro-bind" : "--bind", tree, at],
    // Directories that were made only to hold others must not be writable.
    ...shown.seal,
    ...[...hidden, "/"].flatMap((path) => ["--remount-ro", path]),
    ...["--chdir", "/"],
  ];
}
