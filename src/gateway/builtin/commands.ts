/**
 * Owns the commands that tools start in the task's sandbox: how long one may run, how much of its output is
 * kept, and those in the background.
 *
 * commands-1 A background command ends with the agent's work on its task: when the task is done, parked,
 *    paused or interrupted. None outlives the session process, as no process of a sandbox does.
 */
import type { AgentProcess, ProcessEnd, Workplace } from "../../agent/index.ts";
import type { JsonObject } from "../../contract/index.ts";
import { KeptOutput } from "./kept-output.ts";
import { CantDo } from "./tool.ts";

/** How many may run at once, and how many that ended can still be read. */
const MAX_COMMANDS = 20;

export interface Started {
  readonly command: readonly string[];
  /** From the top of the capsule. Default: where the task was asked for. */
  readonly cwd?: string | undefined;
  /** Whether its output is for the tool only. Otherwise people who are watching see it too. */
  readonly isQuiet?: boolean;
}

export interface RunOptions extends Started {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Whether the output so far is sufficient; the command is then ended. */
  readonly isEnough?: (chunk: Buffer) => boolean;
}

export interface Ran extends Pick<ProcessEnd, "exitCode" | "signal"> {
  readonly isTimedOut: boolean;
  /** Whether it was ended because the call was cancelled. */
  readonly isStopped: boolean;
  readonly output: string;
}

/** Runs it until it and all processes that it started have ended. */
export async function run(place: Pick<Workplace, "start">, options: RunOptions): Promise<Ran> {
  const output = new KeptOutput();
  let process: AgentProcess | undefined;
  let isTimedOut = false;
  let isEnough = false;
  const { signal, timeoutMs } = options;
  if (signal.aborted) throw new CantDo("the call was cancelled before it began", "refused");
  const end = () => process?.end();
  process = await begin(place, options, (chunk) => {
    if (isEnough) return;
    output.add(chunk);
    isEnough = options.isEnough?.(chunk) ?? false;
    if (isEnough) end();
  });
  const timer = setTimeout(() => {
    isTimedOut = true;
    end();
  }, timeoutMs);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted || isEnough) end();
  try {
    const { exitCode, signal: ending } = await process.ended;
    const isStopped = signal.aborted && !isTimedOut;
    return { exitCode, signal: ending, isTimedOut, isStopped, output: output.text() };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

const begin = (
  place: Pick<Workplace, "start">,
  { command, cwd, isQuiet = false }: Started,
  onOutput: (chunk: Buffer) => void,
) => place.start(command, { isProtocol: isQuiet, onOutput, ...(cwd !== undefined && { cwd }) });

interface Background {
  readonly process: AgentProcess;
  readonly output: KeptOutput;
  end: ProcessEnd | undefined;
}

/** The background commands, by their handles. */
export class Commands {
  readonly #all = new Map<string, Background>();
  #count = 0;

  async start(place: Pick<Workplace, "start">, options: Started): Promise<string> {
    const running = [...this.#all.values()].filter(({ end }) => !end);
    if (running.length >= MAX_COMMANDS)
      throw new CantDo(`${MAX_COMMANDS} commands already run in the background: end one of them first`);
    const output = new KeptOutput();
    const process = await begin(place, options, (chunk) => output.add(chunk));
    this.#count += 1;
    const handle = `command-${this.#count}`;
    const command: Background = { process, output, end: undefined };
    this.#all.set(handle, command);
    process.ended.then(
      (end) => {
        command.end = end;
      },
      () => {},
    );
    this.#forgetOldest();
    return handle;
  }

  /** Undefined: there is no command with this handle. */
  read(handle: string, offset: number, length: number) {
    const command = this.#all.get(handle);
    return (
      command && {
        ...command.output.part(offset, length),
        total: command.output.total,
        facts: factsOf(command),
      }
    );
  }

  /** Ends it with all processes that it started; undefined: there is no command with this handle. */
  async end(handle: string): Promise<JsonObject | undefined> {
    const command = this.#all.get(handle);
    if (!command) return undefined;
    command.process.end();
    command.end = await command.process.ended;
    return factsOf(command);
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#all.keys()].map((handle) => this.end(handle)));
  }

  #forgetOldest(): void {
    const ended = [...this.#all].filter(([, { end }]) => end);
    for (const [handle] of ended.slice(0, Math.max(0, ended.length - MAX_COMMANDS))) this.#all.delete(handle);
  }
}

const factsOf = ({ end }: Background): JsonObject => ({
  is_running: end === undefined,
  exit_code: end?.exitCode ?? null,
  signal: end?.signal ?? null,
});
