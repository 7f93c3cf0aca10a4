/**
 * A real terminal that runs holdfast, made by util-linux's script; and a window on a session's terminal, as a
 * client of its socket.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { encodeKeys, encodeSize } from "../../src/host/index.ts";
import { findProgram } from "../../src/process/index.ts";
import { treeOf } from "../../src/process/tree.ts";
import { signalIfThere as kill } from "../../src/util/process-identity.ts";
import { cliPath } from "./cli.ts";
import { type HostHome, until } from "./hosts.ts";

export const hasScript = findProgram("script") !== undefined;
if (!hasScript) console.log("left out: the tests of a terminal: util-linux's script is not installed");

/** A terminal that runs holdfast, or another program. */
export class Terminal implements AsyncDisposable {
  readonly process: ChildProcess;
  /** Resolves when its program has ended, also if that was before anyone asked. */
  readonly ended: Promise<unknown>;
  screen = "";

  constructor(
    home: HostHome,
    args: readonly string[],
    program?: string,
    env: Readonly<Record<string, string>> = {},
  ) {
    const command = program === undefined ? [process.execPath, cliPath] : [program];
    const words = [...command, ...args].map((word) => `'${word}'`).join(" ");
    this.process = spawn("script", ["-qefc", `stty rows 30 cols 100; exec ${words}`, "/dev/null"], {
      cwd: home.main,
      env: {
        ...process.env,
        SHELL: "/bin/sh",
        TERM: "xterm",
        HOLDFAST_HOME: home.dir,
        NO_COLOR: "1",
        ...env,
      },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.ended = once(this.process, "exit");
    this.process.stdout?.on("data", (chunk) => {
      this.screen += chunk;
    });
  }

  type(keys: string): void {
    this.process.stdin?.write(keys);
  }

  async shows(text: string | RegExp): Promise<void> {
    await until(
      () => this.screen,
      (screen) => (typeof text === "string" ? screen.includes(text) : text.test(screen)),
      30_000,
    );
  }

  /** Resizes the terminal, as a person does who resizes its window. */
  resize(rows: number, columns: number): void {
    const [, inside = 0] = treeOf(this.process.pid ?? 0);
    execFileSync("stty", [
      "-F",
      readlinkSync(`/proc/${inside}/fd/0`),
      "rows",
      String(rows),
      "cols",
      String(columns),
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of treeOf(this.process.pid ?? 0)) kill(pid, "SIGKILL");
    await this.ended;
  }
}

/** A window on a session's terminal, as a client of its socket. */
export class Window implements Disposable {
  readonly #socket: Socket;
  shown = "";

  constructor(path: string) {
    this.#socket = connect(path);
    this.#socket.on("data", (chunk) => {
      this.shown += chunk;
    });
  }

  has(columns: number, rows: number): void {
    this.#socket.write(encodeSize(columns, rows));
  }

  type(keys: string): void {
    for (const frame of encodeKeys(Buffer.from(keys))) this.#socket.write(frame);
  }

  shows(text: string | RegExp): Promise<string> {
    return until(
      () => this.shown,
      (shown) => (typeof text === "string" ? shown.includes(text) : text.test(shown)),
      30_000,
    );
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}
