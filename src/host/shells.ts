/**
 * Owns the shells that a person opens in the files of a running task: in the same sandbox, beside its
 * command, each in a terminal of its own.
 *
 * shell-1 No shell outlives the command that it runs beside: all shells are ended before the checkpoint is
 *         taken, so that the files are those of the checkpoint.
 */
import type { CommandEnd } from "../process/index.ts";
import type { Session } from "../session/index.ts";
import type { BesideOptions, ShellRequest } from "../task/index.ts";
import { TerminalSocket } from "./terminal-socket.ts";

/** Runs a command beside the one of the turn. */
export type RunBeside = (command: readonly string[], options: BesideOptions) => Promise<CommandEnd>;

export class Shells {
  readonly #session: Session;
  readonly #socketOf: (shell: string) => string;
  readonly #stops = new Map<AbortController, Promise<void>>();
  /** While a command runs. */
  #run: RunBeside | undefined;

  constructor(session: Session, socketOf: (shell: string) => string) {
    this.#session = session;
    this.#socketOf = socketOf;
  }

  begin(run: RunBeside): void {
    this.#run = run;
  }

  /** The caller finds the socket; if no command runs, there is none. */
  open(request: ShellRequest): void {
    const run = this.#run;
    if (!run) return;
    const stop = new AbortController();
    // A shell that can't open is no failure of the session: the caller that waits for it sees that it does
    // not exist.
    const ended = this.#serve(request, run, stop).catch(() => {});
    this.#stops.set(
      stop,
      ended.finally(() => this.#stops.delete(stop)),
    );
  }

  /** Resolves when no shell is left, and none can be opened. */
  async end(): Promise<void> {
    this.#run = undefined;
    for (const stop of this.#stops.keys()) stop.abort();
    await Promise.all(this.#stops.values());
  }

  async #serve({ shell, by, command }: ShellRequest, run: RunBeside, stop: AbortController): Promise<void> {
    const screen = await TerminalSocket.open(this.#socketOf(shell), { left: () => stop.abort() });
    try {
      await this.#session.append("shell_opened", { shell, by });
      await run(command, {
        signal: stop.signal,
        onStart: (pid, input) => screen.connect(pid, input),
        onOutput: (chunk) => screen.show(chunk),
      });
    } finally {
      await screen.close();
      await this.#session.append("shell_closed", { shell });
    }
  }
}
