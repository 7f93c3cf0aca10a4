/**
 * Real child processes for tests: each runs a file of test/fixtures, and none outlives its test.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

const fixtures = join(import.meta.dirname, "..", "fixtures");

export class TestChild implements AsyncDisposable {
  readonly process: ChildProcess;
  readonly lines: string[] = [];
  stderr = "";
  readonly #ended: Promise<unknown>;
  #wake: () => void = () => {};

  constructor(
    fixture: string,
    args: readonly string[],
    options: { via?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
  ) {
    const [command, ...rest] = [
      ...(options.via ?? []),
      process.execPath,
      join(fixtures, fixture),
      ...args,
    ] as [string, ...string[]];
    this.process = spawn(command, rest, {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...options.env },
    });
    this.#ended = once(this.process, "close");
    this.process.stderr?.on("data", (data: Buffer) => {
      this.stderr += data.toString();
    });
    createInterface({ input: this.process.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      this.lines.push(line);
      this.#wake();
    });
    void this.#ended.then(() => this.#wake());
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  /** Resolves with the first line that fits; fails when the child ends without it. */
  async line(fits: (line: string) => boolean): Promise<string> {
    for (;;) {
      const found = this.lines.find(fits);
      if (found !== undefined) return found;
      if (this.process.exitCode !== null || this.process.signalCode !== null) {
        throw new Error(
          `the child ended without the line; it said:\n${this.lines.join("\n")}\n${this.stderr}`,
        );
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  send(line: string): void {
    this.process.stdin?.write(`${line}\n`);
  }

  kill(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  async ended(): Promise<number | null> {
    await this.#ended;
    return this.process.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill("SIGKILL");
    await this.#ended;
  }
}
