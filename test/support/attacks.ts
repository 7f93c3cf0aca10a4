/**
 * Attempts to get out of a sandbox: many in one launch, each judged by what it prints. Most have a control:
 * the same attempt in a sandbox that lacks a guard, where it succeeds.
 */
import { execFile } from "node:child_process";
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findProgram, taskUser } from "../../src/process/index.ts";
import { numberOf, type SystemCall } from "../../src/process/sandbox/syscalls.ts";
import { hasSandbox } from "./capsules.ts";
import { TempDir } from "./home.ts";
import { asNobody, NOBODY, whyNotNobody } from "./nobody.ts";

/** A guard that a sandbox can be made without, for a control. */
export type Guard =
  | "filter"
  | "ipc"
  | "keys"
  | "namespaces"
  | "network"
  | "pids"
  | "read-only"
  | "user"
  | "view";

export interface Attempt {
  readonly title: string;
  /**
   * A shell script. The caller's files are its working directory; `$PLANTED` is the path of what was planted.
   */
  readonly script: string;
  /** What it prints when it succeeds. */
  readonly wins?: RegExp;
  /** What it prints in a whole sandbox, mostly an errno. Required if there is no control. */
  readonly says?: RegExp;
  /** The guards without which it succeeds. Undefined if that would harm the machine, or can't be arranged. */
  readonly without?: readonly Guard[] | undefined;
  /** The one caller that has the control, if another one's would fail for a reason of its own. */
  readonly controlAs?: Caller["name"];
}

export interface Caller {
  readonly name: "root" | "an ordinary user";
  readonly words: readonly string[];
  readonly why: string | undefined;
  /** The user of the processes in its sandbox. */
  readonly taskUid: number;
}

const isRoot = process.getuid?.() === 0;
export const leaveOut = (what: string, why: string) => console.log(`left out: ${what}: ${why}`);

export const callers: readonly Caller[] = [
  {
    name: "root",
    words: [],
    why: isRoot ? undefined : "this is not root",
    taskUid: taskUser("/")?.uid ?? 0,
  },
  {
    name: "an ordinary user",
    words: asNobody,
    why: whyNotNobody,
    taskUid: isRoot ? NOBODY : (process.getuid?.() ?? 0),
  },
];

export const whyNoAttacks = !hasSandbox
  ? "bubblewrap is not installed"
  : findProgram("perl")
    ? undefined
    : "perl is not installed";

/** The input of attack-main.ts. */
export interface Launched {
  readonly files: string;
  readonly planted: string;
  /** What a sandbox without the guard `view` shows. */
  readonly shown: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly without: readonly Guard[];
  readonly script: string;
}

/** Where a caller attacks from: its files, and beside them a directory with what must not be reached. */
export class Lab extends TempDir {
  readonly caller: Caller;
  /** What a control without the guard `view` shows beside `planted`. */
  readonly shown: string[] = [];
  /** Variables for the scripts. */
  readonly env: Record<string, string> = {};
  /** Words before the program that makes the sandbox. */
  readonly before: string[] = [];

  constructor(caller: Caller) {
    super();
    this.caller = caller;
    chmodSync(this.path, 0o755);
    for (const dir of [this.files, this.planted]) this.makeDir(dir);
  }

  get files(): string {
    return this.join("files");
  }

  get planted(): string {
    return this.join("planted");
  }

  makeDir(path: string): void {
    mkdirSync(path, { recursive: true, mode: 0o755 });
    this.give(path);
  }

  /** Gives a path to the user of the sandbox, so that it is not the owner that protects it. */
  give(path: string): void {
    if (isRoot) chownSync(path, this.caller.taskUid, this.caller.taskUid);
  }

  /** Makes the attempts, and returns what each prints, by its title. */
  async attack(attempts: readonly Attempt[], without: readonly Guard[] = []): Promise<Map<string, string>> {
    const asked: Launched = {
      files: this.files,
      planted: this.planted,
      shown: [this.planted, ...this.shown],
      env: this.env,
      without,
      script: batchOf(attempts),
    };
    const main = join(import.meta.dirname, "..", "fixtures", "attack-main.ts");
    const [program = "", ...args] = [...this.caller.words, ...this.before, process.execPath, main];
    const { stdout, stderr } = await new Promise<Record<"stdout" | "stderr", string>>((resolve) => {
      const env = { PATH: process.env["PATH"], LC_ALL: "C" };
      const child = execFile(program, args, { cwd: "/", env, timeout: 90_000 }, (_, stdout, stderr) =>
        resolve({ stdout, stderr }),
      );
      child.stdin?.end(JSON.stringify(asked));
    });
    const heard = heardOf(attempts, stdout);
    if (heard.size !== attempts.length)
      throw new Error(`${heard.size} of ${attempts.length} attempts ended: ${stderr}\n${stdout}`);
    return heard;
  }
}

const MARK = "@@attempt";

/** One script of all attempts, which marks where the output of each begins. */
export function batchOf(attempts: readonly Attempt[]): string {
  const one = ({ script }: Attempt, index: number) =>
    `out=$( { ${script}\n } 2>&1 </dev/null ); printf '\\n${MARK} %s\\n%s' ${index} "$out"`;
  return `${attempts.map(one).join("\n")}\nprintf '\\n${MARK} end\\n'`;
}

export function heardOf(attempts: readonly Attempt[], said: string): Map<string, string> {
  const heard = new Map<string, string>();
  for (const part of said.split(`\n${MARK} `).slice(1)) {
    const at = part.indexOf("\n");
    const title = attempts[Number(part.slice(0, at))]?.title;
    if (title !== undefined) heard.set(title, part.slice(at + 1).trim());
  }
  return heard;
}

/**
 * A test for each attempt and one for its control, all from few launches. `plant` makes what the attempts
 * look for.
 */
export function itHolds(
  subject: string,
  attempts: readonly Attempt[],
  plant: (lab: Lab) => Promise<AsyncDisposable | undefined> = async () => undefined,
): void {
  if (whyNoAttacks) leaveOut(subject, whyNoAttacks);
  for (const caller of callers) {
    if (caller.why) leaveOut(`${subject}, as ${caller.name}`, caller.why);
    describe.skipIf(whyNoAttacks ?? caller.why)(`${subject}, as ${caller.name}`, () => {
      let lab: Lab;
      let planted: AsyncDisposable | undefined;
      let inside = new Map<string, string>();
      const controls = new Map<string, Map<string, string>>();
      const hasControl = ({ without, controlAs }: Attempt) =>
        without !== undefined && (controlAs ?? caller.name) === caller.name;

      beforeAll(async () => {
        lab = new Lab(caller);
        planted = await plant(lab);
        inside = await lab.attack(attempts);
        const guardsOf = new Set(attempts.filter(hasControl).map(({ without }) => String(without)));
        const control = async (guards: string) => {
          const lacking = attempts.filter((one) => hasControl(one) && String(one.without) === guards);
          controls.set(guards, await lab.attack(lacking, guards.split(",") as Guard[]));
        };
        await Promise.all([...guardsOf].map(control));
      });
      afterAll(async () => {
        await planted?.[Symbol.asyncDispose]();
        lab[Symbol.dispose]();
      });

      it.each(attempts)("held: $title", ({ title, wins = WON, says }) => {
        expect(inside.get(title)).not.toMatch(wins);
        if (says) expect(inside.get(title)).toMatch(says);
      });

      it.each(attempts.filter(hasControl))(
        "control: $title, without $without",
        ({ title, wins = WON, without }) => {
          expect(controls.get(String(without))?.get(title)).toMatch(wins);
        },
      );
    });
  }
}

export const WON = /PLANTED|WON/;

/** A script for perl that makes a system call by its number, and prints WON or the errno. */
export function perlCall(number: number | null, ...args: readonly (number | string)[]): string {
  if (number === null) return "echo errno none";
  const words = args.map((arg) => (typeof arg === "number" ? String(arg) : `"${arg}"`)).join(", ");
  return perl(`my @a = (${words}); my $r = syscall(${number}, @a); ${VERDICT}`);
}

const VERDICT = 'print $r == -1 ? "errno " . ($! + 0) : "WON $r";';

export const perl = (text: string) => `perl -e '${text.replaceAll("'", `'"'"'`)}'`;

export const callOf = (call: SystemCall, ...args: readonly (number | string)[]) =>
  perlCall(numberOf(call, process.arch === "arm64" ? "arm64" : "x64"), ...args);
