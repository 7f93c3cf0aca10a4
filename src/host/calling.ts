/**
 * Owns the calls of a session process for a dispatcher, who fetches what lies in outboxes and starts what waits in
 * line: `serve`, where it runs, else one that looks once. Where that program is, the starter of this process has said.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Home } from "../home/index.ts";
import { ring } from "../mail/index.ts";
import { baseEnvironment, startDetached, USER_HOME, userHome } from "../process/index.ts";
import { readServeRecord } from "./serve-record.ts";
import { runtimeEnvironment } from "./start.ts";

/** Not one for each of many: one that is called after a rest finds them all. */
const REST_MS = 250;
const REST_MAX_MS = 2000;

export class DispatcherCalls {
  readonly #home: Home;
  readonly #program: string;
  #isWanted = false;
  #calling: Promise<void> | undefined;

  constructor(home: Home, program: string) {
    this.#home = home;
    this.#program = program;
  }

  call(): void {
    this.#isWanted = true;
    this.#calling ??= this.#callAll();
  }

  /** Resolves when everyone who was called for has been started. */
  async done(): Promise<void> {
    await this.#calling;
  }

  async #callAll(): Promise<void> {
    for (let restMs = REST_MS; this.#isWanted; restMs = Math.min(2 * restMs, REST_MAX_MS)) {
      this.#isWanted = false;
      await this.#start().catch(() => {});
      // What is called for meanwhile waits for the next one.
      await sleep(restMs);
    }
    this.#calling = undefined;
  }

  async #start(): Promise<void> {
    const serving = readServeRecord(this.#home.dir);
    if (serving && (await ring(serving.bell)) !== "nobody") return;
    const env = baseEnvironment({
      HOME: userHome(),
      [USER_HOME]: userHome(),
      ...runtimeEnvironment(this.#home),
    });
    // What goes wrong there stands in the log of the one who called.
    await startDetached([process.execPath, this.#program, this.#home.dir], { env, logFd: 2 });
  }
}
