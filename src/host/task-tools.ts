/**
 * Owns which tools a task has, whatever its lane says about them: the built-in ones, the external ones, and
 * those of its MCP servers.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Workplace } from "../agent/index.ts";
import { readVariables } from "../broker/index.ts";
import { HoldfastError, type Values } from "../contract/index.ts";
import type { BegunOutcome, ToolPlace } from "../gateway/index.ts";
import type { Home } from "../home/index.ts";
import type { Tool, ToolOutcome } from "../lane/index.ts";
import type { Session } from "../session/index.ts";
import { readConfig, type Task } from "../task/index.ts";
import { Questions } from "./questions.ts";

export interface GateParts {
  readonly home: Home;
  readonly session: Session;
  readonly task: Task;
  /** Aborted when the turn is to end. */
  readonly stop: AbortSignal;
  /** How long a call is held for a person. */
  readonly holdMs: number;
  /** The directory of the door, as the task's processes see it. */
  readonly doorInside: string;
  /** The directory in which the task was asked for, from the top. */
  readonly cwd: string | undefined;
  /** Starts the commands of tools. */
  readonly work: Pick<Workplace, "start">;
  send: ToolPlace["send"];
  /** A person has to decide something. */
  waits(text: string): void;
  /** Something can't be used. */
  tell(text: string): void;
}

export interface TaskTools {
  /** With a name: the tools that it may be among. */
  list(name?: string): Promise<readonly Tool[]>;
  outcomeOf(approval: string): Promise<BegunOutcome>;
  /** Whether a call waits for the answer to this question. */
  isAwaited(question: string): boolean;
  close(): Promise<void>;
}

export async function toolsFor(parts: GateParts): Promise<TaskTools> {
  const { builtinTools, TaskPlace } = await import("../gateway/index.ts");
  const { openServers } = await import("../mcp/index.ts");
  const { home, session, task, work, cwd, send, waits, holdMs, tell } = parts;
  const { externalTools, outcomeOf } = await import("../worker/index.ts");
  const { mcp } = await readConfig(task.room, task.base);
  const questions = new Questions({
    ...{ session, sessionDir: task.room.sessionDir, task: task.number },
    ...{ clock: home.io.clock, newId: home.newId, holdMs, waits },
  });
  const ask: ToolPlace["ask"] = ({ text, isTakeOver }, gone) =>
    questions.ask(isTakeOver ? `${text}\n\n${TAKE_OVER}` : text, gone);
  const place = new TaskPlace(task, { work, cwd, send, ask });
  const builtin = builtinTools(place);
  const external = await externalTools({ home, task });
  const secrets = (names: readonly string[]) => variablesOf(home, session, names);
  const servers = await openServers({ home, session, task, servers: mcp, secrets, onFailure: tell });
  return {
    list: async (name) => [...builtin, ...external, ...(await servers.tools(name))],
    outcomeOf: async (approval) => {
      for (;;) {
        const state = outcomeOf(task.room.sessionDir, task.number, approval);
        if (state.kind === "running" && parts.stop.aborted)
          throw new HoldfastError(
            "interrupted",
            "an external action of an earlier process is still running, so this one did not begin",
          );
        // It is no child of ours, so nothing reports its end.
        if (state.kind === "running") await sleep(LOOK_MS);
        else return state.kind === "ended" ? endedAs(state.outcome) : state;
      }
    },
    isAwaited: (question) => questions.isAwaited(question),
    close: async () => {
      questions.close();
      await place.end();
      await servers.close();
    },
  };
}

const LOOK_MS = 200;

function endedAs({ outcome, text, facts }: ToolOutcome): BegunOutcome {
  return { kind: "ended", outcome: outcome === "ok" ? "ok" : "error", text, ...(facts && { facts }) };
}

async function variablesOf(home: Home, session: Session, names: readonly string[]): Promise<Values> {
  if (names.length === 0) return {};
  const values = await readVariables(home, session.id, names);
  const missing = names.find((name) => !values[name]);
  if (missing === undefined) return values;
  throw new HoldfastError("credential_missing", `there is no value for ${missing}`, { name: missing });
}

const TAKE_OVER = "The agent asks you to take over: holdfast handoff gives you its files.";

/** Whether the session's tools can do more than an agent's own. */
export async function hasMore({ task }: GateParts): Promise<boolean> {
  const { mcp } = await readConfig(task.room, task.base);
  return task.lane.tools.external.length > 0 || Object.keys(mcp).length > 0;
}
