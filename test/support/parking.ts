/**
 * Agents that park their task through the agent port, and sessions whose task is parked like that. When a
 * session process goes on with such a task, its command runs like any other.
 */
import type { Adapter } from "../../src/agent/index.ts";
import type { Budget, EventData, ExecSpec, Parked } from "../../src/contract/index.ts";
import { openHome } from "../../src/home/index.ts";
import type { Session } from "../../src/session/index.ts";
import { type Driven, runStages } from "../../src/task/index.ts";
import { hasSandbox } from "./capsules.ts";
import type { TaskHome } from "./tasks.ts";

const spec = {
  agent: {
    adapter: "exec" as const,
    command: ["sh", "-c", "echo run >> runs"],
    input: "nothing" as const,
    restart: true,
  },
  definition: "exec:sh",
  sandbox: hasSandbox,
};

/** Runs its command in a turn, and then parks or is done: one of `parks` for each time that it is driven. */
export function parkingAgent(...parks: readonly (Parked | "done")[]): Adapter<ExecSpec> {
  const left = [...parks];
  return {
    name: "exec",
    goesOn: () => true,
    async drive(work, { command }) {
      await using turn = await work.beginTurn("please");
      const { exitCode, excerpt } = await (await work.start(command)).ended;
      if (exitCode !== 0) throw new Error(`its command ended with ${exitCode}: ${excerpt}`);
      const next = left.shift();
      if (next === "done" || next === undefined) {
        await turn.end();
        return { outcome: "done", exitCode: 0, signal: null };
      }
      // Not every adapter says how its turn ended.
      if (next.reason !== "key") await turn.interrupt();
      return { outcome: "parked", parked: next };
    },
  };
}

/** `onPart`: what happens while the agent's surroundings are removed. */
export async function drive(
  home: TaskHome,
  session: Session,
  adapter: Adapter<ExecSpec>,
  onPart: () => Promise<unknown> = async () => {},
): Promise<Driven> {
  return runStages(
    {
      home: await openHome({ home: home.dir, create: false }),
      session,
      request: "task_1",
      spec,
      stop: new AbortController().signal,
      around: {
        onProgress: () => {},
        onSetup: () => {},
        onReady: () => {},
        join: async () => ({
          surroundings: {},
          part: async () => {
            await onPart();
            return { isOverQuota: false };
          },
        }),
      },
    },
    adapter,
  );
}

export async function queued(home: TaskHome, budget: Budget = {}): Promise<Session> {
  const session = await (await home.open()).openSession({ repo: home.main, title: "park", budget });
  await session.append("task_queued", { request: "task_1", spec: { ...spec, agent: { ...spec.agent } } });
  return session;
}

interface ParkedOptions {
  readonly budget?: Budget;
  /** What the session has spent before. */
  readonly metered?: Partial<EventData<"usage_metered">>;
  /** Its process dies before the session is at rest. */
  readonly isKilled?: boolean;
}

/** The id of a session whose task is parked. It is at rest, unless its process was killed. */
export async function parkedSession(
  home: TaskHome,
  parked: Parked,
  { budget, metered, isKilled }: ParkedOptions = {},
): Promise<string> {
  const session = await queued(home, budget);
  await drive(home, session, parkingAgent(parked));
  if (metered) await session.append("usage_metered", { ...usage, ...metered });
  await (isKilled ? session.abandon() : session.pause("idle"));
  return session.id;
}

export const usage: EventData<"usage_metered"> = {
  task: 1,
  request: "req_1",
  provider: "anthropic",
  model: "claude-haiku-4-5",
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  isPriced: true,
};
