/**
 * Owns git where it reads what an agent wrote: its index, its rules, its files. Such input could crash git's
 * parsers, keep them busy or take them over. So git runs where the agent itself could run, and can do no more
 * than the agent.
 *
 * confined-1 Outside the task's sandbox, git never reads what an agent wrote. If the task has no sandbox, git
 *    runs under limits of memory and time. Its output is treated as the agent's word, and no output is an
 *    answer too.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type Launch,
  launch,
  limited,
  type ProcessLimits,
  type ProgramOptions,
  type ProgramResult,
  runProgram,
  type Sandbox,
} from "../../process/index.ts";
import { present } from "../../util/index.ts";
import { giveTo } from "../files/ownership.ts";
import type { View } from "../files/view.ts";
import { gitEnvironment, gitWords } from "./git.ts";

export interface ConfinedOptions {
  /** One of Holdfast's, which is removed after the question; or `own`: the capsule's. */
  readonly gitDir: string;
  readonly view: View;
  /** What the task's sandbox shows around its files; undefined if the task has none. */
  readonly sandbox: Sandbox | undefined;
  /** `name=value` pairs for each call. */
  readonly config?: readonly string[];
}

export interface Question extends Pick<ProgramOptions, "input" | "onOutput"> {
  /** Exit statuses that are answers. Default: 0. */
  readonly accept?: readonly number[];
  /** Longer output is not an answer. */
  readonly maxOutputBytes: number;
  readonly timeoutMs: number;
  readonly indexFile?: string | undefined;
  /** More files of Holdfast that git reads. */
  readonly readable?: readonly string[];
  /** Git writes to this path and to the files, and not only to a place that is removed after the question. */
  readonly writable?: readonly string[];
  /** A shell script. It gets the words that call git as its arguments, and a place for objects as `$0`. */
  readonly script?: string;
}

export interface Answer {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

const GIGABYTE = 1024 * 1024 * 1024;
const LIMITS: ProcessLimits = { maxMemoryBytes: GIGABYTE, maxFileBytes: GIGABYTE };
/** In the sandbox, /tmp is a file system of its own, which is removed with it. */
const OBJECTS_INSIDE = "/tmp/objects";

/** An empty gitdir, for questions about files. */
export async function makeEmptyGitdir(path: string, objectFormat: "sha1" | "sha256"): Promise<void> {
  const isSha256 = objectFormat === "sha256";
  for (const part of ["", "objects", "refs"]) await mkdir(join(path, part), { mode: 0o755 });
  const format = isSha256 ? "[extensions]\n\tobjectFormat = sha256\n" : "";
  const config = `[core]\n\trepositoryformatversion = ${isSha256 ? 1 : 0}\n\tbare = false\n${format}`;
  await writeFile(join(path, "config"), config);
  await writeFile(join(path, "HEAD"), "ref: refs/heads/none\n");
}

export class ConfinedGit {
  readonly #options: ConfinedOptions;

  constructor(options: ConfinedOptions) {
    this.#options = options;
  }

  /**
   * Undefined if there is no answer: git crashed, was killed, took too long, or its output was too long or
   * wrong.
   */
  async ask(args: readonly string[], question: Question): Promise<Answer | undefined> {
    const ended = await this.run(args, question).catch(() => undefined);
    const { accept = [0] } = question;
    if (!ended || ended.exitCode === null || !accept.includes(ended.exitCode)) return undefined;
    return { exitCode: ended.exitCode, stdout: ended.stdout, stderr: ended.stderr };
  }

  /** Returns however git ends. `limits` replace those for questions. */
  run(
    args: readonly string[],
    question: Omit<Question, "accept"> & Pick<ProgramOptions, "onComplaint">,
    limits = LIMITS,
  ): Promise<ProgramResult> {
    const { input, onOutput, onComplaint, timeoutMs, maxOutputBytes } = question;
    const { argv, ...launched } = this.#launch(args, question, limits);
    return runProgram(argv, {
      ...launched,
      timeoutMs,
      maxOutputBytes,
      ...(input && { input }),
      ...(onOutput && { onOutput }),
      ...(onComplaint && { onComplaint }),
    });
  }

  #launch(
    args: readonly string[],
    { indexFile, readable = [], writable = [], script }: Omit<Question, "accept">,
    limits: ProcessLimits,
  ): Omit<Launch, "descriptors" | "close"> & Partial<Launch> {
    const { view, sandbox, config } = this.#options;
    const workTree = sandbox?.at ?? view.workTree;
    const isOwn = this.#options.gitDir === "own";
    const gitDir = isOwn ? join(workTree, ".git") : this.#options.gitDir;
    const objects = sandbox ? OBJECTS_INSIDE : join(gitDir, "objects");
    const place = { gitDir, workTree, ...(indexFile !== undefined && { indexFile }) };
    const git = gitWords(place, config);
    const words =
      script === undefined
        ? [...git, ...args]
        : ["sh", "-c", `mkdir -p "$0" || exit; ${script}`, objects, ...git];
    const env = { ...gitEnvironment(place), ...(script !== undefined && { GIT_OBJECT_DIRECTORY: objects }) };
    const ours = [...(isOwn ? [] : [gitDir]), ...readable, ...writable];
    for (const path of ours) giveTo(sandbox?.user, path);
    if (!sandbox) return { argv: [...view.enter, ...limited(limits), ...words], cwd: "/", env };
    return launch(
      { ...sandbox, limits: { ...present({ maxProcesses: sandbox.limits.maxProcesses }), ...limits } },
      {
        command: words,
        tree: view.workTree,
        entry: view,
        env,
        readable: ours.filter((path) => !writable.includes(path)).map((path) => [path, path] as const),
        writable,
        isReadOnly: writable.length === 0,
      },
    );
  }
}
