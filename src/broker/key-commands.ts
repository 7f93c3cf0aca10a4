/**
 * Owns the keys that a command of the user's prints. It runs when the key is first needed; its answer is kept in memory
 * alone, until the provider refuses it. Those who need it at once share one run.
 */
import { HoldfastError, isHoldfastError } from "../contract/index.ts";
import { type ProgramResult, runProgram, userHome } from "../process/index.ts";
import type { Clock } from "../util/index.ts";
import { expandPath } from "./environment.ts";
import { keyIn } from "./key-file.ts";

/** A person may have to type a passphrase. */
const MOST_MS = 120_000;
const MAX_OUTPUT_BYTES = 64 * 1024;
/** A command that gives the same key again that was refused is not asked each time it is refused. */
const SAME_AGAIN_MS = 60_000;
/** Requests that are held try every few seconds: a person would be asked for a passphrase as often. */
const FAILED_MS = 20_000;

interface Asked {
  readonly value: Promise<string>;
  readonly askedMs: number;
  failedMs: number | undefined;
}

export class KeyCommands {
  readonly #clock: Clock;
  readonly #asked = new Map<string, Asked>();
  /** By command: the last key of its that a provider refused. */
  readonly #refused = new Map<string, string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  valueOf(provider: string, argv: readonly string[]): Promise<string> {
    const name = JSON.stringify(argv);
    const before = this.#asked.get(name);
    if (before && !this.#isOver(before)) return before.value;
    const asked: Asked = {
      value: ask(provider, argv),
      askedMs: this.#clock.monotonicMs(),
      failedMs: undefined,
    };
    this.#asked.set(name, asked);
    asked.value.catch(() => {
      asked.failedMs = this.#clock.monotonicMs();
    });
    return asked.value;
  }

  /** A provider did not take this key: the next one that needs it asks again. */
  async refuse(argv: readonly string[], value: string): Promise<void> {
    const name = JSON.stringify(argv);
    const asked = this.#asked.get(name);
    // It may have been replaced meanwhile.
    if (!asked || (await asked.value.catch(() => undefined)) !== value) return;
    const isSameAgain = this.#refused.get(name) === value;
    if (isSameAgain && this.#clock.monotonicMs() - asked.askedMs < SAME_AGAIN_MS) return;
    this.#refused.set(name, value);
    this.#asked.delete(name);
  }

  /** A failure counts for a while. */
  #isOver({ failedMs }: Asked): boolean {
    return failedMs !== undefined && this.#clock.monotonicMs() - failedMs >= FAILED_MS;
  }
}

async function ask(provider: string, argv: readonly string[]): Promise<string> {
  // What it complains about is not repeated: it could name what it was asked for.
  const failed = (why: string) =>
    new HoldfastError("key_missing", `keys.${provider}.command: ${argv[0]} ${why}`, { provider });
  const [program = "", ...args] = argv;
  let result: ProgramResult;
  try {
    result = await runProgram([expandPath(program), ...args], {
      cwd: userHome(),
      env: ownEnvironment(),
      timeoutMs: MOST_MS,
      maxOutputBytes: MAX_OUTPUT_BYTES,
    });
  } catch (error) {
    throw failed(isHoldfastError(error, "program_missing") ? "is not there" : "could not be run");
  }
  if (result.isTimedOut) throw failed("took too long");
  if (result.exitCode !== 0) throw failed(`ended with ${result.signal ?? `status ${result.exitCode}`}`);
  return keyIn(result.stdout.toString("utf8")) ?? Promise.reject(failed("printed no key on its first line"));
}

/** The broker's own, which holds no key. */
function ownEnvironment(): Record<string, string> {
  const own = Object.entries(process.env).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value]],
  );
  return Object.fromEntries(own);
}
