/**
 * A user's home, checkout and Holdfast home, for tests of escapes that use the built command.
 */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readTextOr, signalIfThere } from "../../src/util/index.ts";
import { type Caller, Lab } from "./attacks.ts";
import { cliPath } from "./cli.ts";

export class Place extends Lab {
  readonly user = this.join("user");
  readonly main = this.join("main");
  readonly home = this.join("home");

  constructor(caller: Caller) {
    super(caller);
    // A home belongs to its owner, who is the calling user here.
    if (caller.words.length > 0) this.give(this.path);
  }

  /**
   * Runs a command of the user in the main checkout. `isOpen`: it inherits a descriptor that they left open.
   */
  run(words: readonly string[], isOpen = false): Promise<string> {
    const [program = "", ...args] = [...this.caller.words, ...words];
    const env = {
      ...{ PATH: process.env["PATH"], HOME: this.user, HOLDFAST_HOME: this.home, NO_COLOR: "1" },
      ...{ USERS_SECRET: "PLANTED", LC_SECRET: "PLANTED", GIT_CONFIG_NOSYSTEM: "1" },
    };
    // A shell hands a descriptor down that the user has left open.
    const shell = !isOpen
      ? [program, ...args]
      : ["sh", "-c", 'exec 7< "$0"; exec "$@"', this.join("open"), program, ...args];
    return new Promise((resolve) => {
      execFile(shell[0] ?? "", shell.slice(1), { cwd: this.main, env }, (_, stdout, stderr) =>
        resolve(stdout + stderr),
      );
    });
  }

  holdfast(args: readonly string[], isOpen = false): Promise<string> {
    return this.run([process.execPath, cliPath, ...args], isOpen);
  }

  /**
   * Processes that have this place in their arguments or in their environment: session processes, and all in
   * their sandboxes.
   */
  processes(): number[] {
    const isHere = (pid: string) =>
      ["cmdline", "environ"].some((file) => readTextOr(`/proc/${pid}/${file}`, "").includes(this.path));
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && isHere(name))
      .map(Number);
  }

  override [Symbol.dispose](): void {
    for (const pid of this.processes()) signalIfThere(pid, "SIGKILL");
    super[Symbol.dispose]();
  }

  async giveAll(path: string): Promise<void> {
    const { taskUid, words } = this.caller;
    if (words.length === 0) return;
    await new Promise((resolve) => execFile("chown", ["-R", `${taskUid}:${taskUid}`, path], resolve));
  }

  /** A repo with these files in its first commit. */
  async makeMain(files: Readonly<Record<string, string>>): Promise<void> {
    for (const dir of [this.main, this.user]) mkdirSync(dir, { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.main, name), text);
    for (const dir of [this.main, this.user]) await this.giveAll(dir);
    const git = [
      "init -q",
      "config user.name A",
      "config user.email a@example.org",
      "add -A",
      "commit -qm one",
    ];
    for (const words of git) await this.run(["git", ...words.split(" ")]);
  }
}
