/**
 * Owns the keys that a command of the user prints. The command runs when the key is first needed. Its output
 * is kept only in memory, until the provider refuses the key. Requests that need it at the same time share
 * one run.
 */
import { HoldfastError, isHoldfastError, type Values } from "../contract/index.ts";
import { type ProgramResult, runProgram, userHome } from "../process/index.ts";
import type { Clock } from "../util/index.ts";
import { expandPath } from "./environment.ts";
import { keyIn } from "./key-file.ts";

/** A person may have to type a passphrase. */
const MOST_MS = 120_000;
const MAX_OUTPUT_BYTES = 64 * 1024;
/** If a command prints a key again that was refused, it is not run for each further refusal. */
const SAME_AGAIN_MS = 60_000;
/** Held requests retry every few seconds. A person must not be asked for a passphrase that often. */
const FAILED_MS = 20_000;

interface Asked {
  readonly value: Promise<string>;
  readonly askedMs: number;
  failedMs: number | undefined;
}

export class KeyCommands {
  readonly #clock: Clock;
  readonly #asked = new Map<string, Asked>();
  /** The last refused key of each command. */
  readonly #refused = new Map<string, string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  valueOf(provider: string, argv: readonly string[]): Promise<string> {
    const name = JSON.stringify(argv);
    const before = this.#asked.get(name);
    if (before && !this.#isOver(before)) return before.value;
    const asked: Asked = {
      value: printedBy(`keys.${provider}`, argv, { provider }),
      askedMs: this.#clock.monotonicMs(),
      failedMs: undefined,
    };
    this.#asked.set(name, asked);
    asked.value.catch(() => {
      asked.failedMs = this.#clock.monotonicMs();
    });
    return asked.value;
  }

  /** A provider refused this key: the next request that needs it runs the command again. */
  async refuse(argv: readonly string[], value: string): Promise<void> {
    const name = JSON.stringify(argv);
    const asked = this.#asked.get(name);
    // The key may have been replaced meanwhile.
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

/** `setting` is its name in the user's settings. */
export async function printedBy(
  setting: string,
  argv: readonly string[],
  facts: Values = {},
): Promise<string> {
  // Its error output is not repeated, because it could contain the key.
  const failed = (why: string) =>
    new HoldfastError("key_missing", `${setting}.command: ${argv[0]} ${why}`, facts);
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
    throw failed(isHoldfastError(error, "program_missing") ? "does not exist" : "could not be run");
  }
  if (result.isTimedOut) throw failed("took too long");
  if (result.exitCode !== 0) throw failed(`ended with ${result.signal ?? `status ${result.exitCode}`}`);
  return keyIn(result.stdout.toString("utf8")) ?? Promise.reject(failed("printed no key on its first line"));
}

/** The broker's own environment, which has no key. */
function ownEnvironment(): Record<string, string> {
  const own = Object.entries(process.env).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value]],
  );
  return Object.fromEntries(own);
}
