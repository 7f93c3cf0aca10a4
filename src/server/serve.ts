/**
 * Owns `serve`: one process for a home that looks after it and answers its API. It may be killed at any moment:
 * sessions have processes of their own. A home has one server. A second one fails and names the first.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../contract/index.ts";
import { type Dispatcher, Supervisor } from "../dispatch/index.ts";
import { defaultUser } from "../home/index.ts";
import { readServeRecord, removeServeRecord, writeServeRecord } from "../host/index.ts";
import { type Bell, hangBell, makeHomeRuntimeDir } from "../mail/index.ts";
import { News, tryFileLock } from "../util/index.ts";
import { makeApiToken } from "./api-token.ts";
import { type Address, ApiServer } from "./server.ts";

/** No ring reports a crash, so the home is also looked at now and then. */
const LOOK_MS = 1000;
/** Rings that come at about the same time are all served by one look. */
const TOGETHER_MS = 50;

export interface ServeOptions {
  /** Default: a socket in the runtime directory. */
  readonly address?: Address;
  readonly onReady: (address: string) => void;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

export async function serve(dispatcher: Dispatcher, options: ServeOptions): Promise<void> {
  const { home } = dispatcher;
  const lock = tryFileLock(join(home.dir, "serve.lock"));
  if (!lock) throw running(home.dir);
  const dir = makeHomeRuntimeDir(home.dir);
  const bellPath = join(dir, "bell");
  const rung = new News();
  let bell: Bell | undefined;
  let server: ApiServer | undefined;
  try {
    // The answer is that it will look: a session process need not wait until all messages are carried.
    bell = await hangBell(bellPath, async () => rung.tell());
    await makeApiToken(home, defaultUser());
    server = await ApiServer.open(dispatcher, options.address ?? { path: join(dir, "api") }, options.say);
    await writeServeRecord(home.dir, { bell: bellPath, address: server.address });
    options.onReady(server.address);
    const supervisor = new Supervisor(dispatcher, options.say);
    options.signal.addEventListener("abort", rung.tell, { once: true });
    while (!options.signal.aborted) {
      const isMore = await supervisor.look().catch((error: unknown) => {
        // One bad look must not end all of them.
        options.say(error instanceof Error ? error.message : String(error));
        return false;
      });
      if (isMore) continue;
      await rung.next(LOOK_MS - TOGETHER_MS);
      await sleep(TOGETHER_MS, undefined, { signal: options.signal }).catch(() => {});
    }
  } finally {
    removeServeRecord(home.dir);
    await server?.close();
    bell?.takeDown();
    lock.drop();
  }
}

function running(homeDir: string): HoldfastError {
  const there = readServeRecord(homeDir);
  const who = there ? `process ${there.pid} serves it at ${there.address}` : "another process serves it";
  return new HoldfastError("serve_running", `${who}`, { pid: there?.pid ?? null });
}
