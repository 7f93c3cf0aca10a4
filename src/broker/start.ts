/**
 * Owns finding or starting a home's broker. It is started detached, with an environment that has nothing of
 * its starter except where programs and keys are. Keys are sent to its input, so they are in no argument,
 * variable or file.
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
import { brokerPlace, paths, SPARE } from "./wire.ts";

/** A very busy machine takes this long. */
const START_MS = 30_000;
/** Another broker is about to listen or to end; no event tells which. */
const AGAIN_MS = 30;

export interface Brought {
  readonly session: SessionId;
  readonly values: Values;
  /** Used only for what the session has none for. */
  readonly isSpare?: boolean;
}

export interface StartOptions {
  readonly brought?: Brought | undefined;
  /** How long a started broker stays without a session. */
  readonly lingerMs?: number;
}

/** Resolves when a broker is running and has what was passed on. Fails with `broker_failed`. */
export async function reachBroker(home: Home, options: StartOptions = {}): Promise<void> {
  const patience = deadline(home.io.clock, START_MS);
  while (!(await isReached(home, options.brought))) {
    const word = await startBroker(home, options, patience);
    if (word === "ready") return;
    if (word !== "taken" || patience.isPast) throw failed(home, "it could not be started");
    await sleep(AGAIN_MS);
  }
}

/** Whether a broker is running. If so, it has got what was passed on. */
async function isReached(home: Home, brought: Brought | undefined): Promise<boolean> {
  const { socket } = brokerPlace(home.dir);
  const question = brought
    ? {
        method: "POST",
        path: `${paths.keys}${brought.session}${brought.isSpare ? SPARE : ""}`,
        body: Buffer.from(JSON.stringify(brought.values)),
      }
    : { method: "GET", path: paths.there };
  try {
    const answer = await ask({ socket, headers: [], ...question });
    answer.resume();
    return answer.statusCode === 200;
  } catch (error) {
    // Passing on the same values again changes nothing.
    if (error instanceof Unheard || isCutOff(error)) return false;
    throw failed(home, "it does not answer");
  }
}

async function startBroker(home: Home, options: StartOptions, patience: Deadline): Promise<string> {
  const { log } = brokerPlace(home.dir);
  const logFd = openSync(log, "a", 0o600);
  try {
    // A signal must not open a debugger, which would show all of the process's memory.
    const node = [process.execPath, ...SMALL_HEAP, "--disable-sigusr1", ownProgram("broker")];
    const argv = [...limited({ maxCoreBytes: 0 }), ...node, home.dir, String(options.lingerMs ?? LINGER_MS)];
    const input = JSON.stringify(options.brought ?? {});
    const output = await startFed(argv, { env: brokerEnvironment(home), logFd, input });
    // A process that hangs writes nothing.
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
  return new HoldfastError(
    "broker_failed",
    `the broker: ${why}${last ? `; the end of its log: ${last}` : ""}`,
  );
}
