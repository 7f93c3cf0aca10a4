/**
 * The broker: `main <home> <options>`, started where none is there. Its first input is the keys that its starter brings;
 * it says `ready` when it takes requests, or `taken` when another broker has the home. It leaves when the sessions have.
 *
 * V18 A home has one broker: the one that has the lock.
 */
import { existsSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { exitStatus, isSessionId } from "../contract/index.ts";
import { isPlainObject, parseObject, systemClock, tryFileLock } from "../util/index.ts";
import { claudeDir } from "./environment.ts";
import { HeldSessions, LINGER_MS } from "./held.ts";
import { Keys } from "./keys.ts";
import { ClaudeLogin } from "./login.ts";
import { BrokerServer, valuesIn } from "./server.ts";
import { brokerPlace } from "./wire.ts";

/** Nothing tells when a session has left, or has another token. */
const LOOK_MS = 1000;

/** An agent that asks for what it can't have, again and again, must not fill the disk. */
const MAX_LINES = 2000;
let lines = 0;

function say(line: string): void {
  lines += 1;
  if (lines > MAX_LINES) return;
  const text = lines === MAX_LINES ? "no more is said" : line;
  process.stderr.write(`${new Date(systemClock.nowMs()).toISOString()} ${text}\n`);
}

async function serve(homeDir: string, lingerMs: number): Promise<void> {
  const { socket, log } = brokerPlace(homeDir);
  // What the last one said is of no use any more.
  truncateSync(log);
  const home = { dir: homeDir };
  const clock = systemClock;
  const login = new ClaudeLogin(claudeDir(), clock);
  const keys = new Keys({ homeDir, clock, login });
  const held = new HeldSessions({ home, clock, lingerMs, forget: (session) => keys.forget(session) });
  const { session, values } = parseObject(await text(process.stdin)) ?? {};
  if (typeof session === "string" && isSessionId(session) && isPlainObject(values)) {
    keys.bring(session, valuesIn(values));
    held.see(session);
  }
  const server = await BrokerServer.open(socket, { home, keys, login, held, say });
  process.stdout.end("ready\n");
  // Where the socket is gone, no session finds us any more.
  while (held.look() && existsSync(socket)) {
    await server.cutRevoked();
    await sleep(Math.min(LOOK_MS, lingerMs));
  }
  rmSync(socket, { force: true });
}

/** The memory of this process is for no file: a limit keeps core files away, this keeps it out of those of a collector. */
function keepOutOfCores(): void {
  try {
    writeFileSync("/proc/self/coredump_filter", "0");
  } catch {
    // Only Linux has it.
  }
}

process.stdout.on("error", () => {});
const [homeDir = "", lingerText = ""] = process.argv.slice(2);
keepOutOfCores();
const lock = tryFileLock(brokerPlace(homeDir).lock);
if (!lock) {
  process.stdout.end("taken\n");
} else {
  try {
    await serve(homeDir, Number(lingerText) || LINGER_MS);
  } catch (error) {
    say(`bug: ${error instanceof Error ? error.stack : error}`);
    process.exitCode = exitStatus.bug;
  }
}
// Connections that are still open end with us.
process.exit();
