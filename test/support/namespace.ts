/**
 * A network namespace for one test, like that of a task's sandbox: loopback, and no way out.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const isRoot = process.getuid?.() === 0;

export class TestNamespace implements AsyncDisposable {
  /** Words before a program that make it run in the namespace. */
  readonly enter: readonly string[];
  readonly #keeper: ChildProcess;

  private constructor(keeper: ChildProcess, pid: number) {
    this.#keeper = keeper;
    const user = isRoot ? [] : ["-U", "--preserve-credentials"];
    this.enter = ["nsenter", "-t", String(pid), ...user, "-n", "--"];
  }

  static async start(): Promise<TestNamespace> {
    const keep = ["--unshare-net", "--die-with-parent", "--dev-bind", "/", "/", "--"];
    const keeper = spawn("bwrap", [...keep, "sh", "-c", "echo $$; exec sleep infinity"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = await once(createInterface({ input: keeper.stdout }), "line");
    return new TestNamespace(keeper, Number(line));
  }

  /** Runs a program in it to its end, with nothing of our environment but PATH. */
  async run(
    argv: readonly string[],
    env: Readonly<Record<string, string>> = {},
    cwd = "/",
  ): Promise<{ readonly status: number; readonly stdout: string; readonly stderr: string }> {
    const [program = "", ...args] = [...this.enter, ...argv];
    const path = process.env["PATH"] ?? "";
    return promisify(execFile)(program, args, { env: { PATH: path, ...env }, cwd }).then(
      (streams) => ({ status: 0, ...streams }),
      ({ code, stdout, stderr }) => ({ status: Number(code), stdout, stderr }),
    );
  }

  /** Starts a program in it that goes on until the test is over. */
  start(argv: readonly string[]): ChildProcess {
    const [program = "", ...args] = [...this.enter, ...argv];
    return spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#keeper.kill("SIGKILL");
    await once(this.#keeper, "exit");
  }
}
