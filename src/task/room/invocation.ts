/**
 * Owns what a task's command is started with: the words before it, its environment, and what it sees of its session.
 */
import { join } from "node:path";
import { type Capsule, sandboxAround } from "../../capsule/index.ts";
import type { Values } from "../../contract/index.ts";
import {
  baseEnvironment,
  CAPSULE_MARK,
  dyingWithUs,
  inTerminal,
  limited,
  sandboxed,
  userHome,
} from "../../process/index.ts";
import { present } from "../../util/index.ts";
import { makeSessionHome } from "../home/session-home.ts";
import { kernelLimits, type Quota } from "./quota.ts";
import { makeScratch, type Room } from "./room.ts";

/** The way from inside a task to its session process: a directory with `socket` and `token`. */
export interface DoorView {
  readonly dir: string;
}

export interface Invocation {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface InvocationOptions {
  readonly isSandboxed: boolean;
  readonly door?: DoorView | undefined;
  readonly quota: Quota;
  /** The directory of the capsule that it starts in. Default: the top. */
  readonly cwd?: string | undefined;
  /** Whether it gets a terminal of its own. */
  readonly hasTerminal?: boolean | undefined;
  /** What it was given by name. Never a word of its argv, which everybody can read. */
  readonly values?: Values | undefined;
}

/** In the sandbox /tmp is a file system of its own. */
const DOOR_INSIDE = "/tmp/.holdfast";

export async function invocationOf(
  room: Room,
  capsule: Capsule,
  command: readonly string[],
  { isSandboxed, quota, door, cwd, hasTerminal, values }: InvocationOptions,
): Promise<Invocation> {
  const view = await capsule.attach();
  const { task, ports } = capsule.spec;
  const tmp = await makeScratch(room.sessionDir, task);
  const home = await makeSessionHome(room.sessionDir);
  const doorDir = isSandboxed ? DOOR_INSIDE : door?.dir;
  const own = {
    ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)])),
    ...(hasTerminal && { TERM: process.env["TERM"] ?? "xterm-256color" }),
    ...values,
    HOLDFAST_SESSION: room.session.id,
    HOLDFAST_TASK: String(task),
    [CAPSULE_MARK]: capsule.layout.dir,
    ...(door && { HOLDFAST_DOOR: `${doorDir}/socket`, HOLDFAST_TOKEN_FILE: `${doorDir}/token` }),
    // `script` asks it how to start a command.
    ...(hasTerminal && { SHELL: "/bin/sh" }),
  };
  // Inside the sandbox, so that the terminal's processes are all in one pid namespace.
  const inside = hasTerminal ? inTerminal(command) : command;
  const limits = limited(kernelLimits(quota, isSandboxed));
  if (!isSandboxed) {
    // The shell goes there itself: the tree may be mounted only where it stands.
    const start = join(view.workTree, cwd ?? ".");
    const inTree = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "holdfast", start];
    const argv = [...view.enter, ...dyingWithUs(), ...limits, ...inTree, ...inside];
    return { argv, cwd: "/", env: baseEnvironment({ HOME: userHome(), ...own }) };
  }
  const around = sandboxAround(room.io.homeDir, room.repo);
  const sandbox = sandboxed({
    ...around,
    ...(door && { readable: [...around.readable, [door.dir, DOOR_INSIDE]] }),
    ...present({ cwd }),
    tree: view.workTree,
    writable: [home, tmp],
  });
  return {
    // A shell says what can't be run in words that people know, and with the status that programs do.
    argv: [...view.enter, ...sandbox, ...limits, "sh", "-c", 'exec "$@"', "holdfast", ...inside],
    cwd: "/",
    env: baseEnvironment({ HOME: home, TMPDIR: tmp, ...own }),
  };
}
