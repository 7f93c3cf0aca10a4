/**
 * Owns the running of `capsule.setup`: in the sandbox, at the path where tasks will see its result, before any
 * agent starts.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../contract/index.ts";
import { baseEnvironment, launch, runCommand, type Sandbox } from "../../process/index.ts";
import { giveTo } from "../files/ownership.ts";
import { plainView } from "../files/view.ts";

export interface SetupRequest {
  readonly tree: string;
  /** A directory of ours for its home and temporary files. */
  readonly work: string;
  readonly command: string;
}

export type RunSetup = (request: SetupRequest) => Promise<void>;

const OUTPUT_KEPT = 4000;

export interface SetupOptions {
  /** Undefined: without a sandbox, in the directory itself. */
  readonly sandbox: Sandbox | undefined;
  readonly onOutput: (chunk: Buffer) => void;
  readonly signal?: AbortSignal | undefined;
}

export function setupRunner({ sandbox, onOutput, signal: stop }: SetupOptions): RunSetup {
  return async ({ tree, work, command }) => {
    const home = join(work, "home");
    const tmp = join(work, "tmp");
    for (const dir of [home, tmp]) await mkdir(dir, { recursive: true, mode: 0o700 });
    for (const dir of [home, tmp]) giveTo(sandbox?.user, dir);
    let said = "";
    const shell = ["sh", "-c", command];
    const env = baseEnvironment({ HOME: home, TMPDIR: tmp });
    const launched = sandbox
      ? launch(sandbox, {
          command: shell,
          tree,
          entry: plainView(tree),
          env,
          writable: [home, tmp],
          isReadOnly: false,
        })
      : { argv: shell, cwd: tree, env };
    const { exitCode, signal } = await runCommand({
      ...launched,
      signal: stop,
      onOutput: (chunk) => {
        said = (said + chunk.toString("utf8")).slice(-OUTPUT_KEPT);
        onOutput(chunk);
      },
    });
    if (stop?.aborted) throw new HoldfastError("interrupted", "capsule.setup was interrupted");
    if (exitCode === 0) return;
    throw new HoldfastError("setup_failed", `capsule.setup ended with ${exitCode ?? signal}: ${command}`, {
      exitCode,
      output: said,
    });
  };
}
