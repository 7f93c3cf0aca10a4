/**
 * Owns how an action gets to its worker and back: the worker is started and recorded, gets its order, and
 * reports. If it reports nothing, its files show what happened.
 */
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { declarationHash } from "../approval/index.ts";
import { brokerEnvironment } from "../broker/index.ts";
import { HoldfastError, type Json, type JsonObject } from "../contract/index.ts";
import type { ActingContext, ActingGrant, Prepared, ToolOutcome } from "../lane/index.ts";
import { limited, ownProgram, SMALL_HEAP, startWaiting } from "../process/index.ts";
import { logDir, parseObject, signalIfThere } from "../util/index.ts";
import { outcomeOf, writeWorker } from "./actions.ts";
import { assertNoneActs, clearGround } from "./ground.ts";
import { type Declaration, type Ground, isActionId, type Order } from "./order.ts";
import type { ActingPlace } from "./place.ts";

export interface Asked {
  readonly tool: string;
  readonly input: JsonObject;
  readonly declaration: Declaration;
  readonly args: JsonObject;
  readonly prepared: Pick<Prepared, "target" | "tree">;
  /** Called when the grant is there; null if the tool uses no files and starts no program. */
  readonly makeGround: ((signal: AbortSignal) => Promise<Ground>) | null;
}

/** Resolves when its outcome is on disk, or when nothing has happened. */
export async function act(
  place: ActingPlace,
  asked: Asked,
  grant: ActingGrant,
  call: Pick<ActingContext, "signal" | "action">,
): Promise<ToolOutcome> {
  const { home, task } = place;
  const { session, sessionDir } = task.room;
  const { tool, input, declaration, args, prepared } = asked;
  const id = grant?.approval ?? call.action;
  if (!isActionId(id))
    throw new HoldfastError("grant_invalid", "the grant is not valid: it names no approval");
  // Before the `try`: the ground of another action must stay.
  if (asked.makeGround) assertNoneActs(task);
  try {
    const order: Order = {
      version: 1,
      id,
      homeDir: home.dir,
      sessionDir,
      action: {
        home: home.id,
        user: session.state.user,
        session: session.id,
        task: task.number,
        lane: task.lane.name,
        tool,
        schema: declarationHash(input, { ...declaration } as unknown as Json),
        args,
        target: prepared.target,
        tree: prepared.tree,
      },
      grant,
      input,
      declaration,
      ground: asked.makeGround && (await asked.makeGround(call.signal)),
    };
    return await tell(place, order, call.signal);
  } finally {
    if (asked.makeGround) await clearGround(task);
  }
}

async function tell({ home, task }: ActingPlace, order: Order, signal: AbortSignal): Promise<ToolOutcome> {
  const { sessionDir } = task.room;
  if (signal.aborted) return { outcome: "refused", text: "the call was cancelled before anything was done" };
  const { pid, output, feed } = await startWorker(home, sessionDir);
  // worker-3
  const forget = await writeWorker(sessionDir, task.number, order.id, pid);
  const stop = () => signalIfThere(pid, "SIGTERM");
  signal.addEventListener("abort", stop, { once: true });
  feed(JSON.stringify(order));
  if (signal.aborted) stop();
  try {
    const told = toldIn(await text(output));
    if (told) return told;
    // Its output ends with the worker, which may be there a moment longer, but does nothing any more.
    forget();
    return lookedUp(sessionDir, task.number, order.id);
  } finally {
    forget();
    signal.removeEventListener("abort", stop);
  }
}

async function startWorker(home: ActingPlace["home"], sessionDir: string) {
  mkdirSync(logDir(sessionDir), { recursive: true, mode: 0o700 });
  const logFd = openSync(join(logDir(sessionDir), "worker.log"), "a", 0o600);
  try {
    // A signal must not open a debugger, which would show all of the process's memory.
    const node = [process.execPath, ...SMALL_HEAP, "--disable-sigusr1", ownProgram("worker")];
    return await startWaiting([...limited({ maxCoreBytes: 0 }), ...node], {
      env: brokerEnvironment(home),
      logFd,
    });
  } finally {
    closeSync(logFd);
  }
}

function toldIn(line: string): ToolOutcome | undefined {
  const { outcome, text: said, facts } = parseObject(line) ?? {};
  if (outcome !== "ok" && outcome !== "error" && outcome !== "refused") return undefined;
  return { outcome, text: String(said), ...(facts !== undefined && { facts: facts as JsonObject }) };
}

/** For a worker that was killed. */
function lookedUp(sessionDir: string, task: number, id: string): ToolOutcome {
  const state = outcomeOf(sessionDir, task, id);
  if (state.kind === "ended") return state.outcome;
  if (state.kind === "not_begun")
    return {
      outcome: "refused",
      text: "the worker was ended before anything was done",
      facts: { code: "tool_failed" },
    };
  return {
    outcome: "error",
    text: "the worker was ended during the action: it is not known whether it was done, and a person has to check",
    facts: { isUnknown: true },
  };
}
