/**
 * Owns running `capsule.setup` for a task: in its sandbox, under its quota, and with the hosts that a person
 * accepted for it. The hosts that it asked for and was refused are recorded, as of turn 0 of its task.
 */
import { type RunSetup, type SetupNetwork, setupRunner } from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import { Contacts, contactFields, patternFor, type RefusedHost } from "../../network/index.ts";
import { refusalsFromNow, type Sandbox } from "../../process/index.ts";
import { withHosts } from "./network.ts";
import type { Quota } from "./quota.ts";
import { type Exceeded, Watch } from "./quota-watch.ts";
import type { Room } from "./room.ts";
import { toolsOf } from "./sandbox.ts";

type SetupRoom = Pick<Room, "io" | "session">;

export interface SetupOf {
  /** Default: the task that is about to begin. */
  readonly task?: number;
  /** The sandbox of the task. Undefined: none. */
  readonly sandbox: Sandbox | undefined;
  /** The hosts that it may reach. */
  readonly hosts: readonly string[];
  readonly quota: Quota;
  readonly onOutput: (chunk: Buffer) => void;
  readonly signal?: AbortSignal | undefined;
}

export function setupFor(room: SetupRoom, { quota, hosts, task, ...options }: SetupOf): RunSetup {
  const { io, session } = room;
  return async (request) => {
    const contacts = new Contacts();
    const refusals = new Set<string>();
    const onRefused = ({ host, port, sentence }: RefusedHost) => {
      refusals.add(patternFor(host, port));
      options.onOutput(Buffer.from(`holdfast: ${sentence}\n`));
    };
    const network: SetupNetwork = (work) => withHosts({ hosts, onRefused, contacts, allowing }, work);
    const sandbox = options.sandbox && (await reaching(io.homeDir, options.sandbox, hosts));
    const refused = sandbox?.cgroup && refusalsFromNow(sandbox.cgroup.name);
    const runSetup = setupRunner({
      ...options,
      sandbox,
      ...(sandbox && { network, hint: () => hintFor(hosts, [...refusals]) }),
      watch: ({ pid, dirs, end }) => {
        const watched = { pid, dirs, quota, refused };
        const watch = new Watch(io.clock, watched, (exceeded) => end(tooMuch(exceeded)));
        return { [Symbol.dispose]: () => void watch.end() };
      },
    });
    try {
      await runSetup(request);
    } finally {
      const counts = contacts.take();
      const number = task ?? (session.state.task?.number ?? 0) + 1;
      if (counts) await session.append("network_used", { task: number, turn: 0, ...contactFields(counts) });
    }
  };
}

const allowing = (host: string) => `setup_hosts: [${host}] in holdfast.yaml`;

/** How many refused hosts are named to a person. */
const MAX_NAMED = 3;

function hintFor(hosts: readonly string[], refused: readonly string[]): string {
  const names = "list the hosts that it may reach under setup_hosts in holdfast.yaml";
  if (refused.length > 0) return `it was refused ${refused.slice(0, MAX_NAMED).join(", ")}; ${names}`;
  return hosts.length > 0 ? "" : `it may reach no host; ${names}`;
}

/**
 * Its tools store what they fetch from its own hosts in a place of its own, whatever hosts the task may
 * reach.
 */
async function reaching(homeDir: string, task: Sandbox, hosts: readonly string[]): Promise<Sandbox> {
  return { ...task, tools: await toolsOf(homeDir, { checkout: task.at, hosts }) };
}

const tooMuch = ({ limit, used, allowed }: Exceeded) =>
  new HoldfastError(
    "quota_reached",
    `capsule.setup exceeded its quota and was ended: ${limit}, ${used} of ${allowed}`,
    { limit, used, allowed },
  );
