/**
 * Owns how `capsule.setup` is run for a task: in its sandbox, and under its quota.
 */
import { type RunSetup, setupRunner } from "../../capsule/index.ts";
import { HoldfastError } from "../../contract/index.ts";
import type { Sandbox } from "../../process/index.ts";
import type { Quota } from "./quota.ts";
import { type Exceeded, Watch } from "./quota-watch.ts";
import type { Room } from "./room.ts";

export interface SetupOf {
  /** Undefined: without one. */
  readonly sandbox: Sandbox | undefined;
  readonly quota: Quota;
  readonly onOutput: (chunk: Buffer) => void;
  readonly signal?: AbortSignal | undefined;
}

export function setupFor({ io }: Pick<Room, "io">, { quota, ...options }: SetupOf): RunSetup {
  const { sandbox } = options;
  return setupRunner({
    ...options,
    watch: ({ pid, dirs, end }) => {
      const watch = new Watch(io.clock, { pid, dirs, quota, sandbox }, (exceeded) => end(tooMuch(exceeded)));
      return { [Symbol.dispose]: () => void watch.end() };
    },
  });
}

const tooMuch = ({ limit, used, allowed }: Exceeded) =>
  new HoldfastError(
    "quota_reached",
    `capsule.setup took more than its share and was ended: ${limit}, ${used} of ${allowed}`,
    { limit, used, allowed },
  );
