/**
 * Owns how a session process calls a dispatcher, which carries messages and starts sessions of the line:
 * `serve`, if it runs, else one that looks once. The starter of this process has named that program.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Home } from "../home/index.ts";
import { ring } from "../mail/index.ts";
import { baseEnvironment, startDetached, USER_HOME, userHome } from "../process/index.ts";
import { readServeRecord } from "./serve-record.ts";
import { runtimeEnvironment } from "./start.ts";

/** One call serves many reasons: a dispatcher that is called after a pause finds them all. */
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

  /** Resolves when every dispatcher that was called for has been started. */
  async done(): Promise<void> {
    await this.#calling;
  }

  async #callAll(): Promise<void> {
    for (let restMs = REST_MS; this.#isWanted; restMs = Math.min(2 * restMs, REST_MAX_MS)) {
      this.#isWanted = false;
      await this.#start().catch(() => {});
      // A call that comes meanwhile waits for the next dispatcher.
      await sleep(restMs);
    }
    this.#calling = undefined;
  }

  async #start(): Promise<void> {
    const serving = readServeRecord(this.#home.dir);
    if (serving && (await ring(serving.bell)) !== "absent") return;
    const env = baseEnvironment({
      HOME: userHome(),
      [USER_HOME]: userHome(),
      ...runtimeEnvironment(this.#home),
    });
    // Errors of the dispatcher go to the log of the process that called it.
    await startDetached([process.execPath, this.#program, this.#home.dir], { env, logFd: 2 });
  }
}
