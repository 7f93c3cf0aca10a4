/**
 * A person at this machine: root or an ordinary user, with a home directory that has tools in it, a repo and a Holdfast
 * home. What they start has their environment, and nothing of the test's.
 */
import { execFile, execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { type CliResult, cliPath } from "./cli.ts";
import { HostHome } from "./hosts.ts";
import { asNobody, NOBODY, whyNotNobody } from "./nobody.ts";
import { UserHome } from "./user-home.ts";

export interface Kind {
  readonly name: string;
  /** Words before a command that make it theirs. */
  readonly words: readonly string[];
  /** Why there is no such person here, if so. */
  readonly why: string | undefined;
}

const isRoot = process.getuid?.() === 0;
const ordinary: Kind = { name: "an ordinary user", words: asNobody, why: whyNotNobody };
/** Who runs the tests. */
export const self: Kind = isRoot ? { name: "root", words: [], why: undefined } : ordinary;
export const kinds: readonly Kind[] = isRoot ? [self, ordinary] : [self];

export class Person extends HostHome {
  readonly user = new UserHome();
  readonly #words: readonly string[];
  /** The environment of their shell. */
  readonly env: Record<string, string>;

  constructor({ words }: Kind, files: Record<string, string> = {}, path: readonly string[] = []) {
    super(files);
    this.#words = words;
    const own = path.map((dir) => this.user.at(dir));
    const PATH = [...own, dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);
    this.env = { PATH, HOME: this.user.dir, LANG: "C.UTF-8", HOLDFAST_HOME: this.dir, NO_COLOR: "1" };
  }

  settings(text: string): void {
    writeFileSync(join(this.dir, "settings.yaml"), text);
  }

  /** Gives them everything that was made so far. */
  settleIn(): void {
    this.user.file(".profile", "");
    if (this.#words.length === 0) return;
    for (const path of [this.path, this.user.path])
      execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, path]);
  }

  holdfast(...args: string[]): Promise<CliResult> {
    const [program = "", ...words] = [...this.#words, process.execPath, cliPath, ...args];
    return new Promise((resolve) => {
      const child = execFile(program, words, { cwd: this.main, env: this.env }, (_error, stdout, stderr) =>
        resolve({ status: child.exitCode, stdout, stderr }),
      );
    });
  }

  /** Runs a shell script as a task in the default lane, and returns what it prints on both streams. */
  async run(script: string): Promise<string> {
    const { status, stdout, stderr } = await this.holdfast("run", "--", "sh", "-c", `exec 2>&1; ${script}`);
    // Status 3: what tools build is binary, so it waits for a review. The tools worked.
    if (status !== 0 && status !== 3) throw new Error(`${stdout}\n${stderr}`);
    return stdout.trimEnd();
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.user[Symbol.dispose]();
  }
}
