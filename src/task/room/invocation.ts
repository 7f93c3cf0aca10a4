/**
 * Owns how a task's command is started: the words before it, its environment, and what it sees of its
 * session.
 */
import { join } from "node:path";
import type { HomeFile } from "../../agent/index.ts";
import { type Capsule, giveOnce, takeBack } from "../../capsule/index.ts";
import type { Values } from "../../contract/index.ts";
import {
  baseEnvironment,
  CAPSULE_MARK,
  dyingWithUs,
  inTerminal,
  type Launch,
  launch,
  limited,
  type Sandbox,
  userHome,
} from "../../process/index.ts";
import { makeSessionHome } from "../home/session-home.ts";
import { giveFiles, withGiven } from "./given.ts";
import type { RoomNetwork } from "./network.ts";
import type { Quota } from "./quota.ts";
import { makeScratch, type Room } from "./room.ts";

/** The way from inside a task to its session process: a directory with `socket` and `token`. */
export interface DoorView {
  readonly dir: string;
}

/** What a command is started with. */
export type Invocation = Omit<Launch, "descriptors" | "close"> & Partial<Launch>;

export interface InvocationOptions {
  /** Undefined: the command runs without a sandbox. */
  readonly sandbox: Sandbox | undefined;
  readonly door?: DoorView | undefined;
  readonly quota: Quota;
  /** The directory of the capsule in which it starts. Default: the top. */
  readonly cwd?: string | undefined;
  /** Whether it gets a terminal of its own. */
  readonly hasTerminal?: boolean | undefined;
  /** Gives it its network. */
  readonly network: RoomNetwork;
  /** The variables that it was given by name. They are never in its argv, which all users can read. */
  readonly values?: Values | undefined;
  /** Variables that its adapter sets. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Files that it finds in HOME. With these, it has the session's own HOME even without a sandbox. */
  readonly files?: readonly HomeFile[] | undefined;
}

/** In the sandbox /tmp is a file system of its own. */
export const DOOR_INSIDE = "/tmp/.holdfast";

export async function invocationOf(
  room: Room,
  capsule: Capsule,
  command: readonly string[],
  { sandbox, quota, door, cwd, hasTerminal, network, values, env, files }: InvocationOptions,
): Promise<Invocation> {
  const view = await capsule.attach();
  const { task, ports } = capsule.spec;
  const tmp = await makeScratch(room.sessionDir, task);
  const home = await makeSessionHome(room.sessionDir);
  const doorDir = sandbox ? DOOR_INSIDE : door?.dir;
  const own = {
    ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)])),
    ...(hasTerminal && { TERM: process.env["TERM"] ?? "xterm-256color" }),
    ...(sandbox && (await network.environment(view))),
    ...values,
    ...env,
    HOLDFAST_SESSION: room.session.id,
    HOLDFAST_TASK: String(task),
    [CAPSULE_MARK]: capsule.layout.dir,
    ...(door && { HOLDFAST_DOOR: `${doorDir}/socket`, HOLDFAST_TOKEN_FILE: `${doorDir}/token` }),
    // The program `script` reads from it how to start a command.
    ...(hasTerminal && { SHELL: "/bin/sh" }),
  };
  if (files && door) giveFiles(door.dir, files);
  const whole = files && doorDir !== undefined ? withGiven(doorDir, command) : command;
  // The terminal is made inside the sandbox, so that all of its processes are in one pid namespace.
  const inside = hasTerminal ? inTerminal(whole) : whole;
  if (!sandbox) {
    if (files) takeBack(home);
    // The shell changes the directory itself: the tree may be mounted only at its own place.
    const start = join(view.workTree, cwd ?? ".");
    const inTree = ["/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "holdfast", start];
    const limits = limited({ maxFileBytes: quota.maxBytes });
    const argv = [...view.enter, ...dyingWithUs(), ...limits, ...inTree, ...inside];
    return { argv, cwd: "/", env: baseEnvironment({ HOME: files ? home : userHome(), ...own }) };
  }
  for (const dir of [home, tmp]) giveOnce(sandbox.user, dir);
  return launch(sandbox, {
    command: inside,
    tree: view.workTree,
    entry: view,
    cwd,
    env: baseEnvironment({ HOME: home, ...own }),
    readable: door ? [[door.dir, DOOR_INSIDE]] : [],
    writable: [home],
    tmp,
  });
}
