/**
 * The broker: `main <home> <options>`, started when none is running. Its first input is the keys that its
 * starter passes on. It writes `ready` when it takes requests, or `taken` when the home has another broker.
 * It ends when the sessions have ended.
 *
 * broker-1 A home has one broker: the process that has the lock.
 */
import { existsSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { exitStatus, isSessionId } from "../contract/index.ts";
import { isPlainObject, parseObject, systemClock, tryFileLock } from "../util/index.ts";
import { HeldSessions, LINGER_MS } from "./held.ts";
import { Keys } from "./keys.ts";
import { BrokerLog } from "./log.ts";
import { ClaudeLogins } from "./login.ts";
import { BrokerServer, valuesIn } from "./server.ts";
import { brokerPlace } from "./wire.ts";

/** It polls, because no event tells when a session has ended or has another token. */
const LOOK_MS = 1000;

const written = new BrokerLog(systemClock, (text) => process.stderr.write(text));
const say = (line: string) => written.say(line);

async function serve(homeDir: string, lingerMs: number): Promise<void> {
  const { socket, log } = brokerPlace(homeDir);
  // The log of an earlier broker is of no use any more.
  truncateSync(log);
  const home = { dir: homeDir };
  const clock = systemClock;
  const logins = new ClaudeLogins(clock);
  const keys = new Keys({ homeDir, clock, logins });
  const held = new HeldSessions({ home, clock, lingerMs, forget: (session) => keys.forget(session) });
  const { session, values } = parseObject(await text(process.stdin)) ?? {};
  if (typeof session === "string" && isSessionId(session) && isPlainObject(values)) {
    keys.bring(session, valuesIn(values));
    held.see(session);
  }
  const server = await BrokerServer.open(socket, { home, keys, logins, held, say });
  process.stdout.end("ready\n");
  // Without the socket, no session can find the broker.
  while (held.look() && existsSync(socket)) {
    await server.cutRevoked();
    await sleep(Math.min(LOOK_MS, lingerMs));
  }
  rmSync(socket, { force: true });
}

/**
 * Keys in memory must not reach a file: a limit prevents core files, and this keeps memory out of a crash
 * collector's.
 */
function keepOutOfCores(): void {
  try {
    writeFileSync("/proc/self/coredump_filter", "0");
  } catch {
    // Only Linux has this file.
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
// Ends connections that are still open.
process.exit();
