/**
 * Owns the running of `capsule.setup`: in the sandbox, at the path where tasks will see its result, before
 * any agent starts.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import {
  baseEnvironment,
  type CommandEnd,
  type LaunchOptions,
  launch,
  runCommand,
  type Sandbox,
} from "../../process/index.ts";
import { giveTo } from "../files/ownership.ts";
import { plainView } from "../files/view.ts";

export interface SetupRequest {
  readonly tree: string;
  /** A directory of Holdfast for its home and temporary files. */
  readonly work: string;
  readonly command: string;
}

export type RunSetup = (request: SetupRequest) => Promise<void>;

const OUTPUT_KEPT = 4000;

export interface SetupOptions {
  /** Undefined: it runs without a sandbox, in the directory itself. */
  readonly sandbox: Sandbox | undefined;
  readonly onOutput: (chunk: Buffer) => void;
  readonly signal?: AbortSignal | undefined;
  /** Runs it in a network with the hosts that it may reach. Without this it reaches none. */
  readonly network?: SetupNetwork | undefined;
  /** A text that may help a person if set-up failed. */
  readonly hint?: (() => string) | undefined;
  /** Watches it while it runs, and ends it if it uses too much. */
  readonly watch?: ((run: SetupRun) => Disposable) | undefined;
}

export interface InNetwork {
  readonly entry: LaunchOptions["entry"];
  /** Variables that lead its programs to the network. */
  readonly environment: Readonly<Record<string, string>>;
}

export type SetupNetwork = <T>(work: (inside: InNetwork) => Promise<T>) => Promise<T>;

const alone: SetupNetwork = (work) => work({ entry: plainView(""), environment: {} });

/** A set-up that is running. */
export interface SetupRun {
  readonly pid: number;
  /** All directories that it may write to. */
  readonly dirs: readonly string[];
  end(reason: HoldfastError): void;
}

export function setupRunner(options: SetupOptions): RunSetup {
  const { sandbox, onOutput, signal: stop, network = alone } = options;
  return async ({ tree, work, command }) => {
    const own = [join(work, "home"), join(work, "tmp")] as const;
    for (const dir of own) await mkdir(dir, { recursive: true, mode: 0o700 });
    for (const dir of own) giveTo(sandbox?.user, dir);
    let said = "";
    const keep = (chunk: Buffer) => {
      said = (said + chunk.toString("utf8")).slice(-OUTPUT_KEPT);
      onOutput(chunk);
    };
    const { exitCode, signal } = await network((inside) =>
      run({ ...options, onOutput: keep }, { tree, own, command }, inside),
    );
    if (stop?.aborted) throw new HoldfastError("interrupted", "capsule.setup was interrupted");
    if (exitCode === 0) return;
    const words = options.hint?.() ?? "";
    const hint = words === "" ? "" : ` (${words})`;
    throw new HoldfastError(
      "setup_failed",
      `capsule.setup failed with ${exitCode ?? signal}: ${command}${hint}`,
      {
        exitCode,
        output: said,
      },
    );
  };
}

/** However it ends, unless the watcher reports that it went too far. */
async function run(
  { sandbox, onOutput, signal: stop, watch }: SetupOptions,
  of: { readonly tree: string; readonly own: readonly [home: string, tmp: string]; readonly command: string },
  { entry, environment }: InNetwork,
): Promise<CommandEnd> {
  const { tree, own } = of;
  const command = ["sh", "-c", of.command];
  const [home, tmp] = own;
  const env = { ...baseEnvironment({ HOME: home, TMPDIR: tmp }), ...environment };
  const launched = sandbox
    ? launch(sandbox, { command, tree, entry, env, writable: [home], tmp, isReadOnly: false })
    : { argv: command, cwd: tree, env };
  let refusal: HoldfastError | undefined;
  let watching: Disposable | undefined;
  const ended = new AbortController();
  const onStop = () => ended.abort();
  stop?.addEventListener("abort", onStop, { once: true });
  if (stop?.aborted) onStop();
  const end = (reason: HoldfastError) => {
    refusal = reason;
    ended.abort();
  };
  const onStart = (pid: number) => {
    watching = watch?.({ pid, dirs: [tree, ...own], end });
  };
  const ending = await runCommand({ ...launched, signal: ended.signal, onOutput, onStart }).finally(() => {
    stop?.removeEventListener("abort", onStop);
    watching?.[Symbol.dispose]();
  });
  if (refusal) throw refusal;
  return ending;
}
