/**
 * Owns the way to a home's broker: the one that is there, or one that is started, detached, with an environment that
 * holds nothing of its starter's but where programs and keys are. Keys go to it over its input: they are in no
 * argument, no variable and no file.
 */
import { closeSync, openSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError, type SessionId, type Values } from "../contract/index.ts";
import type { Home } from "../home/index.ts";
import { limited, ownProgram, SMALL_HEAP, startFed } from "../process/index.ts";
import { type Deadline, deadline, readTextOr } from "../util/index.ts";
import { ask, isCutOff, Unheard } from "./asking.ts";
import { brokerEnvironment } from "./environment.ts";
import { LINGER_MS } from "./held.ts";
import { brokerPlace, paths } from "./wire.ts";

/** A machine that is very busy takes its time. */
const START_MS = 30_000;
/** Another broker is about to listen, or to leave: nothing tells which. */
const AGAIN_MS = 30;

export interface Brought {
  readonly session: SessionId;
  readonly values: Values;
}

export interface StartOptions {
  readonly brought?: Brought | undefined;
  /** How long a broker that is started stays without a session. */
  readonly lingerMs?: number;
}

/** Resolves when a broker is there, and has what was brought. Fails with `broker_failed`. */
export async function reachBroker(home: Home, options: StartOptions = {}): Promise<void> {
  const patience = deadline(home.io.clock, START_MS);
  while (!(await isReached(home, options.brought))) {
    const word = await startBroker(home, options, patience);
    if (word === "ready") return;
    if (word !== "taken" || patience.isPast) throw failed(home, "it could not be started");
    await sleep(AGAIN_MS);
  }
}

/** Whether one is there; it has been told then. */
async function isReached(home: Home, brought: Brought | undefined): Promise<boolean> {
  const { socket } = brokerPlace(home.dir);
  const question = brought
    ? {
        method: "POST",
        path: paths.keys + brought.session,
        body: Buffer.from(JSON.stringify(brought.values)),
      }
    : { method: "GET", path: paths.there };
  try {
    const answer = await ask({ socket, headers: [], ...question });
    answer.resume();
    return answer.statusCode === 200;
  } catch (error) {
    // To bring the same again changes nothing.
    if (error instanceof Unheard || isCutOff(error)) return false;
    throw failed(home, "it does not answer");
  }
}

async function startBroker(home: Home, options: StartOptions, patience: Deadline): Promise<string> {
  const { log } = brokerPlace(home.dir);
  const logFd = openSync(log, "a", 0o600);
  try {
    // A signal must not open a debugger, which would show all that is in memory.
    const node = [process.execPath, ...SMALL_HEAP, "--disable-sigusr1", ownProgram("broker")];
    const argv = [...limited({ maxCoreBytes: 0 }), ...node, home.dir, String(options.lingerMs ?? LINGER_MS)];
    const input = JSON.stringify(options.brought ?? {});
    const output = await startFed(argv, { env: brokerEnvironment(home), logFd, input });
    // One that hangs says nothing.
    const late = sleep(patience.leftMs, "", { ref: false });
    const word = await Promise.race([text(output), late]);
    output.destroy();
    return word.trim();
  } finally {
    closeSync(logFd);
  }
}

export function failed(home: Home, why: string): HoldfastError {
  const last = readTextOr(brokerPlace(home.dir).log, "").trim().split("\n").at(-1);
  return new HoldfastError("broker_failed", `the broker: ${why}${last ? `; its last words: ${last}` : ""}`);
}
