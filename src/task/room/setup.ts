/**
 * Owns how `capsule.setup` is run for a task: in its sandbox, under its quota, and with the hosts that
 * a person accepted for it.
 */
import { type RunSetup, type SetupNetwork, setupRunner } from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import type { Refusal } from "../../network/index.ts";
import { refusalsFromNow, type Sandbox } from "../../process/index.ts";
import { withHosts } from "./network.ts";
import type { Quota } from "./quota.ts";
import { type Exceeded, Watch } from "./quota-watch.ts";
import type { Room } from "./room.ts";
import { toolsOf } from "./sandbox.ts";

export interface SetupOf {
  /** The task's. Undefined: without one. */
  readonly sandbox: Sandbox | undefined;
  /** That it may reach. */
  readonly hosts: readonly string[];
  readonly quota: Quota;
  readonly onOutput: (chunk: Buffer) => void;
  readonly signal?: AbortSignal | undefined;
}

export function setupFor({ io }: Pick<Room, "io">, { quota, hosts, ...options }: SetupOf): RunSetup {
  const onRefused = ({ sentence }: Refusal) => options.onOutput(Buffer.from(`holdfast: ${sentence}\n`));
  const network: SetupNetwork = (work) => withHosts(hosts, onRefused, work);
  return async (request) => {
    const sandbox = options.sandbox && (await reaching(io.homeDir, options.sandbox, hosts));
    const refused = sandbox?.cgroup && refusalsFromNow(sandbox.cgroup.name);
    const runSetup = setupRunner({
      ...options,
      sandbox,
      ...(sandbox && hosts.length > 0 && { network }),
      watch: ({ pid, dirs, end }) => {
        const watched = { pid, dirs, quota, refused };
        const watch = new Watch(io.clock, watched, (exceeded) => end(tooMuch(exceeded)));
        return { [Symbol.dispose]: () => void watch.end() };
      },
    });
    await runSetup(request);
  };
}

/** Its tools keep what they may fetch from its own hosts in its own place, whatever the task may reach. */
async function reaching(homeDir: string, task: Sandbox, hosts: readonly string[]): Promise<Sandbox> {
  return { ...task, tools: await toolsOf(homeDir, { checkout: task.at, hosts }) };
}

const tooMuch = ({ limit, used, allowed }: Exceeded) =>
  new HoldfastError(
    "quota_reached",
    `capsule.setup took more than its share and was ended: ${limit}, ${used} of ${allowed}`,
    { limit, used, allowed },
  );
